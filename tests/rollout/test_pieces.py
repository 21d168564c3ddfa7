"""Episodes kept period by period: whatever stops a run, it ends as an undisturbed one."""

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.policy.oracle import OraclePolicy, RandomPolicy
from amemgym_train.rollout.pieces import Pieces
from amemgym_train.rollout.runner import Task, play

SCENARIOS = {
    scenario.id: scenario
    for scenario in generate(
        GeneratorConfig(seed=5, num_users=2, num_variables=6, num_periods=3, num_questions=3, num_changes_per_period=2)
    )
}
TASKS = [Task(name, name, 3) for name in SCENARIOS]
AGENTS = {
    "native": AgentConfig(name="native"),
    "awi": AgentConfig(name="awi"),
    "awi flush": AgentConfig(name="awi", update_bsz=4, local_length=2, flush="period"),
    "rag": AgentConfig(name="rag"),
    "awe": AgentConfig(name="awe"),
}


class Breaking(RandomPolicy):
    """Writes what it is told and guesses; raises ``error`` at slot ``at`` of the first user. ``seen`` lists what was asked."""

    def __init__(self, at=None, error=None):
        super().__init__()
        self.at, self.error, self.seen = at, error, []

    def reply(self, request):
        self.seen.append((request.episode, request.slot))
        if self.error is not None and request.slot == self.at and TASKS[0].id in request.episode:
            raise self.error
        if request.operation == "write":
            return OraclePolicy(SCENARIOS[request.episode.split("/")[1]]).reply(request)
        return super().reply(request)


def run(folder, config, policy, together=True, tasks=TASKS):
    return play(
        lambda task: AMemGymEnv([SCENARIOS[task.id]], rounds_update=2),
        tasks,
        lambda task, episode, seed: build_agent(config, policy, episode, seed),
        seed=11,
        label=None,
        together=together,
        pieces=(lambda task: Pieces(folder / task.id)) if folder else None,
    )


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("name", AGENTS)
def test_a_broken_episode_goes_on_in_its_period_and_ends_as_the_whole_one(tmp_path, name, together):
    whole = run(None, AGENTS[name], Breaking(), together)
    assert name == "native" or all(episode.memories and episode.memories[-1].entries for episode in whole)
    broken = run(tmp_path, AGENTS[name], Breaking("answer/p2/q1", Unscorable("gone")), together)
    assert [episode.error for episode in broken] == ["Unscorable: gone", None] and broken[1] == whole[1]
    kept = sorted(path.name for path in (tmp_path / TASKS[0].id).iterdir())
    assert kept == ["period_000.parquet", "period_001.parquet"]
    policy = Breaking()
    assert run(tmp_path, AGENTS[name], policy, together) == whole
    asked = {(episode.split("/")[1], slot.split("/")[1]) for episode, slot in policy.seen}
    assert asked == {(TASKS[0].id, "p2"), (TASKS[0].id, "p3")}  # nothing that is kept is asked again


def test_a_finished_episode_is_taken_as_it_is(tmp_path):
    first = run(tmp_path, AGENTS["awi"], Breaking())
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    policy = Breaking()
    assert run(tmp_path, AGENTS["awi"], policy) == first and policy.seen == []
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")} == files and len(files) == 8


def test_a_bug_in_the_middle_loses_no_period(tmp_path):
    with pytest.raises(KeyError):
        run(tmp_path, AGENTS["awi"], Breaking("respond/p1/s0/r0", KeyError("bug")), tasks=TASKS[:1])
    assert [path.name for path in (tmp_path / TASKS[0].id).iterdir()] == ["period_000.parquet"]
    assert run(tmp_path, AGENTS["awi"], Breaking()) == run(None, AGENTS["awi"], Breaking())


def test_a_lost_period_is_played_again_and_so_is_what_follows(tmp_path):
    first = run(tmp_path, AGENTS["awi"], Breaking())
    (tmp_path / TASKS[1].id / "period_001.parquet").unlink()
    policy = Breaking()
    assert run(tmp_path, AGENTS["awi"], policy) == first
    assert {(episode.split("/")[1], slot.split("/")[1]) for episode, slot in policy.seen} == {
        (TASKS[1].id, period) for period in ("p1", "p2", "p3")
    }


def test_a_damaged_piece_is_named(tmp_path):
    run(tmp_path, AGENTS["native"], Breaking())
    path = tmp_path / TASKS[0].id / "period_001.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match="period_001.parquet is no complete parquet file"):
        run(tmp_path, AGENTS["native"], Breaking())


def test_a_piece_that_cannot_be_written_ends_the_run(tmp_path):
    (tmp_path / TASKS[0].id).write_text("in the way")
    with pytest.raises(UserError, match="could not write 1 episodes"):
        run(tmp_path, AGENTS["native"], Breaking())
