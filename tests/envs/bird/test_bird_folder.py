"""A folder in BIRD's layout."""

import json
import sqlite3

import pytest

from amemgym_envs.bird.environment import BirdEnv


@pytest.fixture
def bird(tmp_path):
    """train/ with its databases below train_databases/, dev/ with its own beside the file."""
    for where, count in (("train/train_databases", 3), ("dev", 2)):
        path = tmp_path / where / "zoo" / "zoo.sqlite"
        path.parent.mkdir(parents=True)
        connection = sqlite3.connect(path)
        connection.execute('CREATE TABLE animal (id INTEGER PRIMARY KEY, "common name" TEXT, "order" TEXT)')
        connection.executemany("INSERT INTO animal VALUES (?, ?, NULL)", [(n, f"beast {n}") for n in range(count)])
        connection.execute("UPDATE animal SET \"order\" = CAST(x'636166e9' AS TEXT) WHERE id = 0")  # Latin-1
        connection.commit()
        connection.close()
    gold = {"db_id": "zoo", "question": "How many animals?", "SQL": "SELECT COUNT(*) FROM animal", "evidence": "a beast"}
    (tmp_path / "train" / "train.json").write_text(json.dumps([gold, gold | {"SQL": "SELECT `common name` FROM animal"}]))
    (tmp_path / "dev" / "dev.json").write_text(json.dumps([gold | {"question_id": 5, "difficulty": "simple"}]))
    return tmp_path


FILES = {"train": "train/train.json", "test": "dev/dev.json"}


def test_it_is_read_as_it_is(bird):
    env = BirdEnv("agentgym", folder=bird, questions=FILES)
    assert env.splits == {"train": ["train-0", "train-1"], "validation": [], "test": ["test-5"]} and env.splits is env.splits
    assert env.card.splits == {"train": 2, "validation": 0, "test": 1}
    assert [env.item(number) for number in range(3)] == ["train-0", "train-1", "test-5"]
    with pytest.raises(ValueError, match="task number 3, expected 0 to 2"):
        env.item(3)
    for task in env.tasks:
        observation, _ = env.reset(seed=0, options={"task": task})
        assert '"common name" TEXT,  -- \'beast 0\'' in observation and '"order" TEXT' in observation
        assert "a beast" not in observation
        assert env.step(env.expert())[1] == 1.0
    env.reset(seed=0, options={"task": "test-5"})
    assert env.step("SELECT 3")[1] == 0.0  # the databases of the two files have the same name


def test_text_of_another_encoding_is_shown(bird):
    env = BirdEnv(folder=bird, questions="dev/dev.json", evidence=True)
    assert env.reset(seed=0)[0].endswith("Question: How many animals?\nHint: a beast")
    assert env.step('run SELECT "order" FROM animal')[0] == "order\n'caf\ufffd'\nNULL\n(2 rows)"


def test_a_gold_query_that_fails_is_no_score_of_0(bird):
    (bird / "bad.json").write_text(json.dumps([{"db_id": "zoo", "question": "?", "SQL": "SELECT nonsense FROM animal"}]))
    (bird / "bad.json").rename(bird / "dev" / "bad.json")
    env = BirdEnv(folder=bird, questions="dev/bad.json")
    with pytest.raises(RuntimeError, match="gold query of task test-0 cannot be executed: SQL error: no such column"):
        env.reset(seed=0)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"db_id": "farm"}, "question 0: the database 'farm' is missing; expected farm/farm.sqlite in"),
        ({"db_id": "../zoo"}, "which is no name of a folder"),
        ({"db_id": ".."}, "which is no name of a folder"),
        ({"db_id": "out"}, "the database 'out' lies outside"),
        ({"db_id": "*"}, "the database '\\*' is missing"),
        ({"SQL": ""}, "question 0: SQL is '', expected text"),
        ({"question": 7}, "question 0: question is 7, expected text"),
    ],
)
def test_a_wrong_question_is_named(bird, tmp_path_factory, record, message):
    outside = tmp_path_factory.mktemp("outside") / "out.sqlite"
    outside.write_bytes(b"")
    (bird / "out").mkdir()
    (bird / "out" / "out.sqlite").symlink_to(outside)
    (bird / "q.json").write_text(json.dumps([{"db_id": "zoo", "question": "?", "SQL": "SELECT 1"} | record]))
    with pytest.raises(ValueError, match=message):
        BirdEnv(folder=bird, questions="q.json")


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ("none.json", "question file 'none.json' is not in"),
        ("../x.json", "question file '../x.json' lies outside"),
        ("/etc/passwd", "lies outside"),
        ({"dev": "dev/dev.json"}, "split 'dev', expected one of train, validation, test"),
        ("broken.json", "is no JSON"),
        ("object.json", "holds a dict, expected a list"),
        ("list.json", "question 0 is a int, expected an object"),
        ("twice.json", "question 1: the id test-5 is there twice"),
    ],
)
def test_a_wrong_file_is_named(bird, questions, message):
    (bird / "broken.json").write_text("[" * 100_000)
    (bird / "object.json").write_text("{}")
    (bird / "list.json").write_text("[1]")
    record = json.loads((bird / "dev" / "dev.json").read_text())[0]
    (bird / "zoo").symlink_to(bird / "dev" / "zoo")
    (bird / "twice.json").write_text(json.dumps([record, record]))
    with pytest.raises(ValueError, match=message):
        BirdEnv(folder=bird, questions=questions)
    with pytest.raises(ValueError, match="folder 'nowhere' does not exist"):
        BirdEnv(folder="nowhere", questions=questions)
