"""AgentEval (https://huggingface.co/datasets/AgentGym/AgentEval): an evaluation's tasks, ``[{"item_id": "webshop_12"}, ...]``."""

from collections.abc import Iterable
from pathlib import Path

from amemgym_train.formats.entries import read_entries, text_of, write_entries
from amemgym_train.formats.items import parse_item


def read_item_ids(path: str | Path) -> list[str]:
    """The item ids of a list, in order; other keys (older lists have ``"conversations": null``) are passed over.
    UserError names file and entry."""
    return [text_of(where, entry, "item_id") for where, entry in read_entries(path)]


def write_item_ids(path: str | Path, item_ids: Iterable[str], indent: int | None = None) -> None:
    """Each id once, in order. UserError: an id has no number, and whoever reads the list looks for one."""
    once = list(dict.fromkeys(item_ids))
    for item_id in once:
        parse_item(item_id)
    write_entries(path, [{"item_id": item_id} for item_id in once], indent)
