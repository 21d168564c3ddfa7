from collections import Counter, defaultdict

import pytest

from amemgym_train.config.training import TrainingConfig
from amemgym_train.rollout.records import Episode, Memory, Turn
from amemgym_train.training.rft import changed, select, share_out

CONFIGS = [
    TrainingConfig(),
    TrainingConfig(keep_per_slot=3),
    TrainingConfig(keep_per_slot=6, known_answers_only=True),
    TrainingConfig(operations=["write", "answer"], max_rows=17),
    TrainingConfig(keep_per_slot=2, max_rows=40),
]


def merits(episode, config):
    """{index of a turn that earned it: merit}, from the episode's answers and probes alone."""
    found = {}
    for index, turn in enumerate(episode.turns):
        if turn.operation == "write" and turn.meta["exposed"]:
            shares, now = [], []
            for state, value in turn.meta["exposed"].items():
                asked = [p for p in episode.probes if p.period >= turn.meta["period"] and state in p.expected]
                while asked and asked[-1].write_period[state] > turn.meta["period"]:
                    asked.pop()  # the state had changed by then
                now += [p.response[state] == value for p in asked if p.period == turn.meta["period"]]
                shares.append(sum(p.response[state] == value for p in asked) / len(asked))
            if all(now):
                found[index] = sum(shares) / len(shares)
    for probe in episode.probes:
        if probe.response == probe.expected:
            found[probe.turn] = 1.0
    probed = {(probe.period, probe.question): probe.response == probe.expected for probe in episode.probes}
    for answer in episode.answers:
        known = probed[answer.period, answer.question]
        if answer.response == answer.golden and (known or not config.known_answers_only):
            found[answer.turn] = 1.0 if known else 0.5
    readable = {i for i, turn in enumerate(episode.turns) if turn.finish_reason == "stop" and turn.text != "none of it"}
    idle = {i for i, turn in enumerate(episode.turns) if turn.operation == "write" and turn.text == "{}"}  # its probes are luck
    return {i: merit for i, merit in found.items() if i in readable - idle}


def earned(episodes, config):
    """{(group, slot): [(sort key, ids), ...]} of all turns that may be kept, best first."""
    slots = defaultdict(list)
    for episode in episodes:
        for index, merit in merits(episode, config).items():
            turn = episode.turns[index]
            if turn.operation in config.operations:
                likelihood = sum(turn.logprobs) / len(turn.logprobs)
                key = (-merit, turn.meta["parsed"] != "strict", len(turn.completion_ids), -likelihood)
                slots[episode.group, turn.slot].append((key, turn.prompt_ids + turn.completion_ids))
    return {slot: sorted(found) for slot, found in slots.items()}


def by_slot(rows):
    slots = defaultdict(list)
    for row in rows:
        slots[row.group, row.slot].append(row.ids)
    return slots


@pytest.mark.parametrize("config", CONFIGS)
def test_rows_are_turns_as_they_were_drawn(episodes, diagnoses, tokenizer, config):
    turns = {(episode.id, turn.slot): (episode, turn) for episode in episodes for turn in episode.turns}
    rows = select(episodes, diagnoses, config)
    assert rows
    for row in rows:
        episode, turn = turns[row.episode, row.slot]
        assert row.ids == turn.prompt_ids + turn.completion_ids
        assert row.mask == [0] * len(turn.prompt_ids) + [1] * len(turn.completion_ids)
        assert row.logprobs[len(turn.prompt_ids) :] == turn.logprobs and set(row.logprobs[: len(turn.prompt_ids)]) == {0.0}
        assert (row.operation, row.group, row.policy_version) == (turn.operation, episode.group, "oracle")
        assert turn.finish_reason == "stop" and row.operation in config.operations and row.reason
        # the tokenizer would encode the text in another way, so this would show if something did
        assert turn.text == "{}" or tokenizer(turn.text)["input_ids"] != turn.completion_ids[:-1]
    assert len({tuple(row.ids) for row in rows}) == len(rows)


