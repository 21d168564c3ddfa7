"""TRL's conversational datasets (https://huggingface.co/docs/trl/dataset_formats): rows of role and content.

- ``messages``: one row for each trajectory, ``{"messages": [...]}``. SFTTrainer learns all assistant messages, or every message.
- ``completions``: one row for each message that is to be learned, ``{"prompt": [all before it], "completion": [it]}``. Only this
  form can leave an assistant message (a canned acknowledgement) out of the loss.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from amemgym_train.errors import UserError
from amemgym_train.formats.entries import write_entries
from amemgym_train.formats.records import Trajectory

Form = Literal["messages", "completions"]
FORMS = ("messages", "completions")


def rows(trajectory: Trajectory, form: Form = "messages") -> list[dict[str, Any]]:
    """UserError: a message of the user or the system is to be learned, which TRL's formats cannot say."""
    for place in trajectory.trained:
        if (role := trajectory.messages[place].role) != "assistant":
            raise UserError(
                f"{trajectory.item_id}, message {place + 1}: a message of the {role} has loss true, and TRL learns those of the "
                "assistant; set its loss to null"
            )
    said = [{"role": message.role, "content": message.content} for message in trajectory.messages]
    if form == "messages":
        return [{"messages": said}] if said else []
    return [{"prompt": said[:place], "completion": [said[place]]} for place in trajectory.trained if place]


def write_rows(path: str | Path, rows: Iterable[dict[str, Any]]) -> None:
    """JSON lines or parquet, by the end of ``path``; ``datasets.load_dataset("json" or "parquet", data_files=...)`` loads."""
    path, rows = Path(path), list(rows)
    if path.suffix == ".jsonl":
        return write_entries(path, rows)
    if path.suffix != ".parquet":
        raise UserError(f"{path}: a dataset for TRL ends in .jsonl or .parquet; name such a file")
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    messages = pyarrow.list_(pyarrow.struct({"role": pyarrow.string(), "content": pyarrow.string()}))
    schema = pyarrow.schema(dict.fromkeys(rows[0] if rows else ("messages",), messages))
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), scratch, compression="zstd")
        scratch.replace(path)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
