"""The local metrics file of a run: one JSON object per line, whole after any kill, without a step twice."""

import json
import math
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from amemgym_train.errors import UserError

OWN_KEYS = ("stage", "step", "time")


class MetricsFile:
    """Appends ``{"stage", "step", "time" (Unix seconds), **metrics}`` lines to ``path``; numbers that are not finite become null.

    A stage that was killed and runs again logs its steps again. When it does, the lines that an earlier process wrote for this
    stage from that step on are dropped: the file then reads like that of a run that was never disturbed. Lines of one process
    are only ever added. One process at a time may have the file open.
    ``earlier`` maps each stage to the last step that the file held when it was opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before = _mend(path)  # what earlier processes wrote and this one has not replaced
        self.earlier = {line["stage"]: line["step"] for line in sorted(self._before, key=lambda line: line["step"])}
        self._file = path.open("a", encoding="utf-8")

    def append(self, metrics: dict[str, Any], step: int, stage: str) -> None:
        """Writes one line and waits until it is on disk. Raises ValueError for a metric named as in OWN_KEYS."""
        own = sorted(set(metrics) & set(OWN_KEYS))
        if own:
            raise ValueError(f"metrics {', '.join(own)} at {stage} step {step}: these names are the file's own")
        line = {"stage": stage, "step": step, "time": round(time.time(), 3)}
        line |= {key: plain(value) for key, value in metrics.items()}
        text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
        if any(_again(old, stage, step) for old in self._before):
            self._drop(stage, step)
        self._file.write(text)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _drop(self, stage: str, step: int) -> None:
        """Rewrites the file without the earlier processes' lines of ``stage`` from ``step`` on."""
        self._file.close()
        lines = read_metrics(self.path)
        kept = [line for line in self._before if not _again(line, stage, step)]
        _replace(self.path, kept + lines[len(self._before) :])
        self._before = kept
        self._file = self.path.open("a", encoding="utf-8")


def _again(line: dict[str, Any], stage: str, step: int) -> bool:
    return line["stage"] == stage and line["step"] >= step


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file in the order they were logged. Raises UserError for a line that is not one of ours."""
    return [_parse(path, number, line) for number, line in enumerate(path.read_bytes().splitlines(), start=1)]


def _mend(path: Path) -> list[dict[str, Any]]:
    """The lines of the file, after cutting off a last one that a kill left unfinished. An absent file has none."""
    if not path.exists():
        return []
    written = path.read_bytes()
    whole = written[: written.rfind(b"\n") + 1]
    if len(whole) < len(written):
        os.truncate(path, len(whole))
    return read_metrics(path)


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:  # broken JSON and broken UTF-8
        raise UserError(f"{path}:{number}: no metrics line ({error}); remove that line and run again") from error
    if not isinstance(value, dict) or not isinstance(value.get("stage"), str) or not isinstance(value.get("step"), int):
        raise UserError(f"{path}:{number}: a metrics line has stage and step; remove that line and run again")
    return value


def _replace(path: Path, lines: list[dict[str, Any]]) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value  # numpy and torch scalars
    return None if isinstance(value, float) and not math.isfinite(value) else value
