"""A user whom a model plays: it talks, and names no tracked value."""

import asyncio
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.languages.words import mentions
from amemgym_envs.amemgym.llm import Endpoint, EndpointError, Journal, Refused, Usage
from amemgym_envs.amemgym.llm.background import Background
from amemgym_envs.amemgym.llm.simulator import LLMUser, Speaker, spoken
from amemgym_envs.amemgym.simulator import ScriptedUser

TALK = [{"role": "user" if i % 2 == 0 else "assistant", "content": f"message {i}"} for i in range(12)]


@pytest.fixture
def scenario():
    return generate(GeneratorConfig(seed=7, num_users=1, num_variables=6, num_periods=2, num_questions=4, noise_rounds=1))[0]


@pytest.fixture
def replies():
    """What the model says, one after the other; the last of them for ever."""
    return ["How odd, and then?"]


@pytest.fixture
def model(replies):
    return lambda messages: replies.pop(0) if len(replies) > 1 else replies[0]


@pytest.fixture
def speaker(endpoint):
    """Makes speakers, and closes them."""
    made = []

    def make(journal=None, ours=None, **options):
        def sampling(seed):
            return {"temperature": 0.7, "seed": seed}

        made.append(Speaker(Usage(ours or endpoint()), journal, sampling, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def counts(speaker):
    tally = speaker.tally
    return tally.asked, tally.leaked, tally.unusable, tally.fell_back


def test_it_opens_as_the_script_does_and_then_says_what_the_model_says(scenario, speaker, server):
    user, script = LLMUser(scenario, 1, speaker()), ScriptedUser(scenario, 1)
    assert user.blocking and user.opening(1, 0) == script.opening(1, 0)
    assert user.follow_up(1, 0, 1, TALK[:2]) == script.follow_up(1, 0, 1)  # the session's own off-topic message
    assert server.requests == []
    assert user.follow_up(1, 0, 2, TALK[:4]) == "How odd, and then?"
    assert len(server.requests) == 1


def test_the_model_is_told_who_it_is_when_it_is_and_what_is_tracked(scenario, speaker, server):
    LLMUser(scenario, 1, speaker()).follow_up(1, 0, 2, TALK)
    [sent] = server.requests
    [message] = sent["messages"]
    told = message["content"]
    assert scenario.user_profile["formatted_str"] in told and scenario.periods[1].sessions[0].session_time in told
    for name, values in scenario.state_schema.items():
        assert f"- {name}: {', '.join(values)}" in told
    assert "in English" in told and "{" not in told


@pytest.mark.parametrize("history", [1, 4, 8])
def test_it_sees_the_last_messages_only(scenario, speaker, server, history):
    LLMUser(scenario, 1, speaker(history=history)).follow_up(0, 0, 2, TALK)
    told = server.requests[0]["messages"][0]["content"]
    assert [i for i in range(12) if f": message {i}\n" in told] == list(range(12 - history, 12))
    assert "The assistant: message 11\n" in told


def test_a_leak_is_rejected_and_asked_for_again(scenario, speaker, server, replies):
    user = LLMUser(scenario, 1, speaker())
    secret = user.secrets(1, 0)[0]
    leak = f"Well, {secret.replace('_', ' ').upper()} is what I want."
    replies[:] = [leak, "Never mind me."]
    assert user.follow_up(1, 0, 2, TALK) == "Never mind me."
    first, second = (request["messages"] for request in server.requests)
    assert second[:2] == [*first, {"role": "assistant", "content": leak}]
    assert f"it names {secret.replace('_', ' ')}" in second[2]["content"]
    assert counts(user.speaker) == (2, 1, 0, 0) and user.speaker.to_dict()["leaked"] == 1
    assert "1 of 2 messages leaked and 0 were unusable, 0 taken from the script" in user.speaker.line()


def test_when_tries_run_out_the_script_speaks(scenario, speaker, server, replies):
    user = LLMUser(scenario, 1, speaker(tries=3))
    replies[:] = [user.secrets(1, 0)[0], "", "word " * 1000]
    assert user.follow_up(1, 0, 2, TALK) == ScriptedUser(scenario, 1).follow_up(1, 0, 2)
    assert len(server.requests) == 3 and counts(user.speaker) == (3, 1, 2, 1)


LONG = "You could begin with a short walk after lunch."


@pytest.mark.parametrize("echo", ["message 2", "The person: message 2", f"Well. {LONG}", LONG[:35]])
def test_an_echo_is_no_message(scenario, speaker, server, replies, echo):
    user = LLMUser(scenario, 1, speaker())
    replies[:] = [echo, "And why?"]
    talk = [*TALK[:3], {"role": "assistant", "content": LONG}]
    assert user.follow_up(1, 0, 2, talk) == "And why?" and counts(user.speaker) == (2, 0, 1, 0)
    assert "it repeats what was said before" in server.requests[1]["messages"][2]["content"]


def test_short_words_may_come_again_in_others(scenario, speaker, replies):
    user = LLMUser(scenario, 1, speaker())
    replies[:] = ["Is message 3 all there is?"]
    assert user.follow_up(1, 0, 2, TALK[:4]) == replies[0] and counts(user.speaker) == (1, 0, 0, 0)


def test_the_time_of_an_opening_is_said_once(scenario, speaker, server):
    user = LLMUser(scenario, 1, speaker())
    user.follow_up(1, 0, 2, [{"role": "user", "content": user.opening(1, 0)}, {"role": "assistant", "content": "I see."}])
    told = server.requests[0]["messages"][0]["content"]
    session = scenario.periods[1].sessions[0]
    assert told.count(session.session_time) == 1 and f"\nThe person: {session.query}\nThe assistant: I see.\n" in told


def test_values_that_the_opening_exposes_in_words_may_be_repeated(scenario, speaker, replies):
    user = LLMUser(scenario, 1, speaker(tries=1))
    told = scenario.periods[0].sessions[0]
    values = {value for values in scenario.state_schema.values() for value in values}
    exposed = {value for value in told.exposed_states.values() if mentions(told.query, value)}
    assert exposed and set(user.secrets(0, 0)) == values - exposed
    replies[:] = [f"As I said, {next(iter(exposed))}."]
    assert user.follow_up(0, 0, 2, TALK) == replies[0] and counts(user.speaker) == (1, 0, 0, 0)
    told.query = "Hello!"  # exposed, but not in words: to name it would make the session easier
    assert set(user.secrets(0, 0)) == values


def test_another_persons_value_in_an_opening_stays_a_secret(scenario, speaker):
    user = LLMUser(scenario, 1, speaker())
    told = scenario.periods[0].sessions[0]
    other = next(value for value in user.secrets(0, 0) if value not in told.exposed_states.values())
    told.query += f" My sister says {other}."
    assert other in user.secrets(0, 0)
    told.exposed_states = {}  # as in the public log: the words decide
    assert other not in user.secrets(0, 0)


VALUES = [value for values in generate(GeneratorConfig(seed=3, num_users=1))[0].state_schema.values() for value in values]


@given(st.sampled_from(VALUES), st.sampled_from(["{}", "I think {} it is.", "({})", "Not {}!", "well,{},no"]), st.booleans())
def test_no_value_passes_however_it_is_written(value, around, loud):
    written = value.replace("_", " ")
    assert mentions(spoken(around.format(written.upper() if loud else written)), value)


@given(st.text())
def test_a_spoken_text_is_one_line_and_speaking_it_again_changes_nothing(text):
    said = spoken(text)
    assert said == " ".join(said.split())
    assert spoken(f"<think>{said} or so</think>\n\n{said}") == spoken(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"Tell me more."', "Tell me more."),
        ("“Tell me\nmore.”", "Tell me more."),
        ("<think>What now</think> Go on.", "Go on."),
        ("<think>What now", ""),
        ("The person: User:\n'Well, well.'", "Well, well."),
        ('"One" and "two"', '"One" and "two"'),
        ('"', '"'),
        ("Indeed. The assistant: Indeed. The person: Indeed.", "Indeed."),
    ],
)
def test_thoughts_and_quotation_marks_are_no_words(text, said):
    assert spoken(text) == said


def test_many_threads_ask_at_once_and_a_repeated_run_asks_for_nothing(scenario, speaker, server, endpoint, tmp_path, model):
    live, most, guard = [], [], threading.Lock()

    def slow(messages):
        with guard:
            live.append(1)
            most.append(len(live))
        server.released.wait(0.02)
        live.pop()
        return model(messages)

    server.model = slow

    def run(path):
        one = speaker(Journal(path), endpoint(concurrency=8))
        users = [LLMUser(scenario, seed, one) for seed in range(32)]
        with ThreadPoolExecutor(32) as pool:
            said = list(pool.map(lambda user: user.follow_up(1, 0, 2, TALK), users))
        one.close()
        return said, one

    said, first = run(tmp_path / "users.jsonl")
    assert said == ["How odd, and then?"] * 32 and 1 < max(most) <= 8
    again, second = run(tmp_path / "users.jsonl")
    assert again == said and len(server.requests) == 32
    assert (first.usage.calls, second.usage.calls, second.usage.cached) == (32, 0, 32)
    assert counts(first) == counts(second) == (32, 0, 0, 0)


def test_nobody_waits_for_a_user_who_was_closed(scenario, speaker, server):
    server.hold_after = 0
    env = AMemGymEnv([scenario], user=lambda scenario, seed: LLMUser(scenario, seed, speaker()))
    env.close()  # nothing yet
    env.reset(seed=1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(env.user.follow_up, 1, 0, 2, TALK)
        assert server.held.wait(20)
        env.close()
        with pytest.raises(CancelledError):
            waiting.result(20)
        with pytest.raises(CancelledError):
            pool.submit(env.user.follow_up, 1, 0, 2, TALK).result(20)
    assert len(server.requests) <= 2


def test_an_endpoint_of_no_use_is_an_error(scenario, speaker, server, endpoint):
    server.faults.append((401, {}, b"who are you?"))
    with pytest.raises(Refused, match="environment variable OPENAI_API_KEY"):
        LLMUser(scenario, 1, speaker()).follow_up(1, 0, 2, TALK)
    lost = speaker(ours=Endpoint("http://127.0.0.1:1/v1", "strong", max_retries=0))
    with pytest.raises(EndpointError, match="in each of 1 tries"):
        LLMUser(scenario, 1, lost).follow_up(1, 0, 2, TALK)


def test_it_never_ends_a_session_early(scenario, speaker, replies):
    replies[:] = [f"Goodbye, that is all, {number}." for number in range(1000)]
    one = speaker()
    environment = AMemGymEnv([scenario], 3, 3, user=lambda scenario, seed: LLMUser(scenario, seed, one))
    observation, info = environment.reset(seed=1, options={"task": scenario.id})
    said = []
    while info["kind"] != "end":
        said += [(info["round"], observation)] if info["kind"] == "session" else []
        observation, _, _, _, info = environment.step("I see.")
    sessions = sum(len(period.sessions) for period in scenario.periods)
    assert len(said) == 4 * sessions and environment.blocking  # the opening, one off topic, and two of the model's
    assert [text for round, text in said if round > 1] == [f"Goodbye, that is all, {n}." for n in range(2 * sessions)]


def test_a_background_loop_begins_again_after_its_end():
    background = Background("test")
    background.close()

    async def where():
        return asyncio.get_running_loop(), threading.current_thread()

    (loop, thread), (same, _) = background.run(where()), background.run(where())
    assert loop is same and thread is not threading.current_thread() and thread.name == "test"
    background.close()
    assert loop.is_closed() and not thread.is_alive()
    assert background.run(where())[0] is not loop
    background.close()


def test_a_close_lets_nobody_wait_for_ever():
    background, begun = Background("test"), threading.Event()

    async def endless():
        begun.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(background.run, endless())
        begun.wait()
        start = time.monotonic()
        background.close()
        with pytest.raises(CancelledError):
            waiting.result()
    assert time.monotonic() - start < 5
