"""``amemgym-train report``: what there is to say about a run, from its folder alone."""

import sys
from pathlib import Path

from amemgym_train.files import write_text
from amemgym_train.report.card import card
from amemgym_train.report.markdown import report as written
from amemgym_train.report.origin import recipe_yaml
from amemgym_train.report.picture import MISSING, save_picture
from amemgym_train.report.record import read_run

MARKDOWN, PICTURE, RECIPE, CARD = "report.md", "report.png", "recipe.yaml", "model_card.md"


def report(run: str, out: str | None = None) -> int:
    """Write the report of ``run``, and the card of its best adapter, into ``out`` (None: its folder ``report``); prints where.

    Returns 1 when files of the run could not be read, of which the report says what it had to leave out, else 0. UserError:
    there is no run.
    """
    record = read_run(run)
    folder = Path(out) if out is not None else record.folder / "report"
    folder.mkdir(parents=True, exist_ok=True)
    pictured = save_picture(record, folder / PICTURE)
    write_text(folder / MARKDOWN, written(record, PICTURE if pictured else None))
    made = [MARKDOWN, *([PICTURE] if pictured else [])]
    if record.config:
        write_text(folder / RECIPE, recipe_yaml(record))
        made.append(RECIPE)
    carded = card(record)
    if carded is not None:
        write_text(folder / CARD, carded)
        made.append(CARD)
    for name in made:
        print(folder / name)
    for told in [*record.problems, *([] if pictured else [MISSING])]:
        print(f"amemgym-train: {told}", file=sys.stderr)
    return 1 if record.problems else 0
