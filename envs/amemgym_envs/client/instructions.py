"""What an agent is told in environments that only AgentGym's servers have, in words of our own."""

INSTRUCTIONS = {
    "WebShop-v0": """\
Buy in a web shop what the instruction on its first page asks for. An action is one of:
search[WORDS] - on a page with a search bar
click[THING] - a product's number, an option, or a button of the page, written as it stands there; click[Buy Now] ends the task
What is not on the page cannot be clicked, and changes nothing.""",
    "WebArena-v0": """\
Reach an objective on web sites. You see the page as a tree of elements with their numbers. An action is one of:
click [NUMBER] | type [NUMBER] [TEXT] [1 to press enter, else 0] | hover [NUMBER] | press [KEYS] | scroll [up or down]
new_tab | tab_focus [TAB] | close_tab | goto [ADDRESS] | go_back | go_forward
stop [ANSWER] - ends the task; N/A where it cannot be done""",
    "ALFWorld-v0": """\
Do a household task that is told at the beginning. An action is one of:
go to PLACE | open PLACE | close PLACE | take OBJECT from PLACE | put OBJECT in/on PLACE
toggle OBJECT | use OBJECT | heat OBJECT with PLACE | cool OBJECT with PLACE | clean OBJECT with PLACE
examine THING | look | inventory
Things are named with their numbers, as in: mug 1. What cannot be done is answered by: Nothing happened""",
    "SciWorld-v0": """\
Do a task of elementary science that is told at the beginning. An action is one of:
open | close | activate | deactivate | use | read | examine | look at | look in | focus on OBJECT
pick up | drop | eat | flush | mix OBJECT
move OBJECT to OBJECT | pour OBJECT into OBJECT | dunk OBJECT into OBJECT | connect OBJECT to OBJECT | disconnect OBJECT
use OBJECT on OBJECT | go to PLACE | look around | inventory | task | wait | wait1
Where several objects are meant, you are asked which: answer with the number alone.""",
}
