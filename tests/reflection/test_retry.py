"""Second tries: replayed where nothing failed, reminded where something did, and learned from without the reminder."""

import pytest

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.reflection import ReflectionConfig
from amemgym_train.config.training import TrainingConfig
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.reflection.retry import FirstTry, counts, second_tries, worth_trying
from amemgym_train.rollout.store import load_episodes, save_episodes
from amemgym_train.training.pairs import pairs
from amemgym_train.training.rft import select

CONFIG = ReflectionConfig.model_validate({"retry": {"episodes": 1}})
OPERATIONS = ("write", "read", "answer")


@pytest.fixture
def again(tokenizer, environment, agents):
    """Plays first tries once more."""

    def play_again(firsts, policy, **options):
        return second_tries(firsts, policy, tokenizer, environment, agents, seed=0, group_size=2, label=None, **options)

    return play_again


def diagnosed(*episodes):
    return {episode.id: diagnose(episode) for group in episodes for episode in group}


def test_a_second_try_without_a_hint_is_the_first_token_for_token(first, again, forgetful):
    policy = forgetful("answer")
    episodes = first(policy)
    seconds = again([FirstTry(episode, {}) for episode in episodes], policy)
    for one, other in zip(episodes, seconds, strict=True):
        assert [turn.meta["try"] for turn in other.turns] == ["replayed"] * len(one.turns)
        assert [(t.prompt_ids, t.completion_ids, t.logprobs) for t in one.turns] == [
            (t.prompt_ids, t.completion_ids, t.logprobs) for t in other.turns
        ]
        assert (one.answers, one.probes, one.memories, one.states) == (other.answers, other.probes, other.memories, other.states)
    assert select(seconds, diagnosed(seconds), TrainingConfig()) == []  # nothing is learned twice


@pytest.mark.parametrize("failing", OPERATIONS)
def test_what_a_hint_put_right_is_learned_without_the_hint(users, tokenizer, first, again, forgetful, failing):
    policy = forgetful(failing)
    episodes = first(policy)
    firsts = worth_trying(episodes, users, CONFIG)
    assert len(firsts) == len(users)  # one of each group
    seconds = again(firsts, policy)
    reflected = [turn for episode in seconds for turn in episode.turns if turn.meta["try"] == "reflected"]
    asked = [seen for one in policy.policies.values() for seen in one.seen]
    assert len(asked) == len(reflected) == counts(firsts, seconds)[f"hints_{failing}"] > 0
    assert all(turn.operation == failing and turn.meta["grounded"] for turn in reflected)
    assert not any("Do not forget" in tokenizer.decode(turn.prompt_ids) for episode in seconds for turn in episode.turns)
    before = {(episode.group, turn.slot): turn.prompt_ids for episode in episodes for turn in episode.turns}
    rows = select([*episodes, *seconds], diagnosed(episodes, seconds), TrainingConfig(operations=[failing]))
    assert rows and all(row.episode in {episode.id for episode in seconds} for row in rows)
    for row in rows if failing != "write" else rows[:1]:  # a better memory changes the prompts that follow
        assert row.ids[: row.mask.index(1)] == before[row.group, row.slot]


def test_a_reflection_may_be_written_by_who_is_told_what_was_wrong(users, tokenizer, first, again, forgetful):
    policy, told = forgetful("answer"), []

    async def adviser(episode, failure):
        told.append((episode, failure))
        return f"Better so. {failure.wrong}" if len(told) % 2 else ""  # who says nothing leaves the hint

    firsts = worth_trying(first(policy), users, CONFIG)
    seconds = again(firsts, policy, adviser=adviser)
    by_id = {one.episode.task: one for one in firsts}
    reflected = [turn for episode in seconds for turn in episode.turns if turn.meta["try"] == "reflected"]
    assert len(told) == len(reflected) > 0 and all(turn.meta["grounded"] for turn in reflected)
    for episode, failure in told:
        one = by_id[episode.split("/")[1]]
        assert failure.wrong == one.hints[failure.slot] and failure.reply == one.turns[failure.slot].text
        assert "Question" in failure.message and failure.wrong not in failure.message
    shown = [message for one in policy.policies.values() for _, message in one.seen]
    assert sum("Better so." in message for message in shown) == (len(told) + 1) // 2
    assert not any("Better so." in tokenizer.decode(turn.prompt_ids) for episode in seconds for turn in episode.turns)


