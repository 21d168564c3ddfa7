"""What docs/environments.md shows runs as it stands."""

import re
from pathlib import Path

from amemgym_envs.check import check, plan
from amemgym_envs.registry import CLASSES, class_of
from amemgym_train.config.load import load_recipe

DOCS = Path(__file__).parent.parent / "docs"
TEXT = (DOCS / "environments.md").read_text(encoding="utf-8")
PLAYING, ADDING = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_example_of_playing_plays(capsys):
    exec(compile(PLAYING, "environments.md", "exec"), {})  # our own page
    assert capsys.readouterr().out.startswith("1.0 True ")


def test_the_example_environment_is_green_and_short(tmp_path, monkeypatch):
    (tmp_path / "hotter.py").write_text(ADDING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = list(check(plan("hotter:Hotter", seeds=2, seconds=0.01)))
    assert {result.name: result.message for result in found if result.level != "green"} == {}
    assert len([line for line in ADDING.splitlines() if line.strip()]) <= 32


def test_the_section_of_a_recipe_holds(tmp_path):
    [section] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "recipe.yaml").write_text(f"name: example\n{section}", encoding="utf-8")
    recipe = load_recipe(tmp_path / "recipe.yaml")
    assert [len(recipe.tasks.goals(role)) for role in ("train", "validation", "test")] == [32, 24, 48]
    assert recipe.agent.name == "react" and recipe.credit.scheme == "outcome"


def rows(heading):
    """{environment: its other cells} of the table below ``heading``."""
    section = TEXT[TEXT.index(heading) :].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:])}


def test_the_tables_are_of_registered_environments_as_their_cards_say():
    cards = {name.rpartition("-v")[0]: class_of(name).card for name in CLASSES}
    listed, measured = rows("## What there is"), rows("## Measured")
    assert set(listed) == set(measured) == set(cards)
    for name in set(listed) - {"AMemGym"}:
        assert listed[name][1] == str(cards[name].step_cap), name
        assert measured[name][0] == " / ".join(f"{count:,}" for count in cards[name].splits.values()), name


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", TEXT):
        assert not target or (DOCS / target).exists(), target
