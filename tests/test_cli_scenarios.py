"""``generate`` and ``validate`` as a user types them."""

import json
import os
import subprocess
import sys

import pytest

from amemgym_envs.amemgym.dataset import read_manifest
from amemgym_envs.amemgym.generator import GeneratorConfig, generate, preset
from amemgym_envs.amemgym.generator.filling import conversation_tokens
from amemgym_envs.amemgym.scenario import load_scenarios
from amemgym_train import cli
from amemgym_train.config.scenarios import ROLES, ScenarioConfig

SMALL = ["num_users=3", "num_variables=4", "num_questions=3", "num_periods=2", "num_changes_per_period=2"]


@pytest.fixture
def amemgym(capsys, monkeypatch):
    """Runs one command line; (exit code, standard output, standard error). Tables are as wide as they need."""
    monkeypatch.setenv("COLUMNS", "300")

    def run(*words):
        code = cli.main(list(map(str, words)))
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def data(tmp_path, amemgym):
    path = tmp_path / "data.json"
    assert amemgym("generate", *SMALL, "--out", path)[0] == 0
    return path


def spoil(path, edit):
    items = json.loads(path.read_text())
    edit(items)
    path.write_text(json.dumps(items))
    return items


@pytest.mark.parametrize("name", ["tiny", "quickstart", "base"])
def test_a_preset_gives_its_users(tmp_path, amemgym, name):
    out = tmp_path / "data.json"
    code, shown, _ = amemgym("generate", "--preset", name, "--out", out, "--users", 2, "--seed", 5)
    users = generate(GeneratorConfig(**preset(name) | {"num_users": 2, "seed": 5}))
    assert code == 0 and load_scenarios(out) == users
    tokens = sum(map(conversation_tokens, users)) / 2
    assert shown == f"{out}: 2 users, about {tokens:,.0f} tokens of conversation each; data.manifest.json has their hashes\n"
    assert read_manifest(out)["settings"]["seed"] == 5


def test_without_anything_the_defaults_of_a_recipe_hold(tmp_path, amemgym):
    assert amemgym("generate", "--out", tmp_path / "data.json")[0] == 0
    assert load_scenarios(tmp_path / "data.json") == ScenarioConfig(**ROLES["train"]).build()


def test_an_override_without_a_dot_is_a_key_of_the_generator(tmp_path, amemgym):
    out = tmp_path / "data.json"
    code, _, _ = amemgym("generate", "noise_rounds=2", "--out", out, *SMALL, "difficulty={direct: 1, event: 1}", "seed=3")
    assert code == 0
    settings = {"noise_rounds": 2, "difficulty": {"direct": 1, "event": 1}, "seed": 3} | dict(
        (key, int(value)) for key, _, value in (word.partition("=") for word in SMALL)
    )
    assert load_scenarios(out) == ScenarioConfig(**ROLES["train"] | settings).build()


def test_keys_of_the_public_generator_have_their_own_names(tmp_path, amemgym):
    out = tmp_path / "data.json"
    words = ["num_user_profiles=2", "min_state_variants=3", "num_rounds_init=2", "num_rounds_update=3", "lang=zh"]
    assert amemgym("generate", *words, "--out", out)[0] == 0
    users = load_scenarios(out)
    assert len(users) == 2 and {len(q.answer_choices) for user in users for q in user.questions} == {3}
    assert {(u.language, u.origin["rounds_init"], u.origin["rounds_update"]) for u in users} == {("zh", 2, 3)}


def test_flags_and_overrides_mean_the_same(tmp_path, amemgym):
    flags = ["--users", 2, "--seed", 4, "--offset", 7, "--variables", 4, "--periods", 1, "--questions", 3, "--changes", 1]
    flags += ["--lang", "zh", "--difficulty", "mixed", "--tokens", 2000]
    words = ["num_users=2", "seed=4", "user_offset=7", "num_variables=4", "num_periods=1", "num_questions=3"]
    words += ["num_changes_per_period=1", "language=zh", "difficulty=mixed", "target_tokens=2000"]
    assert amemgym("generate", *flags, "--out", tmp_path / "flags.json")[0] == 0
    assert amemgym("generate", *words, "--out", tmp_path / "words.json")[0] == 0
    assert (tmp_path / "flags.json").read_bytes() == (tmp_path / "words.json").read_bytes()


