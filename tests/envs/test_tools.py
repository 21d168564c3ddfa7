"""The tools over AMemGym: whoever keeps notes through them is right, whoever guesses is not, and no argument breaks them."""

import subprocess
import sys
from inspect import getmembers, isfunction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.utils import get_json_schema

import amemgym_envs
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.scenario import ScenarioError
from amemgym_envs.amemgym.tools import MAX_CHARS, MemoryTools, memory_tools, tasks

OVER = "Call no more tools."
TOOLS = ["answer", "delete", "next_message", "read", "write"]
SMALL = {"num_users": 2, "num_variables": 4, "num_periods": 2, "num_questions": 3, "num_changes_per_period": 2}
VARIANTS = {
    "plain": {},
    "chinese": {"language": "zh"},
    "long sessions": {"rounds_init": 3, "rounds_update": 2, "noise_rounds": 2, "distractor_values": 0.5},
    "eight choices": {"num_choices": 8, "num_states_per_question": 3, "max_changes_per_state": 2},
    "told by events": {"difficulty": "event", "target_tokens": 3000},
}


def play(environment, scenario, first):
    """Notes what each session exposes, and answers from the notes alone."""
    period, sessions = 0, list(scenario.periods[0].sessions)
    heard, questions = first, len(scenario.questions)
    while True:
        while sessions and sessions[0].query in heard:
            for label, value in sessions.pop(0).exposed_states.items():
                assert environment.write(label, value) in ("Written.", "Replaced.")
        question = scenario.questions[environment.answered % questions]
        if question.query in heard:
            assert not sessions  # a period is told before it is asked about
            known = [environment.read(name) for name in question.required_info]
            [choice] = [i for i, choice in enumerate(question.answer_choices, 1) if choice.state == known]
            heard = environment.answer(choice)
            if environment.answered % questions == 0:
                period += 1
                sessions = list(scenario.periods[period].sessions) if period < len(scenario.periods) else []
        elif OVER in heard:
            return environment.get_reward()
        else:
            heard = environment.next_message()


def guess(environment, rng):
    """Hears everything and answers at random."""
    environment.reset()
    asked = True
    while asked:
        heard = environment.next_message()
        while heard.startswith("Question"):
            heard = environment.answer(rng.randint(1, 4)).partition("\n\n")[2]
        asked = OVER not in heard
    return environment.get_reward()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", VARIANTS)
def test_whoever_keeps_notes_by_the_tools_is_right(variant, seed):
    users = generate(GeneratorConfig(**SMALL | VARIANTS[variant] | {"seed": seed}))
    for user in users:
        for at_start, at_once in ((1, 1), (0, 1), (3, 2), (99, 99)):
            environment = memory_tools(scenarios=users, at_start=at_start, at_once=at_once)()
            assert play(environment, user, environment.reset(task=user.id, seed=seed)) == 1.0
            assert environment.refused == 0 and environment.notes == user.periods[-1].state


def test_whoever_keeps_the_first_notes_only_is_wrong_where_life_changed(users):
    for user in users:
        environment = memory_tools(scenarios=users)()
        environment.reset(user.id)
        first, right, cells = user.periods[0].state, 0, 0
        while OVER not in (heard := environment.next_message()):
            while heard.startswith("Question"):
                period, place = divmod(environment.answered, len(user.questions))
                question = user.questions[place]
                old = [c.state for c in question.answer_choices].index([first[name] for name in question.required_info])
                right, cells = right + (old == user.golden(period, place)), cells + 1
                heard = environment.answer(old + 1).partition("\n\n")[2]
        assert environment.get_reward() == right / cells < 1.0


def test_the_public_file_is_played(real):
    """Its sessions do not say what they expose, so here the truth is looked up."""
    user, environment = real[0], memory_tools(scenarios=real)()
    environment.reset(user.id)
    while OVER not in (heard := environment.next_message()):
        while heard.startswith("Question"):
            period, place = divmod(environment.answered, len(user.questions))
            heard = environment.answer(user.golden(period, place) + 1).partition("\n\n")[2]
    assert environment.get_reward() == 1.0 and environment.answered == len(user.periods) * len(user.questions)


def test_whoever_guesses_is_right_once_in_the_number_of_choices():
    environment, rng = memory_tools(GeneratorConfig(**SMALL | {"num_users": 40}))(), Random(0)
    rewards = [guess(environment, rng) for _ in range(80)]  # 720 answers: a standard deviation of .016
    assert sum(rewards) / len(rewards) == pytest.approx(0.25, abs=0.05)
    assert len(set(rewards)) > 3


def test_what_is_not_answered_is_wrong(users):
    environment = memory_tools(scenarios=users[:1])()
    environment.reset()
    assert environment.get_reward() == 0.0
    while not environment.next_message().startswith("Question"):
        pass
    environment.answer(users[0].golden(0, 0) + 1)
    assert environment.get_reward() == 1 / (len(users[0].periods) * len(users[0].questions))


