import errno
import itertools
import json
import os
import signal
import sys

import pytest

from amemgym_train.errors import UserError
from amemgym_train.evolution import ranks
from amemgym_train.evolution.manifest import Stages, digest, entries_of, kept, write_entries
from amemgym_train.files import write_json

INPUTS = {"recipe": "abc", "policy": "base"}
CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}


def produce(text="weights"):
    def work(out):
        (out / "adapter").mkdir()
        (out / "adapter" / "model").write_text(text)
        (out / "adapter" / "config").write_text("{}")
        (out / "rows.json").write_text(text)
        return {"loss": 0.5}

    return work


def refuse(out):
    raise AssertionError("a finished stage is done again")


def stages(folder):
    return Stages(folder, "iteration 1 of 2", {})


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def outputs(folder):
    return {name: content for name, content in files(folder).items() if name != "manifest.json"}


def killed(number, function):
    """Calls ``function`` in a child that is killed right before its ``number``-th access to the file system; False if it ends."""
    child = os.fork()
    if child == 0:
        count = itertools.count(1)

        def watch(event, arguments):
            if event in CHANGES and next(count) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        try:
            function()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("earlier", [False, True], ids=["first time", "over older files"])
def test_a_stage_killed_anywhere_is_done_again_as_if_never_begun(tmp_path, earlier):
    assert ranks.is_main()  # what a child inherits must not be made there
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        stages(folder).run("rollout", INPUTS, lambda out: (out / "episodes").write_text("kept") and {"episodes": 8})
        if earlier:
            stages(folder).run("train", {"recipe": "old"}, produce("much older weights"))
        if not killed(number, lambda folder=folder: stages(folder).run("train", INPUTS, produce())):
            break
        assert stages(folder).run("rollout", INPUTS, refuse) == {"episodes": 8}
        assert stages(folder).run("train", INPUTS, produce()) == {"loss": 0.5}
        assert stages(folder).run("train", INPUTS, refuse) == {"loss": 0.5}
        assert set(entries_of(folder / "manifest.json")) == {"rollout", "train"}
        assert not list(folder.glob(".*"))
    assert number > 8  # mkdir, four files, two renames, the manifest
    wanted = {"episodes": b"kept", "rows.json": b"weights", "adapter/model": b"weights", "adapter/config": b"{}"}
    assert {n: outputs(tmp_path / str(n)) == wanted for n in range(1, number + 1)} == dict.fromkeys(range(1, number + 1), True)


def test_a_stage_is_taken_over_only_with_its_inputs_and_its_files(tmp_path):
    book = stages(tmp_path)
    book.run("train", INPUTS, produce())
    book.run("train", INPUTS, refuse)

    def spoil(path, text):
        path.write_text(text)

    damages = [
        lambda: spoil(tmp_path / "rows.json", "other"),
        lambda: (tmp_path / "rows.json").unlink(),
        lambda: spoil(tmp_path / "adapter" / "more", ""),
        lambda: (tmp_path / "adapter" / "config").rename(tmp_path / "adapter" / "settings"),
    ]
    for damage in damages:
        damage()
        with pytest.raises(AssertionError, match="done again"):
            book.run("train", INPUTS, refuse)
        assert book.run("train", INPUTS, produce()) == {"loss": 0.5}
        assert set(outputs(tmp_path)) == {"rows.json", "adapter/model", "adapter/config"}
    with pytest.raises(AssertionError, match="done again"):
        book.run("train", {**INPUTS, "policy": "iteration-001"}, refuse)


def test_a_stage_that_fails_changes_nothing(tmp_path):
    book = stages(tmp_path)
    book.run("train", INPUTS, produce())
    before = files(tmp_path)

    def fail(out):
        (out / "rows.json").write_text("half")
        raise ZeroDivisionError

    for name in ("train", "evaluate"):
        with pytest.raises(ZeroDivisionError):
            book.run(name, {"recipe": "new"}, fail)
        assert before.items() <= files(tmp_path).items()
    book.run("evaluate", INPUTS, produce("evaluated"))
    assert not list(tmp_path.glob(".evaluate.partial"))


def no_room(kind):
    def work(out):
        (out / "rows.json").write_text("half")
        if kind == "real":
            with open("/dev/full", "w") as file:
                file.write("x")
        if kind == "rust":
            raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")
        raise OSError(kind, os.strerror(kind))

    return work