def test_a_recipe_says_what_its_splits_are(tmp_path, amemgym):
    recipe, out = tmp_path / "recipe.yaml", tmp_path / "data.json"
    recipe.write_text("name: x\nscenarios: {test: {preset: tiny, seed: 9}}\n")
    assert amemgym("generate", recipe, "--split", "test", "--out", out, "num_users=3", "scenarios.test.num_questions=4")[0] == 0
    expected = ScenarioConfig(**ROLES["test"], preset="tiny", seed=9, num_users=3, num_questions=4)
    assert load_scenarios(out) == expected.build()


@pytest.mark.parametrize("disjoint", ["variables", "personas"])
def test_all_splits_go_into_a_folder_that_validates(tmp_path, amemgym, disjoint):
    out = tmp_path / "splits"
    code, shown, _ = amemgym("generate", "--split", "all", "--out", out, "--preset", "tiny", f"disjoint={disjoint}")
    assert code == 0 and [line.split(":")[0] for line in shown.splitlines()] == [str(out / f"{role}.json") for role in ROLES]
    assert {path.name for path in out.iterdir()} == {f"{role}{end}" for role in ROLES for end in (".json", ".manifest.json")}
    for role, defaults in ROLES.items():
        expected = ScenarioConfig(**defaults, preset="tiny", disjoint=disjoint)
        assert load_scenarios(out / f"{role}.json") == expected.build()
    code, shown, _ = amemgym("validate", out)
    assert code == 0 and shown.count(": valid") == 4 and "NOT VALID" not in shown
    assert "not checked" not in shown


def test_any_number_of_processes_writes_the_same_file(tmp_path, amemgym):
    for workers in (1, 2):
        assert amemgym("generate", *SMALL, "--workers", workers, "--out", tmp_path / f"{workers}.json.gz")[0] == 0
    assert (tmp_path / "1.json.gz").read_bytes() == (tmp_path / "2.json.gz").read_bytes()


def test_an_interrupted_generation_goes_on(tmp_path, amemgym, monkeypatch, data):
    module, out = sys.modules["amemgym_envs.amemgym.dataset.build"], tmp_path / "out" / "data.json"
    real, asked = module.generate_user, []

    def interrupted(config, user):
        asked.append(user)
        if asked == [0, 1]:
            raise KeyboardInterrupt
        return real(config, user)

    monkeypatch.setattr(module, "generate_user", interrupted)
    code, _, errors = amemgym("generate", *SMALL, "--out", out)
    assert code == 130 and not out.exists()
    again = f"run again: amemgym-train generate {' '.join(SMALL)} --out {out}"
    assert f"interrupted; finished users are kept. To go on, {again}" in errors
    assert amemgym("generate", *SMALL, "--out", out)[0] == 0
    assert asked == [0, 1, 1, 2]
    assert out.read_bytes() == data.read_bytes()


def test_valid_data_has_its_figures_shown(data, amemgym):
    code, shown, errors = amemgym("validate", data)
    assert code == 0 and errors == ""
    assert f"{data}: valid" in shown and "violations" not in shown
    rows = {cells[1].strip(): cells[2].strip() for cells in (line.split("│") for line in shown.splitlines()) if len(cells) == 4}
    assert rows["items"] == "3" and rows["random answers"] == "0.250"
    tokens = sum(map(conversation_tokens, load_scenarios(data))) / 3
    assert rows["tokens per user (estimated from bytes)"] == f"{round(tokens):,}"


def test_violations_end_with_1_and_a_table_of_places(data, amemgym):
    items = spoil(data, lambda items: items[1]["periods"][2]["update_cnts"].clear())
    data.with_name("data.manifest.json").unlink()
    code, shown, _ = amemgym("validate", data)
    assert code == 1
    lines = [line.strip() for line in shown.splitlines()]
    assert f"{data}: NOT VALID" in lines and "1 violation" in lines
    [line] = [line for line in lines if items[1]["id"] in line]
    cells = [cell.strip() for cell in line.split("│")[1:-1]]
    assert cells[:3] == [items[1]["id"], "2", "periods[2].update_cnts"] and "got {}, expected" in cells[3]
    assert "not checked, or missing: no data.manifest.json: item hashes are not checked" in shown


def test_what_data_says_is_shown_as_it_is(data, amemgym):
    """Square brackets are markup to the printer of tables."""

    def edit(items):
        items[0]["id"] = "[/red] a [bold]name"
        items[0]["start_time"] = "[/blue]"

    spoil(data, edit)
    code, shown, _ = amemgym("validate", data)
    assert code == 1 and "│ [/red] a [bold]name │" in shown and "got '[/blue]', expected a date" in shown


