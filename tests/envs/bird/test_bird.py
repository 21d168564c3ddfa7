"""The environment: episodes, both modes, actions of every kind, threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.bird import generated
from amemgym_envs.bird.environment import BirdEnv
from amemgym_envs.bird.match import Gold


@pytest.fixture
def env():
    return BirdEnv()


def start(env, task, seed=0):
    return env.reset(seed=seed, options={"task": task})


@pytest.mark.parametrize("options", [{}, {"mode": "agentgym"}, {"evidence": True, "tolerance": 1e-6}])
def test_gymnasium_has_nothing_to_object(options):
    check_env(make("bird", **options), skip_render_check=True)


def test_splits_are_disjoint_by_database(env):
    databases = [{task.rpartition("-")[0] for task in tasks} for tasks in env.splits.values()]
    counts = {split: len(tasks) for split, tasks in env.splits.items()}
    assert counts == env.card.splits == {"train": 300, "validation": 60, "test": 120}
    assert sum(map(len, databases)) == len(set.union(*databases)) == 8
    assert env.splits is BirdEnv().splits and env.item(0) == "clinic-00" and env.item(479) == "league-59"


@pytest.mark.parametrize("mode", ["multi", "agentgym"])
def test_the_expert_succeeds_in_every_task_and_is_not_given_away(mode):
    env = BirdEnv(mode)
    for task in env.tasks:
        observation, info = start(env, task)
        gold = generated.question(task).sql
        *_, terminated, truncated, last = env.step(env.expert())
        assert terminated and not truncated and last["success"] and last["score"] == 1.0, task
        assert gold not in observation + repr(info) + repr(last)


def test_looks_cost_nothing_but_steps_and_a_failed_answer_can_be_mended(env):
    start(env, "clinic-03")
    observation, reward, terminated, *_ = env.step("run SELECT city, COUNT(*) AS n FROM patients GROUP BY city ORDER BY n DESC")
    assert observation.splitlines()[0] == "city | n" and observation.endswith("(5 rows)") and not (reward or terminated)
    assert env.step("Action: RUN: ```sql\nSELECT patient_id FROM patients\n```")[0].endswith("(260 rows, the first 10 are shown)")
    assert env.step("answer SELECT nonsense FROM patients")[0] == "SQL error: no such column: nonsense"
    observation, reward, terminated, *_ = env.step(f"answer ```sql\n{generated.question('clinic-03').sql}\n```")
    assert (observation, reward, terminated) == ("The answer is right.", 1.0, True)
    start(env, "clinic-03")
    observation, reward, terminated, _, info = env.step("answer SELECT 1")
    assert observation.startswith("The answer is wrong") and terminated and reward == 0.0 and info["success"] is False


def test_out_of_steps_is_the_end(env):
    start(env, "clinic-03")
    steps = [env.step("run SELECT 1") for _ in range(6)]
    assert [step[3] for step in steps] == [False] * 5 + [True] and not steps[-1][4]["success"]


def test_results_are_cut(env):
    start(env, "clinic-03")
    wide = env.step("run SELECT printf('%.9000c', 'x'), NULL, x'00ff', 'a' || char(10) || 'b', 1.5")[0]
    assert len(wide) < 400 and wide.splitlines()[1].endswith("| NULL | x'00ff' | 'a b' | 1.5")
    long = env.step("run SELECT a.title FROM (SELECT full_name AS title FROM patients) a, patients b")[0]
    assert long.endswith("(at least 10,000 rows, the first 10 are shown)")
    assert env.step("run SELECT 1 WHERE 0")[0].endswith("(0 rows)")


def test_agentgym_shows_the_start_of_the_rows_and_ends():
    env = BirdEnv("agentgym")
    start(env, "clinic-03")
    text = "I think.\n```sql\nSELECT 1\n```\nor rather\n```sql\nSELECT full_name, birth_date FROM patients\n```"
    observation, reward, terminated, *_ = env.step(text)
    assert len(observation) == 103 and observation.startswith("[('") and observation.endswith("...") and terminated and not reward
    start(env, "clinic-03")
    assert env.step("SELECT 7")[0] == "[(7,)]"
    start(env, "clinic-03")
    assert env.step("SELECT * FROM nowhere")[:3] == ("SQL error: no such table: nowhere", 0.0, True)


def test_rows_are_compared_as_sets_and_columns_in_order():
    gold = Gold([(1, "a"), (2, None)])
    assert gold.matches([(2, None), (1.0, "a"), (1, "a")])
    for wrong in ([(1, "a")], [(1, "a"), (2, None), (3, "b")], [("a", 1), (None, 2)], [], [("1", "a"), (2, None)]):
        assert not gold.matches(wrong)


def test_tolerance_lets_numbers_differ_a_little():
    rng = np.random.default_rng(1)
    rows = [(float(a), "x", float(b)) for a, b in rng.normal(0, 100, (200, 2))]
    near = [(a * (1 + 1e-8), word, b - 1e-8) for a, word, b in rows]
    assert Gold(rows, 1e-6).matches(near[::-1]) and not Gold(rows).matches(near)
    assert not Gold(rows, 1e-6).matches([*near[1:], (rows[0][0] + 0.1, "x", rows[0][2])])
    assert Gold([(1, None)], 1e-6).matches([(1.0000001, None)]) and not Gold([(1, None)], 1e-6).matches([("1", None)])


def test_fuzz_leaves_everything_as_it_was(env):
    rng = np.random.default_rng(7)
    words = ["run ", "answer ", "SELECT ", "* FROM patients ", "WITH a AS (", "DROP TABLE patients", "PRAGMA ", "Action:"]
    signs = ["'", '"', ";", "```sql", "```", "\0", "\ud800", "\U0001f600", "(" * 300, "--", "/*", "{" * 50, "\n", "x" * 10_000]
    pieces = np.array([*words, *signs], dtype=object)  # of objects: an array of text would lose the \0
    before = generated._image("clinic")
    tasks = env.splits["train"][:60]
    for round_ in range(500):
        start(env, tasks[round_ % 60])
        for _ in range(6):
            action = "".join(rng.choice(pieces, size=int(rng.integers(1, 9))).tolist())
            observation, reward, terminated, truncated, _ = env.step(action)
            assert observation and isinstance(observation, str) and reward == 0.0
            if terminated or truncated:
                break
    database = env._database
    with database.query("SELECT COUNT(*) FROM patients") as cursor:
        assert cursor.fetchall() == [(260,)]
    assert database._idle[-1].connection.serialize() == before


def test_random_actions_are_of_the_grammar_and_rarely_right(env):
    rng = np.random.default_rng(3)
    scores = []
    for task in env.splits["test"]:
        start(env, task)
        while True:
            observation, _, terminated, truncated, info = env.step(env.random_action(rng))
            assert "error" not in observation
            if terminated or truncated:
                scores.append(info["score"])
                break
    assert np.mean(scores) < 0.05


def test_threads_share_a_database():
    def play(number):
        env = BirdEnv()
        for task in env.splits["test"][number::8]:
            start(env, task)
            assert env.step("run SELECT COUNT(*) FROM sqlite_master")[0].startswith("COUNT(*)")
            assert env.step(env.expert())[1] == 1.0
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(play, range(8)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "x"}, "mode is 'x', expected one of multi, agentgym"),
        ({"folder": "x"}, "folder and questions belong together"),
        ({"seconds": 0}, "seconds 0"),
        ({"tolerance": 2}, "tolerance 2"),
    ],
)
def test_wrong_options_are_told(options, message):
    with pytest.raises(ValueError, match=message):
        BirdEnv(**options)
