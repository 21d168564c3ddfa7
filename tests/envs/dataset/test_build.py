"""Building: the same bytes for any number of workers, and after any kill."""

import json
import signal
import sys
from dataclasses import replace

import pytest

from amemgym_envs.amemgym.dataset import build, manifest_path, save
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.generator.people import people
from amemgym_envs.amemgym.scenario import ScenarioError, load_scenarios, save_scenarios

SETTINGS = "dict(seed=5, num_users={users}, num_variables=4, num_questions=3, num_periods=1, num_changes_per_period=2)"
KILLED = f"""
import os, signal, sys
from pathlib import Path
from amemgym_envs.amemgym.dataset import build
from amemgym_envs.amemgym.generator import GeneratorConfig

def advance(done):
    os.write(1, f"{{done}}\\n".encode())
    if done == int(sys.argv[2]):
        signal.pause()

build(GeneratorConfig(**{SETTINGS.format(users=7)}), Path(sys.argv[1]), advance=advance)
"""
POOL = f"""
import os, signal, sys
from multiprocessing import active_children
from pathlib import Path
from amemgym_envs.amemgym.dataset import build
from amemgym_envs.amemgym.generator import GeneratorConfig

def advance(done):
    if done == 3:
        print(*[child.pid for child in active_children()], flush=True)
        signal.pause()

if __name__ == "__main__":
    build(GeneratorConfig(**{SETTINGS.format(users=40)}), Path(sys.argv[1]), workers=2, advance=advance)
"""
FULL = f"""
import resource, sys
from pathlib import Path
from amemgym_envs.amemgym.dataset import build
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.generator import GeneratorConfig

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    build(GeneratorConfig(**{SETTINGS.format(users=7)}), Path(sys.argv[1]))
except ScenarioError as error:
    sys.exit(str(error))
"""


def journal(path):
    return path.with_name(f".{path.name}.part.jsonl")


def part(path):
    return path.with_name(f".{path.name}.part")


@pytest.fixture
def whole(tmp_path_factory, config):
    """(data, manifest) of a build that nothing disturbed."""
    path = tmp_path_factory.mktemp("whole") / "data.json"
    build(config, path)
    return path.read_bytes(), manifest_path(path).read_bytes()


def assert_like(whole, path):
    assert (path.read_bytes(), manifest_path(path).read_bytes()) == whole
    assert {p.name for p in path.parent.iterdir()} == {"data.json", "data.manifest.json"}


@pytest.mark.parametrize("users", [1, 7])
def test_the_bytes_are_those_of_save_scenarios(tmp_path, config, users):
    config = replace(config, num_users=users)
    save_scenarios(tmp_path / "saved.json", generate(config))
    build(config, tmp_path / "built.json")
    save(generate(config), tmp_path / "given.json", {})
    assert (tmp_path / "built.json").read_bytes() == (tmp_path / "saved.json").read_bytes()
    assert (tmp_path / "given.json").read_bytes() == (tmp_path / "saved.json").read_bytes()
    assert load_scenarios(tmp_path / "built.json") == generate(config)


def test_neither_workers_nor_compression_change_the_items(tmp_path, config, content):
    config = replace(config, num_users=20)  # more than two processes have in flight
    build(config, tmp_path / "one.json")
    build(config, tmp_path / "one.json.gz")
    build(config, tmp_path / "two.json.gz", workers=2)
    assert content(tmp_path / "one.json.gz") == content(tmp_path / "one.json")
    assert (tmp_path / "two.json.gz").read_bytes() == (tmp_path / "one.json.gz").read_bytes()
    assert (tmp_path / "two.json.gz").read_bytes()[4:8] == bytes(4)  # no time of writing
    assert load_scenarios(tmp_path / "two.json.gz") == generate(config)


def test_progress_tells_how_many_users_there_are(tmp_path, config, stopped):
    told = []
    build(config, tmp_path / "data.json", advance=told.append)
    assert told == list(range(8))
    stopped(config, tmp_path / "other.json", 4)
    build(config, tmp_path / "other.json", advance=(again := []).append)
    assert again == [4, 5, 6, 7]


def test_a_killed_process_leaves_its_finished_users(tmp_path, config, whole, start_python, generated):
    path = tmp_path / "data.json"
    process = start_python(KILLED, path, 3)
    assert [process.stdout.readline() for _ in range(4)] == ["0\n", "1\n", "2\n", "3\n"]
    assert not path.exists()
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not path.exists() and not manifest_path(path).exists()
    build(config, path)
    assert generated == [3, 4, 5, 6]
    assert_like(whole, path)


