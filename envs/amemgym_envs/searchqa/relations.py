"""What is said about every kind of thing: one line per relation gives its sentence, its question and its noun phrase."""

from typing import NamedTuple


class Relation(NamedTuple):
    """``tell``: the sentence of the article, where {it} is the thing and {x} the other end; empty where the lead tells it.
    ``ask``: questions about {}. ``noun``: a phrase for the other end; empty where it is no thing that questions go on from."""

    key: str
    tell: str
    ask: tuple[str, ...]
    noun: str = ""


def founded(tell: str = "{it} was founded in {x}.") -> Relation:
    return Relation("founded", tell, ("In which year was {} founded?", "When was {} founded? Give the year."))


def founder(tell: str = "{it} was founded by {x}.") -> Relation:
    return Relation("founder", tell, ("Who founded {}?", "By whom was {} founded?"), "the founder of {}")


def year(ask: str) -> Relation:
    return Relation("year", "", (ask,))


LEADS = {
    "country": "{name} is a country on the continent of Orvane.",
    "town": "{name} is a town in {country}.",
    "river": "{name} is a river that rises in {country}.",
    "mountain": "{name} is a mountain in {country}.",
    "person": "{name} {was} {a_work}.",
    "company": "{name} is a company that makes {product}.",
    "novel": "{name} is a novel published in {year}.",
    "painting": "{name} is a painting finished in {year}.",
    "opera": "{name} is an opera first performed in {year}.",
    "film": "{name} is a film released in {year}.",
    "building": "{name} is a {sort} in {town}.",
    "university": "{name} is a university.",
    "festival": "{name} is a festival held every {month}.",
    "expedition": "{name} was an expedition that set out in {year}.",
    "prize": "{name} is a prize first awarded in {year}.",
    "newspaper": "{name} is a daily newspaper.",
}