def test_there_is_no_reward_without_an_episode(users):
    environment = memory_tools(scenarios=users)()
    assert environment.get_reward() is None
    assert OVER in environment.next_message() and "No question" in environment.answer(1)
    environment.reset()
    with pytest.raises(ScenarioError, match="task is 'nobody'"):
        environment.reset("nobody")
    assert environment.get_reward() is None


def test_a_reset_leaves_nothing_behind(users):
    environment = memory_tools(scenarios=users)()
    first = environment.reset(users[1].id)
    environment.write("pet", "cat")
    environment.delete("dog")
    while not environment.next_message().startswith("Question"):
        pass
    environment.answer(users[1].golden(0, 0) + 1)
    assert environment.get_reward() > 0 and environment.notes and environment.refused and environment.answered

    assert environment.reset(users[1].id) == first
    assert (environment.get_reward(), environment.notes, environment.refused, environment.answered) == (0.0, {}, 0, 0)
    assert environment.read() == "There are no notes."
    assert "No question" in environment.answer(1)
    assert play(environment, users[1], environment.reset(users[1].id)) == 1.0


def test_two_instances_share_nothing(users):
    factory = memory_tools(scenarios=users)
    one, other = factory(), factory()
    first, untouched = one.reset(users[0].id), other.reset(users[0].id)
    assert play(one, users[0], first) == 1.0
    assert (other.get_reward(), other.notes, other.answered) == (0.0, {}, 0)
    assert play(other, users[0], untouched) == 1.0
    assert MemoryTools().reset() not in (first, untouched)  # users are bound to the subclass


def test_a_row_names_the_user_or_counts_through_them(users):
    factory = memory_tools(scenarios=users)
    openings = [factory().reset(**row, further="column") for row in tasks(factory)]
    assert [row["task"] for row in tasks(factory)] == [user.id for user in users]
    assert all(user.periods[0].sessions[0].query in heard for user, heard in zip(users, openings, strict=True))
    environment = factory()
    assert [environment.reset() for _ in range(4)] == [*openings, openings[0]]
    assert [factory().reset(seed=seed) for seed in (4, 2)] == [openings[1], openings[2]]


def test_a_note_is_written_replaced_read_and_deleted(users):
    environment = memory_tools(scenarios=users)()
    environment.reset()
    assert environment.write("pet", "a  cat\n") == "Written." and environment.write("car", "none") == "Written."
    assert environment.read() == "pet: a cat\ncar: none" and environment.read("pet") == "a cat"
    assert environment.write(" pet ", "dog") == "Replaced." and list(environment.notes.items()) == [
        ("car", "none"),
        ("pet", "dog"),
    ]
    assert environment.delete("car") == "Deleted." and environment.notes == {"pet": "dog"}
    environment.notes["pet"] = "fox"  # a copy
    assert environment.read() == "pet: dog" and environment.refused == 0
    for bad in (environment.delete("car"), environment.read("car")):
        assert bad == "There is no such note. There are notes on: pet."


def test_a_note_is_one_line_that_fits_and_can_be_encoded(users):
    environment = memory_tools(scenarios=users)()
    environment.reset()
    longest = "x" * MAX_CHARS
    assert environment.write(longest, longest) == "Written." and environment.notes == {longest: longest}
    for label, value in ((longest + "x", "cat"), ("pet", longest + "x"), ("", "cat"), ("pet", " \n"), (1, "cat"), ("pet", None)):
        assert environment.write(label, value).endswith("nothing was written.")
    assert environment.refused == 6 and environment.notes == {longest: longest}
    environment.write("half \ud800", "\udfff")
    assert environment.read("half \ud800").encode() == b"?" and b"half ?: ?" in environment.read().encode()


@pytest.mark.parametrize(("at_start", "at_once"), [(0, 1), (1, 1), (2, 1), (1, 2), (0, 4), (99, 1)])
def test_messages_come_as_many_at_once_as_was_said(users, at_start, at_once):
    """Those of the second period too, which an answer brings."""
    environment = memory_tools(scenarios=users, at_start=at_start, at_once=at_once)()
    told = [[], []]
    heard, asked = environment.reset(users[0].id), len(users[0].questions)
    told[0].append(heard.count("The user says:"))
    for period in (0, 1):
        while not (heard := environment.next_message()).startswith("Question"):
            told[period].append(heard.count("The user says:"))
        for _ in range(asked):
            assert "The user says:" not in heard
            heard = environment.answer(1)
        if period == 0:
            told[1].append(heard.count("The user says:"))
    first, later = (len(period.sessions) for period in users[0].periods[:2])

    def cut(total, at_first):
        parts = [min(at_first, total)]
        while sum(parts) < total:
            parts.append(min(at_once, total - sum(parts)))
        return parts

    assert told == [cut(first, at_start), cut(later, at_once)]


def test_a_question_can_only_be_answered_once_it_was_told(users):
    environment = memory_tools(scenarios=users, at_start=99, at_once=99)()
    environment.reset(users[0].id)
    for _ in users[0].periods:
        assert "No question is open" in environment.answer(1)
        environment.next_message()
        for _ in users[0].questions:
            assert environment.answer(1).startswith("Your answer is noted.")
    assert "No question is open" in environment.answer(1)
    assert environment.answered == len(users[0].periods) * len(users[0].questions)