def test_workers_end_when_their_parent_is_killed(tmp_path, config, start_python):
    """They hold the other end of the error stream: it ends when the last of them does."""
    process = start_python(POOL, tmp_path / "data.json")
    assert len(process.stdout.readline().split()) == 2
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    build(replace(config, num_users=40), tmp_path / "data.json", advance=(told := []).append)
    assert told == list(range(3, 41))


def test_wherever_a_kill_falls_the_next_run_gives_the_same_bytes(tmp_path, config, whole, stopped, generated):
    """A kill may leave a torn item in the part or a torn line in the journal; a crash of the system may lose more of the part."""
    path = tmp_path / "data.json"
    stopped(config, path, 3)
    files = part(path).read_bytes(), journal(path).read_bytes()
    lines = files[1].splitlines(keepends=True)
    ends = [json.loads(line)["end"] for line in lines[1:]]
    assert ends[-1] == len(files[0])
    before = sum(map(len, lines[:-1]))  # where the last line of the journal starts
    cuts = [
        (len(files[0]), len(files[1]), 3),
        (len(files[0]), len(files[1]) - 1, 2),  # all but the end of a line
        (len(files[0]), before + 5, 2),
        (len(files[0]), before, 2),
        (ends[1] + 100, before, 2),
        (ends[1] + 100, len(files[1]), 2),  # the disk lost what the journal names
        (ends[0] + 1, len(files[1]), 1),
        (0, len(files[1]), 0),
        (len(files[0]), 4, 0),
        (0, 0, 0),
    ]
    for data, named, kept in cuts:
        path.unlink(missing_ok=True)
        part(path).write_bytes(files[0][:data])
        journal(path).write_bytes(files[1][:named])
        generated.clear()
        build(config, path)
        assert generated == list(range(kept, 7)), (data, named)
        assert_like(whole, path)


def test_a_run_may_be_stopped_many_times(tmp_path, config, whole, stopped, generated):
    path = tmp_path / "data.json"
    for count in (1, 2, 5):
        stopped(config, path, count)
    build(config, path)
    assert generated == list(range(7))
    assert_like(whole, path)


def test_an_older_file_stays_whole_until_the_new_one_is(tmp_path, config, stopped):
    path = tmp_path / "data.json"
    build(replace(config, num_users=2), path)
    older = path.read_bytes()
    stopped(config, path, 5)
    assert path.read_bytes() == older
    build(config, path)
    assert load_scenarios(path) == generate(config)


@pytest.mark.parametrize("changes", [{"seed": 6}, {"num_questions": 2}, {"user_offset": 1}, {"language": "zh"}])
def test_a_part_of_other_settings_is_not_continued(tmp_path, config, stopped, generated, changes):
    path, other = tmp_path / "data.json", replace(config, **changes)
    stopped(config, path, 3)
    generated.clear()
    build(other, path)
    assert generated == list(range(other.user_offset, other.user_offset + 7))
    assert load_scenarios(path) == generate(other)


def test_a_part_of_another_wording_is_not_continued(tmp_path, config, stopped, generated, monkeypatch):
    path = tmp_path / "data.json"
    stopped(config, path, 3)
    generated.clear()
    monkeypatch.setattr("amemgym_envs.amemgym.dataset.manifest.pack_digest", lambda language: "another")
    build(config, path)
    assert generated == list(range(7))


@pytest.mark.parametrize("users", [1, 2, 3, 12])
def test_a_part_may_be_finished_with_fewer_or_more_users(tmp_path, config, stopped, generated, users):
    path, straight, other = tmp_path / "a" / "data.json", tmp_path / "b" / "data.json", replace(config, num_users=users)
    stopped(config, path, 3)
    generated.clear()
    build(other, path)
    assert generated == list(range(3, users))
    build(other, straight)
    assert_like((straight.read_bytes(), manifest_path(straight).read_bytes()), path)


@pytest.mark.parametrize("name", ["data.json", "data.json.gz"])
def test_a_full_disk_is_told_and_what_was_finished_is_kept(tmp_path, config, start_python, generated, content, name):
    build(config, tmp_path / "whole" / name)
    path, limit = tmp_path / name, len((tmp_path / "whole" / name).read_bytes()) // 2
    generated.clear()
    process = start_python(FULL, path, limit)
    errors = process.communicate()[1]
    kept = len(journal(path).read_bytes().splitlines()) - 1
    assert process.returncode == 1 and 1 <= kept <= 5
    message = f"{path}: cannot be written (File too large); {kept} items are kept; free some space and run the same command again"
    assert message in errors and "Traceback" not in errors
    assert not path.exists() and not manifest_path(path).exists()
    build(config, path)
    assert generated == list(range(kept, 7))
    assert content(path) == content(tmp_path / "whole" / name)