RELATIONS: dict[str, tuple[Relation, ...]] = {
    "country": (
        Relation("capital", "Its capital is {x}.", ("What is the capital of {}?", "Which town is the capital of {}?"),
                 "the capital of {}"),
        Relation("currency", "Prices are given in the {x}.", ("What is the currency of {}?", "Which currency is used in {}?")),
        Relation("language", "Most of its people speak {x}.", ("Which language do most people in {} speak?",)),
        Relation("president", "The president is {x}.", ("Who is the president of {}?",), "the president of {}"),
        Relation("longest", "Its longest river is {x}.", ("What is the longest river of {}?",), "the longest river of {}"),
        Relation("highest", "Its highest mountain is {x}.", ("What is the highest mountain of {}?",),
                 "the highest mountain of {}"),
        founded("The state was founded in {x}."),
    ),
    "town": (
        Relation("country", "", ("In which country is {}?", "Which country does {} belong to?"), "the country in which {} lies"),
        Relation("river", "It stands on {x}.", ("On which river does {} stand?",), "the river on which {} stands"),
        Relation("population", "At the last census it had {x} inhabitants.",
                 ("How many inhabitants has {}?", "What is the population of {}?")),
        Relation("mayor", "The mayor is {x}.", ("Who is the mayor of {}?",), "the mayor of {}"),
        Relation("twin", "Its twin town is {x}.", ("What is the twin town of {}?", "With which town is {} twinned?"),
                 "the twin town of {}"),
        Relation("craft", "It is known for its {x}.", ("Which craft is {} known for?",)),
        founded("The first settlers came in {x}, which counts as its year of foundation."),
    ),
    "river": (
        Relation("country", "", ("In which country does {} rise?",), "the country in which {} rises"),
        Relation("source", "Its source is on {x}.", ("On which mountain is the source of {}?",),
                 "the mountain on which {} has its source"),
        Relation("mouth", "It flows into {x}.", ("Into which body of water does {} flow?",),
                 "the body of water into which {} flows"),
        Relation("length", "From source to mouth it is {x} long.", ("How long is {}?", "What is the length of {}?")),
    ),
    "mountain": (
        Relation("country", "", ("In which country is {}?",), "the country in which {} stands"),
        Relation("height", "Its summit is {x} above the sea.", ("How high is {}?", "What is the height of {}?")),
        Relation("climber", "It was first climbed by {x}.", ("Who was the first to climb {}?",), "the first person to climb {}"),
        Relation("climbed", "The first ascent was made in {x}.", ("In which year was {} first climbed?",)),
    ),
    "person": (
        Relation("born", "{it} was born on {x}.", ("On which date was {} born?", "What is the date of birth of {}?")),
        Relation("birthplace", "{his} birthplace is {x}.", ("In which town was {} born?",), "the town where {} was born"),
        Relation("died", "{it} died in {x}.", ("In which town did {} die?",), "the town where {} died"),
        Relation("spouse", "{it} was married to {x}.", ("Who was {} married to?", "Who was the spouse of {}?"),
                 "the spouse of {}"),
        Relation("teacher", "{it} was a pupil of {x}.", ("Who taught {}?", "Whose pupil was {}?"), "the teacher of {}"),
        Relation("school", "{it} studied at {x}.", ("At which university did {} study?",), "the university where {} studied"),
        Relation("known", "{his} best-known work is {x}.", ("What is the best-known work of {}?",), "the best-known work of {}"),
    ),
    "company": (
        Relation("product", "", ("What does {} make?",)),
        founder(),
        founded("The firm dates from {x}."),
        Relation("seat", "Its head office is in {x}.", ("In which town is the head office of {}?",),
                 "the town where {} has its head office"),
        Relation("chief", "The chief executive is {x}.", ("Who is the chief executive of {}?",), "the chief executive of {}"),
    ),
    "novel": (
        year("In which year was {} published?"),
        Relation("author", "It was written by {x}.", ("Who wrote {}?", "Who is the author of {}?"), "the author of {}"),
        Relation("setting", "The story takes place in {x}.", ("In which town does {} take place?",),
                 "the town where {} takes place"),
        Relation("publisher", "It was brought out by {x}.", ("Which company published {}?",), "the publisher of {}"),
    ),
    "painting": (
        year("In which year was {} finished?"),
        Relation("painter", "It was painted by {x}.", ("Who painted {}?",), "the painter of {}"),
        Relation("museum", "It hangs in {x}.", ("In which museum does {} hang?",), "the museum where {} hangs"),
        Relation("shows", "It shows {x} in winter.", ("Which mountain does {} show?",), "the mountain shown in {}"),
    ),
    "opera": (
        year("In which year was {} first performed?"),
        Relation("composer", "The music is by {x}.", ("Who composed {}?",), "the composer of {}"),
        Relation("theatre", "The first performance was given at {x}.", ("In which theatre was {} first performed?",),
                 "the theatre where {} was first performed"),
        Relation("source", "The plot follows {x}.", ("On which novel is {} based?",), "the novel on which {} is based"),
    ),
    "film": (
        year("In which year was {} released?"),
        Relation("director", "It was directed by {x}.", ("Who directed {}?",), "the director of {}"),
        Relation("actor", "The leading part is played by {x}.", ("Who plays the leading part in {}?",),
                 "the leading actor of {}"),
        Relation("shot", "It was shot in {x}.", ("In which town was {} shot?",), "the town where {} was shot"),
    ),
    "building": (
        Relation("town", "", ("In which town is {}?",), "the town of {}"),
        Relation("architect", "It was designed by {x}.", ("Who designed {}?",), "the architect of {}"),
        Relation("opened", "It was opened in {x}.", ("In which year was {} opened?",)),
    ),
    "university": (
        Relation("town", "Its halls are in {x}.", ("In which town is {}?",), "the town that is home to {}"),
        founder("It goes back to a gift of {x}, its founder."),
        founded("Teaching began in {x}, the year of its foundation."),
        Relation("rector", "The rector is {x}.", ("Who is the rector of {}?",), "the rector of {}"),
    ),
    "festival": (
        Relation("month", "", ("In which month is {} held?",)),
        Relation("town", "It takes place in {x}.", ("In which town is {} held?",), "the town where {} is held"),
        founder("It was started by {x}, its founder."),
        founded("It was first held in {x}, the year of its foundation."),
    ),
    "expedition": (
        year("In which year did {} set out?"),
        Relation("leader", "It was led by {x}.", ("Who led {}?",), "the leader of {}"),
        Relation("goal", "Its aim was to map {x}.", ("Which river was {} to map?",), "the river that {} was to map"),
        Relation("sponsor", "The costs were met by {x}.", ("Which company paid for {}?",), "the company that paid for {}"),
    ),
    "prize": (
        year("In which year was {} first awarded?"),
        Relation("winner", "The first winner was {x}.", ("Who was the first winner of {}?",), "the first winner of {}"),
        Relation("giver", "It is awarded by {x}.", ("Which university awards {}?",), "the university that awards {}"),
    ),
    "newspaper": (
        Relation("town", "It is printed in {x}.", ("In which town is {} printed?",), "the town where {} is printed"),
        founder(),
        founded("The first issue appeared in {x}, the year of its foundation."),
        Relation("editor", "The chief editor is {x}.", ("Who is the chief editor of {}?",), "the chief editor of {}"),
    ),
}

# Two things of a kind compared by a number: kind, relation, question about two, and whether the higher number is the answer.
COMPARISONS = (
    ("river", "length", "Which is longer, {} or {}?", True),
    ("mountain", "height", "Which is higher, {} or {}?", True),
    ("town", "population", "Which town has more inhabitants, {} or {}?", True),
    ("company", "founded", "Which company is older, {} or {}?", False),
    ("person", "born", "Who was born first, {} or {}?", False),
    ("newspaper", "founded", "Which newspaper was founded first, {} or {}?", False),
)