@pytest.mark.parametrize("config", [config for config in CONFIGS if config.max_rows is None])
def test_the_best_of_each_slot_are_kept(episodes, diagnoses, config):
    slots, kept = earned(episodes, config), by_slot(select(episodes, diagnoses, config))
    assert set(kept) <= set(slots)
    for slot, ranked in slots.items():
        others = {tuple(ids) for other, found in kept.items() if other != slot for ids in found}
        wanted = []
        for _, ids in ranked:  # an exact copy of another row is passed over
            if ids not in wanted and tuple(ids) not in others:
                wanted.append(ids)
        assert kept[slot] == wanted[: config.keep_per_slot], slot


def test_what_did_not_earn_it_is_left_out(episodes, diagnoses):
    everything = TrainingConfig(keep_per_slot=6)
    kept = {tuple(row.ids) for row in select(episodes, diagnoses, everything)}
    assert kept == {tuple(ids) for found in earned(episodes, everything).values() for _, ids in found}
    for left_out in ({"finish_reason": "length"}, {"text": "none of it"}, {"operation": "write", "text": "{}"}):
        turns = [turn for episode in episodes for turn in episode.turns if left_out.items() <= vars(turn).items()]
        assert turns and not kept & {tuple(turn.prompt_ids + turn.completion_ids) for turn in turns}


def test_answers_without_the_states_may_be_left_out(episodes, diagnoses):
    knowing = TrainingConfig(keep_per_slot=6, known_answers_only=True)
    rows = [row for row in select(episodes, diagnoses, knowing) if row.operation == "answer"]
    assert {row.reason for row in rows} == {"right choice, states known"}
    every = [row for row in select(episodes, diagnoses, TrainingConfig(keep_per_slot=6)) if row.operation == "answer"]
    assert len(every) > len(rows) > 0


def test_the_order_of_episodes_does_not_matter_and_unscorable_ones_are_passed_over(episodes, diagnoses):
    rows = select(episodes, diagnoses, CONFIGS[4], seed=3)
    assert select(episodes[::-1], diagnoses, CONFIGS[4], seed=3) == rows
    assert select(episodes, diagnoses, CONFIGS[4], seed=4) != rows
    gone = episodes[0].id
    left = select(episodes, {name: found for name, found in diagnoses.items() if name != gone}, CONFIGS[0])
    assert left and gone not in {row.episode for row in left}
    assert gone in {row.episode for row in select(episodes, diagnoses, CONFIGS[0])}


@pytest.mark.parametrize("limit", [1, 2, 5, 30, 10_000])
def test_the_limit_is_shared_out_between_operations(episodes, diagnoses, limit):
    rows = select(episodes, diagnoses, TrainingConfig(keep_per_slot=2))
    dealt = share_out(rows, limit, seed=0)
    assert len(dealt) == min(limit, len(rows))
    assert {id(row) for row in dealt} <= {id(row) for row in rows} and len({id(row) for row in dealt}) == len(dealt)
    whole, got = Counter(row.operation for row in rows), Counter(row.operation for row in dealt)
    short = [got[operation] for operation in whole if got[operation] < whole[operation]]
    assert max(short, default=0) - min(short, default=0) <= 1
    assert all(got[operation] >= max(short, default=0) - 1 or got[operation] == whole[operation] for operation in whole)
    assert share_out(rows, limit, seed=0) == dealt


def write(period, number, step=""):
    slot = f"write/p{period}/{number}" + step
    return Turn([1], [2], [-0.1], "{}", "stop", "write", slot, {"period": period, "exposed": {}, "sessions": []})


def test_a_write_of_two_calls_changed_the_memory_by_both():
    turns = [write(0, 0, "/facts"), write(0, 1, "/facts"), write(0, 1, "/decide"), write(1, 0, "/facts"), write(1, 0, "/decide")]
    fact = {"label": "fact", "value": "tea", "timestamp": "now"}
    memories = [Memory(0, 0, [fact]), Memory(2, 0, [fact]), Memory(4, 1, [])]
    assert changed(Episode("AMemGym-v0", "user", 0, "user", turns, memories=memories)) == {0, 3, 4}


def test_a_snapshot_of_no_turn_points_at_none():
    memories = [Memory(None, 0, [{"label": "User", "value": "tea", "timestamp": "now"}])]
    assert changed(Episode("AMemGym-v0", "user", 0, "user", [write(0, 0)], memories=memories)) == set()