def test_a_folder_under_the_name_is_told_before_any_work(tmp_path, config, generated):
    with pytest.raises(ScenarioError, match="no regular file, so it is not replaced"):
        build(config, tmp_path)
    assert generated == []


def test_a_user_who_cannot_be_generated_stops_every_number_of_workers(tmp_path):
    config = GeneratorConfig(num_users=3, num_variables=3, num_questions=3, num_choices=2, num_changes_per_period=2)
    for workers in (1, 2):
        with pytest.raises(ScenarioError, match="no life found"):
            build(config, tmp_path / "data.json", workers=workers)
        assert not (tmp_path / "data.json").exists()


def test_memory_holds_a_few_users_ahead_however_many_there_are(tmp_path, monkeypatch):
    """The pool is asked for no more users than it may have in flight."""
    module = sys.modules["amemgym_envs.amemgym.dataset.build"]
    asked = []

    class Pool:
        def __init__(self, *arguments, **options):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *exc):
            pass

        def submit(self, function, config, user):
            asked.append(user)
            return Done()

    class Done:
        def result(self):
            return "item"

    monkeypatch.setattr(module, "ProcessPoolExecutor", Pool)
    for number, _ in enumerate(module._items(None, range(1000), 2)):
        assert len(asked) - number <= 2 * module._AHEAD
    assert asked == list(range(1000))


@pytest.mark.parametrize(
    "damage",
    [
        b"5",
        b"[]",
        b"null",
        b'{"id": "x"}',
        b"{",
        b"\xff",
        b'{"id": 1, "sha256": "", "sessions": 1, "tokens": 1, "end": 10}',
        None,
    ],
)
@pytest.mark.parametrize("name", ["data.json", "data.json.gz"])
def test_a_damaged_line_of_the_journal_ends_what_is_recovered(tmp_path, config, whole, stopped, generated, content, name, damage):
    path = tmp_path / name
    stopped(config, path, 5)
    generated.clear()
    lines = journal(path).read_bytes().split(b"\n")
    lines[3] = lines[2] if damage is None else damage  # of the third user
    journal(path).write_bytes(b"\n".join(lines))
    build(config, path)
    assert generated == [2, 3, 4, 5, 6]
    assert content(path) == whole[0]


@pytest.mark.parametrize("name", ["data.json", "data.json.gz"])
def test_an_item_of_the_part_that_is_not_what_was_written_is_generated_again(
    tmp_path, config, whole, stopped, generated, content, name
):
    path = tmp_path / name
    stopped(config, path, 5)
    generated.clear()
    ends = [json.loads(line)["end"] for line in journal(path).read_bytes().splitlines()[1:]]
    raw = bytearray(part(path).read_bytes())
    raw[(ends[2] + ends[3]) // 2] ^= 1
    part(path).write_bytes(raw)
    build(config, path)
    assert generated == [3, 4, 5, 6]
    assert content(path) == whole[0]


def test_what_is_thrown_away_is_said(tmp_path, config, stopped):
    path, said = tmp_path / "data.json", []
    build(config, path, note=said.append)
    assert said == []
    stopped(config, path, 3)
    build(replace(config, seed=6), path, note=said.append)
    discarded = f"{path}: an unfinished part of other settings or words is discarded, users in it:"
    replaced = f"{path}: the file that stood there is replaced"
    assert said == [f"{discarded} 3", replaced]
    stopped(config, path, 2)
    save(generate(config), path, {}, said.append)
    assert said[2:] == [f"{discarded} 2", replaced]


def test_a_part_of_other_personas_is_not_continued(tmp_path, config, stopped, generated):
    file = tmp_path / "people.jsonl"
    row = {
        "persona": "Kind.",
        "sex": "Male",
        "age": 40,
        "marital_status": "single",
        "education_level": "none",
        "occupation": "cook",
    }
    file.write_text((json.dumps(row) + "\n") * 9)
    path, config = tmp_path / "data.json", replace(config, personas=str(file))
    stopped(config, path, 3)
    generated.clear()
    file.write_text((json.dumps(row | {"occupation": "miner"}) + "\n") * 9)
    people.cache_clear()  # as in a new process
    build(config, path)
    assert generated == list(range(7))
    assert {user.user_profile["occupation"] for user in load_scenarios(path)} == {"miner"}
