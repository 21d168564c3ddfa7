"""Manifests: what a data file was made with, and a hash of each of its items."""

import hashlib
import json
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from amemgym_envs.amemgym.dataset import build, finished, manifest_path, read_manifest, save, settings_of
from amemgym_envs.amemgym.dataset.manifest import origin_of, pack_digest
from amemgym_envs.amemgym.dataset.stream import digest
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.generator.filling import conversation_tokens


def turned(value):
    """The same JSON with the keys of every object in reverse order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(entry) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "manifest"), [("data.json", "data.manifest.json"), ("data.json.gz", "data.gz.manifest.json")])
def test_it_lies_beside_the_data(name, manifest):
    assert manifest_path(Path("a") / name) == Path("a") / manifest


def test_a_file_and_its_compressed_twin_have_manifests_of_their_own(tmp_path, config):
    build(config, tmp_path / "data.json")
    build(replace(config, num_users=2), tmp_path / "data.json.gz")
    for name, users in (("data.json", 7), ("data.json.gz", 2)):
        manifest = read_manifest(tmp_path / name)
        assert (manifest["data"], manifest["bytes"]) == (name, (tmp_path / name).stat().st_size)
        assert len(manifest["items"]) == users


def test_it_names_the_version_that_is_installed(tmp_path, config, monkeypatch):
    module = "amemgym_envs.amemgym.dataset.manifest.version"
    monkeypatch.setattr(module, {"amemgym-train": "9.8.7"}.__getitem__)
    build(config, tmp_path / "data.json")
    assert read_manifest(tmp_path / "data.json")["version"] == "9.8.7"

    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(module, absent)
    build(config, tmp_path / "data.json")
    assert "version" not in read_manifest(tmp_path / "data.json")


def test_the_persona_file_is_part_of_the_settings(tmp_path, config):
    path = tmp_path / "people.jsonl"
    row = {
        "persona": "Kind.",
        "sex": "Male",
        "age": 40,
        "marital_status": "single",
        "education_level": "none",
        "occupation": "cook",
    }
    path.write_text("".join(json.dumps(row) + "\n" for _ in range(7)))
    config = replace(config, personas=str(path))
    before = settings_of(config)
    assert before["personas_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(path.read_text().replace("Kind", "Mean"))
    assert origin_of(settings_of(config)) != origin_of(before)


def test_a_finished_file_is_known_by_its_settings_its_items_and_its_size(tmp_path, config):
    path = tmp_path / "data.json"
    assert finished(config, path) is None
    entries = build(config, path)
    assert finished(config, path) == entries
    for change in ({"seed": 6}, {"num_users": 6}, {"num_users": 8}, {"difficulty": "mixed"}):
        assert finished(replace(config, **change), path) is None
    whole, manifest = path.read_text(), manifest_path(path).read_text()
    path.write_text(whole[:-1])
    assert finished(config, path) is None
    path.write_text(whole)
    for damaged in (manifest[:-20], "[]", "{}", json.dumps(json.loads(manifest) | {"items": [1] * 7})):
        manifest_path(path).write_text(damaged)
        assert finished(config, path) is None
    manifest_path(path).write_text(manifest)
    assert finished(config, path) == entries


@pytest.mark.parametrize("users", [1, 7])
def test_each_item_has_its_entry_in_the_order_of_the_file(tmp_path, config, users):
    path, config = tmp_path / "data.json", replace(config, num_users=users, target_tokens=3000, noise_rounds=1)
    entries = build(config, path)
    items, scenarios = json.loads(path.read_text()), generate(config)
    manifest = read_manifest(path)
    assert len(items) == users
    assert manifest["items"] == [vars(entry) for entry in entries]
    assert [entry.id for entry in entries] == [item["id"] for item in items]
    assert [entry.sha256 for entry in entries] == [digest(item) for item in items] == [digest(turned(item)) for item in items]
    assert [entry.sessions for entry in entries] == [sum(len(p["sessions"]) for p in item["periods"]) for item in items]
    assert [entry.tokens for entry in entries] == [round(conversation_tokens(scenario)) for scenario in scenarios]


def test_it_says_how_the_data_was_made(tmp_path, config):
    path = tmp_path / "data.json"
    build(replace(config, domains=["food", "work"]), path)
    manifest = read_manifest(path)
    assert (manifest["format"], manifest["data"]) == (1, "data.json")
    settings = manifest["settings"]
    assert settings.pop("language_sha256") == pack_digest("en")
    assert GeneratorConfig(**settings) == replace(config, domains=("food", "work"))
    save(generate(config), path, {"writer": "somebody"})
    assert read_manifest(path)["settings"] == {"writer": "somebody"}


def test_data_of_others_has_none(tmp_path):
    assert read_manifest(tmp_path / "data.json") is None


def test_the_origin_is_about_items_and_not_about_their_number(config):
    origin = origin_of(settings_of(config))
    assert origin_of(settings_of(replace(config, num_users=9))) == origin
    for change in ({"seed": 1}, {"target_tokens": 9}, {"difficulty": {"event": 1.0}}, {"language": "zh"}):
        assert origin_of(settings_of(replace(config, **change))) != origin


def test_a_word_of_the_pack_changes_its_digest(tmp_path):
    folder = tmp_path / "own"
    (folder / "variables").mkdir(parents=True)
    (folder / "talk.yaml").write_text("a: 1\n")
    (folder / "variables" / "food.yaml").write_text("- b\n")
    first = pack_digest(f"{folder}")
    assert pack_digest(f"{folder}") == first
    (folder / "variables" / "food.yaml").write_text("- c\n")
    second = pack_digest(f"{folder}")
    (folder / "variables" / "food.yaml").rename(folder / "variables" / "home.yaml")
    assert len({first, second, pack_digest(f"{folder}"), pack_digest("en"), pack_digest("zh")}) == 5