def test_many_violations_are_counted_and_all_of_them_are_in_the_json(data, amemgym):
    def edit(items):
        for item in items:
            for question in item["qas"]:
                for choice in question["answer_choices"]:
                    choice["answer"] = "Do what you like."

    items = spoil(data, edit)
    code, shown, _ = amemgym("validate", data, "--json")
    [report] = json.loads(shown)
    count = len(report["violations"])
    assert code == 1 and count > 40
    assert {fault["item"] for fault in report["violations"]} == {item["id"] for item in items}
    code, shown, _ = amemgym("validate", data)
    assert f"{count} violations" in shown and f"{count - 40} more: --json shows all" in shown


def test_json_has_the_reports_of_all_files(tmp_path, amemgym):
    amemgym("generate", "--split", "all", "--out", tmp_path / "splits", "--preset", "tiny")
    code, shown, _ = amemgym("validate", tmp_path / "splits", "--json")
    reports = json.loads(shown)
    assert code == 0 and len(reports) == 4 and all(report["valid"] and report["violations"] == [] for report in reports)
    assert [report["figures"].get("items") for report in reports] == [2, 2, 2, None]


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory):
    """A tokenizer that knows letters only, saved as a model's folder has it."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tokenizer")
    backend = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>").save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return folder


def test_tokens_are_counted_by_a_tokenizer_that_is_named(data, amemgym, tokenizer_folder):
    code, shown, _ = amemgym("validate", data, "--tokenizer", tokenizer_folder, "--json")
    [report] = json.loads(shown)
    lengths = [conversation_tokens(user, len) for user in load_scenarios(data)]  # a character is a token here
    assert code == 0 and report["figures"]["longest user"] == round(max(lengths))
    assert report["figures"]["tokens per user"] == round(sum(lengths) / 3)
    assert f"tokens per user ({tokenizer_folder})" in amemgym("validate", data, "--tokenizer", tokenizer_folder)[1]


WRONG = [  # words of generate, what the message says
    (["--preset", "bass"], "preset is 'bass', expected one of tiny, quickstart, base, extra"),
    (["num_userz=3"], "did you mean"),
    (["num_users=many"], "num_users"),
    (["--users", "0"], "num_users"),
    (["lang=zh", "language=zh"], "lang and language are the same setting: remove one"),
    (["--lang", "xx"], "language is 'xx', expected one of en, zh"),
    (["--difficulty", "hard"], "difficulty"),
    (["contradictions=2"], "contradictions"),
    (["--variables", "500"], "num_variables: got 500, expected at most"),
    (["num_choices=2", "num_variables=3", "num_questions=3"], "no life found with 2 changes in each of 3 periods"),
    (["--personas", "absent.jsonl"], "personas: absent.jsonl is no file that ends in .parquet or .jsonl; check the path"),
    (["absent.yaml"], "absent.yaml"),
    (["a.yaml", "b.yaml"], "generate takes one recipe, got a.yaml, b.yaml"),
    (["--model", "some-model"], "--model some-model needs --base-url"),
]


@pytest.mark.parametrize(("words", "message"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_mistake_is_told_before_anything_is_written(tmp_path, amemgym, words, message):
    code, shown, errors = amemgym("generate", *words, "--out", tmp_path / "out" / "data.json")
    assert code == 2 and shown == ""
    assert errors.startswith("amemgym-train: ") and message in errors
    assert not (tmp_path / "out" / "data.json").exists()


def test_places_that_cannot_be_written_are_told(tmp_path, amemgym):
    code, _, errors = amemgym("generate", *SMALL, "--out", tmp_path)
    assert code == 2 and f"{tmp_path}: no regular file, so it is not replaced; choose another path" in errors
    code, _, errors = amemgym("generate", *SMALL, "--split", "all", "--out", tmp_path / "data.json")
    assert code == 2 and "--split all writes a folder with a file per split, and " in errors and "name a folder" in errors
    (tmp_path / "file").write_text("")
    code, _, errors = amemgym("generate", *SMALL, "--out", tmp_path / "file" / "data.json")
    assert code == 2 and f"{tmp_path / 'file' / 'data.json'}: cannot be written" in errors


@pytest.mark.parametrize("words", [["--workers", "0"], ["--users", "two"], ["--split", "dev"], ["--sed", "1"]], ids=" ".join)
def test_flags_that_are_none_are_refused(tmp_path, words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["generate", "--out", str(tmp_path / "data.json"), *words])
    assert stop.value.code == 2 and "error: " in capsys.readouterr().err


def test_what_cannot_be_validated_is_told(tmp_path, amemgym, data):
    missing = tmp_path / "missing.json"
    code, _, errors = amemgym("validate", missing)
    assert code == 2 and f"{missing}: no such file or folder; amemgym-train generate --out {missing} writes one" in errors
    (tmp_path / "folder").mkdir()
    code, _, errors = amemgym("validate", tmp_path / "folder")
    assert code == 2 and "no .json or .json.gz in it" in errors
    torn = tmp_path / "torn.json"
    torn.write_text(data.read_text()[:-30])
    code, _, errors = amemgym("validate", torn)
    assert code == 2 and "torn.json: invalid JSON at line" in errors and "may be truncated" in errors
    code, _, errors = amemgym("validate", data, "--tokenizer", tmp_path / "folder")
    assert code == 2 and "holds no config.json" in errors
    (tmp_path / "folder" / "config.json").write_text("{}")
    code, _, errors = amemgym("validate", data, "--tokenizer", tmp_path / "folder")
    assert code == 2 and f"--tokenizer {tmp_path / 'folder'}: cannot be loaded (" in errors
    code, _, errors = amemgym("validate", data, "--model", "some-model")
    assert code == 2 and "--model some-model needs --base-url" in errors


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_a_finished_file_is_left_alone_and_another_is_said_to_be_replaced(tmp_path, amemgym, data):
    before = times(tmp_path)
    code, shown, errors = amemgym("generate", *SMALL, "--out", data)
    assert (code, shown, errors) == (0, f"{data}: already there, with the 3 users that these settings give\n", "")
    assert times(tmp_path) == before
    code, shown, errors = amemgym("generate", *SMALL, "seed=1", "--out", data)
    assert code == 0 and "3 users, about" in shown and f"{data}: the file that stood there is replaced" in errors
    assert times(tmp_path)["data.json"] != before["data.json"]


def test_of_all_splits_only_what_is_missing_is_written(tmp_path, amemgym):
    words = ["generate", "--split", "all", "--out", tmp_path, "--preset", "tiny"]
    assert amemgym(*words)[0] == 0
    before = times(tmp_path)
    (tmp_path / "validation.json").write_text("[]")
    code, shown, _ = amemgym(*words)
    assert code == 0 and [line.split(":")[1].split(",")[0] for line in shown.splitlines()] == [
        " already there",
        " 2 users",
        " already there",
    ]
    assert {name for name, time in times(tmp_path).items() if time != before[name]} == {
        "validation.json",
        "validation.manifest.json",
    }
    assert amemgym("validate", tmp_path)[0] == 0


def test_a_part_of_other_settings_is_said_to_be_discarded(tmp_path, amemgym):
    from amemgym_envs.amemgym.dataset import build

    class Stop(Exception):
        pass

    def stop(done):
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        build(GeneratorConfig(num_users=3, num_variables=4, num_questions=3), tmp_path / "data.json", advance=stop)
    code, _, errors = amemgym("generate", *SMALL, "--out", tmp_path / "data.json")
    assert code == 0 and "an unfinished part of other settings or words is discarded, users in it: 2" in errors


@pytest.mark.parametrize(("choices", "told"), [(4, False), (5, True), (3, True)])
def test_choices_that_are_no_full_grid_are_told(tmp_path, amemgym, choices, told):
    words = ["num_users=2", "num_changes_per_period=1", "num_periods=1", f"num_choices={choices}"]
    code, _, errors = amemgym("generate", *words, "--out", tmp_path / "data.json")
    assert (
        code == 0
        and (f"num_choices {choices} is no full grid of the values of 2 variables, which leaves a hint" in errors) is told
    )


def test_a_recipe_is_asked_for_its_users_only(tmp_path, amemgym):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("name: x\npolicy: {model: ./nowhere}\nscenarios: {train: {preset: tiny}}\n")
    assert amemgym("generate", recipe, "--out", tmp_path / "data.json")[0] == 0
    assert load_scenarios(tmp_path / "data.json") == ScenarioConfig(**ROLES["train"], preset="tiny").build()


@pytest.mark.parametrize(
    "words", [["generate", *SMALL, "--out", "new.json"], ["validate", "data.json", "--json"]], ids=lambda w: w[0]
)
def test_a_reader_who_stops_reading_ends_the_command_quietly(tmp_path, data, words):
    read, write = os.pipe()
    os.close(read)
    code = "import sys; from amemgym_train.cli import main; sys.exit(main())"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, *words], stdout=write, stderr=subprocess.PIPE, cwd=tmp_path, env=env, text=True
        )
    finally:
        os.close(write)
    assert done.returncode in (0, 141)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
    assert (tmp_path / words[-1]).exists() or words[0] == "validate"