def test_the_seed_fixes_the_small_talk():
    factory = memory_tools(GeneratorConfig(**SMALL | {"rounds_init": 4}), at_start=99)
    [task, _] = [row["task"] for row in tasks(factory)]
    assert factory().reset(task) == factory().reset(task) == factory().reset(task, seed=0)
    assert len({factory().reset(task, seed=seed) for seed in range(5)}) > 1


def test_nobody_is_told_whether_an_answer_was_right(users):
    heard = []
    for choice in (users[0].golden(0, 0), (users[0].golden(0, 0) + 1) % 4):
        environment = memory_tools(scenarios=users)()
        environment.reset(users[0].id)
        while not environment.next_message().startswith("Question"):
            pass
        heard.append(environment.answer(choice + 1))
    assert heard[0] == heard[1] and heard[0].startswith("Your answer is noted.")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=200) | st.just(10**400) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["label", "value", "choice", "self", "x"])
FITTING = st.sampled_from(["pet", "cat", 1, 4, ""])
CALLS = st.lists(st.tuples(st.sampled_from(TOOLS), st.dictionaries(NAMES, JSON | FITTING, max_size=3)), max_size=20)
ONE = memory_tools(GeneratorConfig(**SMALL | {"num_users": 1}))


def state(environment):
    return environment.notes, environment.answered, environment.get_reward(), environment._text, environment._asked


@settings(max_examples=150, deadline=None)
@given(CALLS)
def test_no_argument_of_a_model_raises_and_a_refused_call_changes_nothing(calls):
    environment = ONE()
    environment.reset()
    for name, arguments in calls:
        if "self" in arguments:  # TRL's call itself is impossible then; TRL answers that
            continue
        before, refused = state(environment), environment.refused
        reply = getattr(environment, name)(**arguments)
        assert reply.encode().decode() == reply != ""
        assert environment.refused == refused or state(environment) == before
    assert all(0 < len(text) <= MAX_CHARS for note in environment.notes.items() for text in note)


@pytest.mark.parametrize(
    "choice", [0, 5, -1, True, 1.0, "1", None, [1], {"choice": 1}, 10**5000, float("nan")], ids=lambda c: str(type(c))
)
def test_a_bad_choice_leaves_the_question_open(users, choice):
    environment = memory_tools(scenarios=users)()
    environment.reset(users[0].id)
    while not (asked := environment.next_message()).startswith("Question"):
        pass
    assert environment.answer(choice) == "choice must be a whole number from 1 to 4; the question is still open."
    assert environment.next_message() == asked and environment.get_reward() == 0.0
    environment.answer(users[0].golden(0, 0) + 1)
    assert environment.get_reward() > 0.0


def test_missing_and_unknown_arguments_are_explained():
    environment = ONE()
    environment.reset()
    for reply, told in (
        (environment.write("pet"), "missing a required argument: 'value'; write takes ['label', 'value']."),
        (environment.next_message(now=True), "got an unexpected keyword argument 'now'; next_message takes []."),
        (environment.answer(1, 2), "too many positional arguments; answer takes ['choice']."),
    ):
        assert reply == told
    assert environment.refused == 3


def test_every_public_method_is_a_tool_with_a_schema():
    """The members that TRL looks for, and the schema that chat templates show the model."""
    members = [name for name, _ in getmembers(ONE, isfunction) if not name.startswith("_")]
    assert sorted({*members} - {"reset", "get_reward"}) == TOOLS
    environment = ONE()
    schemas = {name: get_json_schema(getattr(environment, name))["function"] for name in TOOLS}
    types = {name: {k: v["type"] for k, v in s["parameters"]["properties"].items()} for name, s in schemas.items()}
    assert types == {
        "answer": {"choice": "integer"},
        "delete": {"label": "string"},
        "next_message": {},
        "read": {"label": "string"},
        "write": {"label": "string", "value": "string"},
    }
    required = {name: schema["parameters"].get("required", []) for name, schema in schemas.items()}
    assert required["write"] == ["label", "value"] and required["answer"] == ["choice"] and required["read"] == []
    assert all(schema["description"] for schema in schemas.values())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"config": GeneratorConfig(**SMALL), "scenarios": []}, "expected one of them"),
        ({"scenarios": []}, "empty list"),
        ({"at_once": 0}, "at_once 0"),
        ({"at_start": -1}, "at_start is -1"),
    ],
)
def test_settings_that_cannot_be_played_are_told(arguments, told):
    with pytest.raises(ScenarioError, match=told):
        memory_tools(**arguments)


def test_the_package_gives_the_tools_and_loads_them_only_then():
    assert amemgym_envs.memory_tools is memory_tools and amemgym_envs.MemoryTools is MemoryTools
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = amemgym_envs.nothing_such
    code = """if True:
        import sys, amemgym_envs
        assert not [name for name in sys.modules if name == "yaml" or name.startswith("amemgym_envs.amemgym")]
        amemgym_envs.memory_tools()().reset()
        assert not {"torch", "trl", "transformers", "amemgym_train"} & set(sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
