"""What docs/scenarios.md shows is true to the letter."""

import re
import shutil
from pathlib import Path

import pytest

from amemgym_envs.amemgym.languages import FOLDER
from amemgym_train import cli
from amemgym_train.config.environments import shares
from amemgym_train.config.load import load_recipe
from amemgym_train.config.scenarios import ROLES, ScenarioConfig

DOCS = (Path(__file__).parent.parent / "docs" / "scenarios.md").read_text(encoding="utf-8")


def test_the_example_domain_passes_validate_as_it_stands(tmp_path, capsys):
    [_, domain] = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)
    pack = Path(shutil.copytree(FOLDER / "en", tmp_path / "en"))
    (pack / "variables" / "office.yaml").write_text(domain, encoding="utf-8")
    talk, put = re.subn(
        r"^domains: \[", "domains: [office, ", (pack / "talk.yaml").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    (pack / "talk.yaml").write_text(talk, encoding="utf-8")
    assert put == 1 and len(domain.splitlines()) < 30
    assert cli.main(["validate", str(pack)]) == 0
    before = len(
        re.findall("^- name: ", "".join(p.read_text(encoding="utf-8") for p in FOLDER.glob("en/variables/*")), re.MULTILINE)
    )
    assert capsys.readouterr().out == f"{pack}: {before + 1} variables, 0 problems\n"


def rows(*columns):
    """The lines of the table that has these columns: {first cell: other cells}."""
    heading = "| " + " | ".join(columns) + " |\n"
    table = DOCS[DOCS.index(heading) + len(heading) :].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[1:]]
    return {first: rest for first, *rest in cells}


def test_the_defaults_of_the_table_are_those_of_a_recipe():
    config, seen = ScenarioConfig(), set()
    for keys, (default, *_) in rows("key", "without a preset", "`base` / `extra`", "meaning").items():
        names = re.findall(r"`(\w+)`", keys)
        seen.update(names)
        if default not in ("by role", "none", "all"):
            values = [getattr(config, name) for name in names]
            values = [1 if value is None else value for value in values]  # rounds, where neither recipe nor data says them
            told = default.replace("`", "").split(", ")
            assert [value if isinstance(value, str) else f"{value:g}" for value in values] == told * (len(values) // len(told)), (
                names
            )
    assert seen == set(ScenarioConfig.model_fields) - {"data", "users"}


@pytest.mark.parametrize("role", ROLES)
def test_the_table_of_roles_is_what_they_set(role):
    split, phrasings, offset = rows("role", "`split`", "`phrasings`", "`user_offset`")[f"`{role}`"]
    told = {"split": split.strip("`"), "phrasings": phrasings.strip("`"), "user_offset": int(offset.replace(",", ""))}
    assert told == ROLES[role]


def test_the_example_of_several_environments_is_a_recipe(tmp_path):
    [environments, _] = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)
    path = tmp_path / "recipe.yaml"
    path.write_text(f"name: example\nagent: {{local_length: 0}}\n{environments}", encoding="utf-8")
    assert shares(load_recipe(path), 1) == {"short": 16, "long": 32}
