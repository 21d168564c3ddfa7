"""Episodes on disk: one parquet file, one row per episode, readable with ``datasets.load_dataset("parquet", ...)``.

Dicts whose keys are open (meta, probed states, agent states) are kept as JSON text; everything else has its own typed column.
"""

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym_train.errors import UserError
from amemgym_train.rollout.records import Answer, Episode, Memory, Probe, Turn

if TYPE_CHECKING:
    import pyarrow

PROBED = ("expected", "response", "write_period")  # the open dicts of a probe
ENTRY = {"label", "value", "timestamp"}


def save_episodes(path: str | Path, episodes: Sequence[Episode]) -> None:
    """Write ``episodes`` to ``path``, whole or not at all. UserError: the file cannot be written (a full disk, no permission)."""
    import pyarrow
    import pyarrow.parquet

    path = Path(path)
    table = pyarrow.Table.from_pylist([_to_row(episode) for episode in episodes], schema=_schema())
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(table, scratch, compression="zstd")
        scratch.replace(path)
    except OSError as error:
        raise UserError(
            f"could not write {len(episodes)} episodes to {path}: {error}. Free some space or choose another output folder, "
            "then run the same command again"
        ) from error
    finally:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            scratch.unlink(missing_ok=True)


def load_episodes(path: str | Path) -> list[Episode]:
    """The episodes of one file, as they were saved. UserError: the file is absent, cut off, or holds something else."""
    import pyarrow
    import pyarrow.parquet

    try:
        with open(path, "rb") as file:
            # not read_table, whose threads may still hold the file when the process ends, which then aborts
            table = pyarrow.parquet.ParquetFile(file).read(use_threads=False)
    except FileNotFoundError as error:
        raise UserError(f"there is no file of episodes at {path}; play some first") from error
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"{path} is no complete parquet file ({error}); delete it and play its episodes again") from error
    expected = _schema()
    if not table.schema.equals(expected):
        wrong = [field.name for field in expected if field not in table.schema]
        raise UserError(
            f"{path} does not hold episodes of this version: its columns are {', '.join(table.schema.names)}; "
            f"absent or of another type: {', '.join(wrong) or 'none, but there are more'}. Play its episodes again"
        )
    try:
        return [_from_row(row) for row in table.to_pylist()]
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is damaged ({error}); delete it and play its episodes again") from error


def _schema() -> "pyarrow.Schema":
    import pyarrow as pa

    ids, text = pa.list_(pa.int64()), pa.string()
    turn = {
        "prompt_ids": ids,
        "completion_ids": ids,
        "logprobs": pa.list_(pa.float64()),
        **dict.fromkeys(("text", "finish_reason", "operation", "slot", "meta"), text),
    }
    answer = dict.fromkeys(("period", "question", "choices", "golden", "response", "turn"), pa.int64()) | {"agrees": text}
    probe = {"period": pa.int64(), "question": pa.int64(), **dict.fromkeys(PROBED, text), "turn": pa.int64()}
    memory = {
        "turn": pa.int64(),
        "period": pa.int64(),
        "entries": pa.list_(pa.struct({"label": text, "value": text, "timestamp": text})),
    }
    return pa.schema(
        {
            "environment": text,
            "task": text,
            "seed": pa.int64(),
            "group": text,
            "turns": pa.list_(pa.struct(turn)),
            "rewards": pa.list_(pa.float64()),
            "score": pa.float64(),
            "success": pa.bool_(),
            "answers": pa.list_(pa.struct(answer)),
            "probes": pa.list_(pa.struct(probe)),
            "memories": pa.list_(pa.struct(memory)),
            "states": pa.list_(text),
            "error": text,
        }
    )


def _to_row(episode: Episode) -> dict[str, Any]:
    for memory in episode.memories:
        for entry in memory.entries:
            if set(entry) != ENTRY:
                raise ValueError(f"episode {episode.id}: a memory entry {entry}; expected the keys {', '.join(sorted(ENTRY))}")
    return {
        **vars(episode),
        "turns": [{**vars(turn), "meta": json.dumps(turn.meta)} for turn in episode.turns],
        "answers": [{**vars(answer), "agrees": json.dumps(answer.agrees)} for answer in episode.answers],
        "probes": [{**vars(probe), **{key: json.dumps(getattr(probe, key)) for key in PROBED}} for probe in episode.probes],
        "memories": [vars(memory) for memory in episode.memories],
        "states": [json.dumps(state) for state in episode.states],
    }


def _from_row(row: dict[str, Any]) -> Episode:
    records = {
        "turns": [Turn(**{**turn, "meta": json.loads(turn["meta"])}) for turn in row["turns"]],
        "answers": [Answer(**{**answer, "agrees": json.loads(answer["agrees"])}) for answer in row["answers"]],
        "probes": [Probe(**{**probe, **{key: json.loads(probe[key]) for key in PROBED}}) for probe in row["probes"]],
        "memories": [Memory(**memory) for memory in row["memories"]],
        "states": [json.loads(state) for state in row["states"]],
    }
    return Episode(**{**row, **records})