@pytest.mark.parametrize("kind", ["real", "rust", errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_without_room_the_stage_is_named_and_nothing_is_lost(tmp_path, kind):
    book = stages(tmp_path)
    book.run("rollout", INPUTS, produce())
    before = files(tmp_path)
    with pytest.raises(UserError) as told:
        book.run("train", INPUTS, no_room(kind))
    assert str(told.value).startswith(f"iteration 1 of 2: no space left, stage train could not be saved in {tmp_path}")
    assert "run the same command again" in str(told.value)
    kept = {".train.kept/inputs.json": json.dumps(INPUTS, indent=2).encode() + b"\n"}  # what it had kept for another try is, too
    assert files(tmp_path) == before | kept


def test_other_errors_of_the_system_are_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(OSError, match="Input/output error"):
        stages(tmp_path).run("train", INPUTS, no_room(errno.EIO))


DAMAGED = [b"", b"{", b"\xff\xfe", b"[]", b'{"format": 2, "train": 3}', b'{"format": 2, "train": {"inputs": {}}}']


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_manifest_is_one_clear_message(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(UserError, match=rf"^{tmp_path}/manifest\.json is damaged .*delete it") as told:
        stages(tmp_path).run("train", INPUTS, refuse)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("content", ["{}", '{"train": {}}', '{"format": 1}', '{"format": 3, "train": {"inputs": {}}}'])
def test_a_manifest_of_another_version_is_one_clear_message(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(UserError, match=rf"^{tmp_path}/manifest\.json was written by another version .*this version has 2"):
        stages(tmp_path).run("train", INPUTS, refuse)


def test_a_stage_that_is_done_again_says_why(tmp_path, capsys):
    book = stages(tmp_path)
    book.run("train", INPUTS, produce())
    (tmp_path / "rows.json").write_text("cut")
    book.run("train", INPUTS, produce())
    book.run("train", {**INPUTS, "policy": "other", "data": "new"}, produce())
    told = [line for line in capsys.readouterr().out.splitlines() if "again" in line]
    assert told == [
        f"iteration 1 of 2: train is done again, as {tmp_path}/rows.json is not what it had saved",
        "iteration 1 of 2: train is done again, as what it starts from has changed: data, policy",
    ]


def test_what_a_stage_keeps_is_there_after_a_failure_and_gone_with_other_inputs_or_when_it_is_done(tmp_path):
    book, seen = stages(tmp_path), []

    def work(out):
        pieces = kept(out)
        seen.append(sorted(path.name for path in pieces.iterdir()))
        (pieces / f"piece-{len(seen)}").write_text("")
        if len(seen) < 4:
            raise ZeroDivisionError

    for inputs in (INPUTS, INPUTS, {**INPUTS, "policy": "other"}):
        with pytest.raises(ZeroDivisionError):
            book.run("train", inputs, work)
    book.run("train", {**INPUTS, "policy": "other"}, work)
    assert seen == [["inputs.json"], ["inputs.json", "piece-1"], ["inputs.json"], ["inputs.json", "piece-3"]]
    assert not list(tmp_path.glob(".*"))


def test_what_is_pruned_is_not_missed(tmp_path):
    book = stages(tmp_path)
    book.run("train", INPUTS, produce())
    book.prune(["adapter", "unknown"])
    assert not (tmp_path / "adapter").exists() and (tmp_path / "rows.json").exists()
    book.run("train", INPUTS, refuse)
    before = files(tmp_path)
    book.prune(["adapter"])
    assert files(tmp_path) == before
    (tmp_path / "rows.json").unlink()
    with pytest.raises(AssertionError, match="done again"):
        book.run("train", INPUTS, refuse)


def test_the_time_of_a_stage_is_that_of_when_it_was_done(tmp_path):
    seconds = {}
    for folder in (tmp_path / "001", tmp_path / "002"):
        stages(folder).run("train", INPUTS, produce())
        entries = entries_of(folder / "manifest.json")
        assert 0 <= entries["train"]["seconds"] < 1
        write_entries(folder / "manifest.json", {"train": entries["train"] | {"seconds": 40.0}})
        Stages(folder, "x", seconds).run("train", INPUTS, refuse)
    assert seconds == {"train": 80.0}


def test_a_digest_is_that_of_names_and_contents(tmp_path):
    def folder(name, **texts):
        (tmp_path / name / "adapter").mkdir(parents=True)
        for file, text in texts.items():
            (tmp_path / name / "adapter" / file).write_text(text)
        return digest(tmp_path / name / "adapter")

    same = folder("a", x="1", y="2")
    assert folder("b", y="2", x="1") == same
    assert len({same, folder("c", x="2", y="1"), folder("d", x="1", z="2"), folder("e", x="12"), folder("f")}) == 5


def test_json_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"a": "é"})
    with pytest.raises(TypeError):
        write_json(path, {"a": [1, {2}]})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": "é"}