def test_a_call_that_needed_no_reflection_goes_before_one_that_did(users, first, again, forgetful):
    good, bad = first(forgetful()), first(forgetful("answer"))
    seconds = again(worth_trying(bad, users, CONFIG), forgetful("answer"))
    both = [*[e for e in good if e.seed == 0], *[e for e in bad if e.seed == 1], *seconds]
    rows = select(both, diagnosed(both), TrainingConfig())
    assert rows and {row.episode for row in rows} <= {episode.id for episode in good}


def test_a_reply_that_its_memory_does_not_bear_out_is_never_learned(users, first, again, forgetful):
    """The read is told a value; by the second try the notes have lost it."""
    firsts = worth_trying(first(forgetful("read")), users, CONFIG)
    renewed = [FirstTry(one.episode, one.hints | dict.fromkeys(writes(one.episode), "Think again")) for one in firsts]
    seconds = again(renewed, forgetful("write", "read", obeys=("read",)))
    turns = [turn for episode in seconds for turn in episode.turns]
    reads = [turn for turn in turns if turn.meta["try"] == "reflected" and turn.operation == "read"]
    assert reads and not any(turn.meta["grounded"] for turn in reads)
    assert select(seconds, diagnosed(seconds), TrainingConfig(operations=["read", "write"])) == []


def writes(episode):
    return [turn.slot for turn in episode.turns if turn.operation == "write"]


def test_a_hint_that_does_not_help_teaches_nothing(users, first, again, forgetful):
    policy = forgetful("write", obeys=())
    episodes = first(policy)
    seconds = again(worth_trying(episodes, users, CONFIG), policy)
    assert select([*episodes, *seconds], diagnosed(episodes, seconds), TrainingConfig(operations=["write"])) == []


def test_dpo_prefers_the_reminded_reply_to_the_one_that_failed(users, first, again, forgetful):
    policy = forgetful("answer")
    episodes = first(policy)
    seconds = again(worth_trying(episodes, users, CONFIG), policy)
    found = pairs([*episodes, *seconds], diagnosed(episodes, seconds), CreditConfig(), TrainingConfig(method="dpo"))
    assert found
    for pair in found:
        assert pair.episode in {episode.id for episode in seconds} and pair.margin > 0
        assert pair.rejected.episode in {episode.id for episode in episodes}
        assert pair.chosen.turn.prompt_ids == pair.rejected.turn.prompt_ids


def test_the_worst_episodes_of_a_group_are_tried_and_unscorable_ones_never(users, first, forgetful):
    half, all_wrong = first(forgetful("answer")), first(forgetful("write"))
    mixed = [a if a.seed == 0 else b for a, b in zip(half, all_wrong, strict=True)]
    most = {e.id: len(worth_trying([e], users, CONFIG)[0].hints) for e in mixed}
    for one in worth_trying(mixed, users, CONFIG):
        assert most[one.episode.id] == max(most[e.id] for e in mixed if e.group == one.episode.group)
    mixed[0].error = "OSError: gone"
    assert mixed[0].id not in {one.episode.id for one in worth_trying(mixed, users, CONFIG)}


def test_a_process_may_have_nothing_to_try_again(again, forgetful, tmp_path):
    assert again([], forgetful()) == []
    save_episodes(tmp_path / "part-000.parquet", [])
    assert load_episodes(tmp_path / "part-000.parquet") == []
