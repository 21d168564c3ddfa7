"""The convert command: episodes and trajectories, to AgentGym's files and to TRL's."""

import json

import pytest
from datasets import load_dataset

from amemgym_envs import make
from amemgym_train import cli
from amemgym_train.agents.actions import LAYOUTS
from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.tasks import Goal
from amemgym_train.errors import UserError
from amemgym_train.evaluation.goals import play_guided
from amemgym_train.formats import Message, from_episode, item_of, parse_item, read_trajectories, rows
from amemgym_train.rollout.records import Turn
from amemgym_train.rollout.store import save_episodes


@pytest.fixture
def episodes(tmp_path, episode):
    save_episodes(tmp_path / "episodes" / "a.parquet", [episode(), episode("test-1", error="ServerGone: no answer")])
    save_episodes(tmp_path / "episodes" / "b.parquet", [episode("train-5", score=0.0, success=False)])
    save_episodes(tmp_path / "episodes" / ".unfinished" / "c.parquet", [episode("train-9")])
    return tmp_path / "episodes"


@pytest.fixture
def trajectories(saved, conversation):
    return saved("train.json", [{"conversations": conversation, "item_id": f"webshop_{n}"} for n in range(2)])


def convert(*words):
    return cli.main(["convert", *map(str, words)])


def test_an_episode_becomes_a_conversation_that_agentgym_would_have_had(episode):
    trajectory = from_episode(episode())
    assert [(message.role, message.loss) for message in trajectory.messages[:2]] == [("user", None), ("assistant", False)]
    assert trajectory.messages[2:] == [
        Message("user", "seen 0"),
        Message("assistant", "reply 0", loss=True),
        Message("user", "seen 1"),
        Message("assistant", "reply 1", loss=True),
    ]
    assert (trajectory.reward, trajectory.success) == (1.0, True) and trajectory.steps == [{"reward": 0.0}, {"reward": 1.0}]
    assert trajectory.item_id == item_of("SearchQA-v0", "train-3") == "searchqa_3"
    assert trajectory.extra == {"task": "train-3", "seed": 7}


def test_what_the_react_agent_has_played_is_exported(tmp_path):
    recipe = Recipe.model_validate({"name": "x", "tasks": {"environment": "SearchQA"}})
    played = play_guided(recipe, "oracle", [Goal("test-0"), Goal("train-0")])
    save_episodes(tmp_path / "played.parquet", played)
    assert convert(tmp_path / "played.parquet", tmp_path / "out.json", "--to", "agenttraj") == 0
    env = make("SearchQA")
    for trajectory, task in zip(read_trajectories(tmp_path / "out.json"), ("test-0", "train-0"), strict=True):
        first, info = env.reset(options={"task": task})
        assert env.item(parse_item(trajectory.item_id).number) == task and (trajectory.reward, trajectory.success) == (1.0, True)
        said = [message.content for message in trajectory.messages]
        told = {"instruction": info["instruction"], "layout": LAYOUTS[recipe.agent.style], "observation": ""}
        prompt = load_prompts(recipe.agent.prompts)["act"].messages(**told)
        assert said[0] == "\n\n".join(message["content"] for message in prompt).rstrip()
        assert said[2] == first and len(trajectory.steps) == len(trajectory.trained)
        for place in trajectory.trained[:-1]:
            assert env.step(said[place])[0] == said[place + 1]


def test_calls_that_do_not_act_are_no_part_of_the_conversation(episode):
    record = episode()
    record.turns.insert(1, Turn([1], [2], [0.0], "a note", "stop", "write", "write/0"))
    assert from_episode(record) == from_episode(episode())


def test_an_episode_without_what_the_agent_was_told_is_refused(episode):
    for key in ("observation", "instruction"):
        record = episode()
        del record.turns[0].meta[key]
        with pytest.raises(UserError, match=f"SearchQA-v0/train-3/7.*turn act/0: its meta has no {key}; only episodes of"):
            from_episode(record)
    with pytest.raises(UserError, match="no turn of it acts"):
        from_episode(episode(turns=[]))


def test_episodes_to_agenttraj(episodes, tmp_path, capsys):
    assert convert(episodes, tmp_path / "out.json", "--to", "agenttraj") == 0
    read = read_trajectories(tmp_path / "out.json")
    assert [(one.extra["task"], one.reward) for one in read] == [("train-3", 1.0), ("train-5", 0.0)]
    said = capsys.readouterr()
    assert said.out == f"2 trajectories from {episodes} (episodes) are in {tmp_path / 'out.json'} (agenttraj)\n"
    assert "1 of 3 episodes were ended by infrastructure" in said.err


@pytest.mark.parametrize("end", ["jsonl", "parquet"])
def test_episodes_to_trl_have_no_acknowledgement(episodes, tmp_path, end):
    out = tmp_path / f"out.{end}"
    assert convert(episodes, out, "--to", "trl") == 0
    kind = {"jsonl": "json"}.get(end, end)
    data = load_dataset(kind, data_files=str(out), split="train", cache_dir=str(tmp_path / "cache"))
    assert data.column_names == ["messages"] and len(data) == 2
    assert data[0]["messages"] == [
        {"role": "user", "content": "Do it.\n\nseen 0"},
        {"role": "assistant", "content": "reply 0"},
        {"role": "user", "content": "seen 1"},
        {"role": "assistant", "content": "reply 1"},
    ]


