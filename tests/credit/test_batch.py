"""A step's episodes as micro-batches: the same loss on one process and on several, and figures of all of them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from threading import Barrier

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.batch import credited, learned
from amemgym_train.policy.oracle import OraclePolicy, RandomPolicy, ScriptedPolicy
from amemgym_train.rollout.runner import Task, play

USERS = generate(GeneratorConfig(seed=3, num_users=2, num_variables=4, num_questions=3, num_periods=2, num_changes_per_period=2))
BY_ID = {user.id: user for user in USERS}
CREDIT = CreditConfig()


class Sometimes(ScriptedPolicy):
    """The oracle or a guess, call by call."""

    version = "sometimes"

    def __init__(self, scenario):
        super().__init__()
        self.wise, self.blind = OraclePolicy(scenario), RandomPolicy()

    def reply(self, request):
        wise = Random(f"{request.episode}/{request.slot}").random() < 0.6
        return (self.wise if wise else self.blind).reply(request)

    async def complete(self, request):
        completion = await super().complete(request)
        ids = [ord(character) for character in completion.text]
        return replace(completion, prompt_ids=[1, 2, 3], completion_ids=ids, logprobs=[-1.0] * len(ids))


@pytest.fixture(scope="module")
def episodes():
    """Two groups of four."""
    agent = AgentConfig(name="awi", local_length=0, respond="fixed")
    tasks = [Task(user.id, user.id, number) for user in USERS for number in range(4)]
    return play(
        lambda task: AMemGymEnv([BY_ID[task.id]]),
        tasks,
        lambda task, episode, seed: build_agent(agent, Sometimes(BY_ID[task.id]), episode, seed),
        label=None,
    )


def alone(items):
    return items


def make(episodes, gather=alone, config=CREDIT, **changed):
    settings = {"method": "grpo", "per_batch": 4, "batches": 40, "longest": 500, "keep_zeros": False} | changed
    return credited(episodes, config, gather=gather, **settings)


def pushes(batches):
    """{(episode, slot): sum of weight * advantage}: what the loss gets of each call."""
    rows = [row for batch in batches for row in batch if learned(row)]
    return {(r.episode, r.slot): sum(w * a for w, a in zip(r.weights, r.advantages, strict=True)) for r in rows}


def test_every_batch_is_full(episodes):
    made = make(episodes)
    assert len(made.batches) == 40 and {len(batch) for batch in made.batches} == {4}
    assert made.tokens == sum(learned(row) for batch in made.batches for row in batch) == made.figures["tokens_trained"]


def test_updates_see_the_rows_of_the_whole(episodes):
    """Two epochs of three updates: each epoch pushes every call as one update would."""
    whole = make(episodes)
    several = make(episodes, batches=14, epochs=2, parts=3, seed="0")
    assert len(several.batches) == 2 * 3 * 14 and several.figures == whole.figures
    for epoch in (several.batches[:42], several.batches[42:]):
        assert pushes(epoch) == pushes(whole.batches)


def test_processes_share_baselines_and_together_do_what_one_does(episodes):
    """Groups lie across the processes: each learns of the others' signals by gathering only."""
    parts = [episodes[0::3], episodes[1::3], episodes[2::3]]
    turns, given = Barrier(len(parts)), {}

    def process(rank):
        def gather(items):
            given[rank] = list(items)
            turns.wait()
            found = [item for one in range(len(parts)) for item in given[one]]
            turns.wait()
            return found

        return make(parts[rank], gather)

    with ThreadPoolExecutor(len(parts)) as pool:
        split = list(pool.map(process, range(len(parts))))
    whole = make(episodes)
    assert pushes([batch for made in split for batch in made.batches]) == pytest.approx(pushes(whole.batches))
    signal_figures = {key for key in whole.figures if key.startswith(("reward/", "zero_", "no_"))}
    for made in split:
        assert {key: made.figures[key] for key in signal_figures} == {key: whole.figures[key] for key in signal_figures}
        assert made.figures["episodes"] == 8


def test_weights_times_scale_average_to_one_where_nothing_is_dropped(episodes):
    made = make(episodes, keep_zeros=True, batches=120)
    weights = [w for batch in made.batches for row in batch for w in row.weights]
    assert sum(weights) == pytest.approx(8)  # an episode counts once
    assert sum(weights) * made.scale == pytest.approx(made.tokens)


def test_rows_without_an_advantage_are_dropped_unless_they_are_kept(episodes):
    dropped, kept = make(episodes), make(episodes, keep_zeros=True, batches=120)
    assert 0 < dropped.figures["rows"] < kept.figures["rows"] == dropped.figures["rows"] + dropped.figures["rows_dropped"]
    assert kept.figures["rows_dropped"] == 0
    theirs = {call: value for call, value in pushes(kept.batches).items() if value}
    assert pushes(dropped.batches) == pytest.approx(theirs)


def test_unscorable_episodes_take_no_part(episodes):
    broken = replace(episodes[0], error="timeout: no reply", answers=[], probes=[])
    made = make([broken, *episodes[1:]])
    assert made.figures["unscorable"] == 1 / 8
    assert broken.id not in {row.episode for batch in made.batches for row in batch}


def test_a_group_that_agrees_teaches_nothing(episodes):
    made = make(episodes[:1])  # one episode has nobody to be compared with
    assert made.tokens == 0 and made.scale == 0 and made.figures["rows"] == 0
    assert all(not any(map(learned, batch)) for batch in made.batches)
    assert make([]).figures["episodes"] == 0


def test_too_few_batches_are_refused(episodes):
    with pytest.raises(ValueError, match="batches"):
        make(episodes, batches=1, per_batch=1)


def test_drift_is_a_share_of_all_calls(episodes):
    calls = sum(bool(turn.completion_ids) for episode in episodes for turn in episode.turns)
    made = make(episodes, drifted=len)
    assert made.figures["reencoding_drift"] == 1.0 and calls > 0
    made = make(episodes, drifted=lambda turns: 3)
    assert made.figures["reencoding_drift"] == 3 / calls