@pytest.mark.parametrize("end", ["jsonl", "parquet"])
def test_completions_are_the_messages_with_loss_and_nothing_else(trajectories, tmp_path, end):
    out = tmp_path / f"out.{end}"
    assert convert(trajectories, out, "--to", "trl", "--form", "completions") == 0
    data = load_dataset({"jsonl": "json"}.get(end, end), data_files=str(out), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(data) == 2 and set(data.column_names) == {"prompt", "completion"}
    assert [message["content"] for message in data[0]["prompt"]] == ["Find things.", "OK.", "You see a lamp. 灯"]
    assert data[0]["completion"] == [{"role": "assistant", "content": "Thought: ...\n\nAction:\ntake lamp"}]


def test_messages_that_are_not_to_be_learned_are_told(trajectories, tmp_path, capsys):
    assert convert(trajectories, tmp_path / "out.jsonl", "--to", "trl") == 0
    assert "2 messages of the assistant are not to be learned" in capsys.readouterr().err


def test_trl_takes_every_row_for_conversational(trajectories):
    from trl.data_utils import is_conversational

    for trajectory in read_trajectories(trajectories):
        assert all(is_conversational(row) for form in ("messages", "completions") for row in rows(trajectory, form))


def test_a_message_of_the_user_cannot_be_learned_by_trl(trajectories):
    trajectory = read_trajectories(trajectories)[0]
    trajectory.messages[2].loss = True
    with pytest.raises(UserError, match="webshop_0, message 3: a message of the user has loss true"):
        rows(trajectory)


def test_agenteval_lists_every_task_once(episodes, trajectories, tmp_path):
    ids_of = {"a.json": ["webshop_0", "webshop_1"], "b.json": ["searchqa_3", "searchqa_5"]}
    for source, (out, ids) in zip((trajectories, episodes), ids_of.items(), strict=True):
        assert convert(source, tmp_path / out, "--to", "agenteval") == 0
        assert [entry["item_id"] for entry in json.loads((tmp_path / out).read_text())] == ids
    assert convert(tmp_path / "a.json", tmp_path / "c.json", "--to", "agenteval") == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "c.json").read_bytes()


def test_json_lines_to_a_list_and_back(trajectories, tmp_path):
    for source, target in ((trajectories, "a.jsonl"), (tmp_path / "a.jsonl", "b.json"), (tmp_path / "b.json", "c.jsonl")):
        assert convert(source, tmp_path / target, "--to", "agenttraj") == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    assert read_trajectories(tmp_path / "b.json") == read_trajectories(trajectories)


def test_a_file_is_replaced_only_when_that_is_asked(trajectories, tmp_path, capsys):
    out = tmp_path / "out.json"
    out.write_text("mine")
    assert convert(trajectories, out, "--to", "agenttraj") == 2
    assert "out.json is there already; name another file, or replace it with --overwrite" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert convert(trajectories, out, "--to", "agenttraj", "--overwrite") == 0
    assert len(read_trajectories(out)) == 2
    assert convert(out, out, "--to", "agenttraj", "--overwrite") == 2
    assert "is the source itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ([{"item_id": "webshop_1"}], ["out.json", "--to", "agenttraj"], "a list of tasks without conversations"),
        ([{"item_id": "webshop_1"}], ["out.jsonl", "--to", "trl", "--from", "agenttraj"], "entry 1: conversations is not there"),
        ([{"item_id": "a-b_trial_T1_2_3"}], ["out.json", "--to", "agenteval"], "in.json: item id a-b_trial_T1_2_3: ALFWorld"),
        ([{"item_id": "x_1", "conversations": []}], ["out.jsonl", "--to", "trl"], "nothing to learn"),
        ([{"item_id": "x_1"}], ["out.csv", "--to", "trl"], "a file of trl ends in .jsonl or .parquet"),
        ([{"item_id": "x_1"}], ["out.json", "--to", "agenteval", "--from", "episodes"], "is no complete parquet file"),
        ("{", ["out.json", "--to", "agenteval"], "in.json, entry 1: not JSON"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing_behind(saved, tmp_path, content, words, message, capsys):
    assert convert(saved("in.json", content), tmp_path / words[0], *words[1:]) == 2
    said = capsys.readouterr()
    assert message in said.err and "Traceback" not in said.err and said.out == "" and said.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.json"]


def test_sources_without_episodes_are_told(tmp_path, episode, capsys):
    (tmp_path / "empty").mkdir()
    save_episodes(tmp_path / "gone.parquet", [episode(error="ServerGone: no answer")])
    for source, message in (
        ("empty", "there is no file of episodes"),
        ("gone.parquet", "none of 1 episodes was played to its end"),
        ("absent.json", "there is no file"),
    ):
        assert convert(tmp_path / source, tmp_path / "out.json", "--to", "agenttraj") == 2
        assert message in capsys.readouterr().err
    assert convert(tmp_path / "gone.parquet", tmp_path / "empty", "--to", "agenttraj") == 2
    assert "ends in .json or .jsonl" in capsys.readouterr().err


def test_a_broken_episode_is_told_with_its_file_and_number(tmp_path, episode, capsys):
    record = episode()
    del record.turns[1].meta["observation"]
    save_episodes(tmp_path / "e.parquet", [episode(), record])
    assert convert(tmp_path / "e.parquet", tmp_path / "out.json", "--to", "agenttraj") == 2
    assert "e.parquet, entry 2 (SearchQA-v0/train-3/7), turn act/1: its meta has no observation" in capsys.readouterr().err
