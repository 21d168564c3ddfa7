"""Processes that end together: those that a run starts do not outlive it, and say why they failed."""

import ctypes
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError
from amemgym_train.files import write_json

ERRORS = "AMEMGYM_TRAIN_ERRORS"  # environment variable: the folder where a rank says why it failed
PR_SET_PDEATHSIG = 1


def dies_with_parent(number: int = signal.SIGKILL) -> None:
    """Have the system send ``number`` to this process when the one that started it ends, however it does (on Linux)."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(number))
    if os.getppid() != parent:  # it ended before it could be watched
        os.kill(os.getpid(), number)


def guarded(work: Callable[[], None]) -> int:
    """The exit code of a rank that does ``work``; what goes wrong is told on standard error, and to whoever launched it."""
    try:
        work()
    except UserError as error:
        _tell(str(error), mendable=True)
        print(f"amemgym-train: {error}", file=sys.stderr, flush=True)
        return 2
    except Exception as error:
        _tell(f"{type(error).__name__}: {error}", mendable=False)
        traceback.print_exc()
        return 1
    return 0


def _tell(message: str, mendable: bool) -> None:
    folder, rank = os.environ.get(ERRORS), int(os.environ.get("RANK", 0))
    if folder:
        about = {"rank": rank, "host": socket.gethostname(), "pid": os.getpid(), "time": time.time()}
        write_json(Path(folder, f"rank-{rank:03d}.json"), about | {"message": message, "mendable": mendable})


def failures(folder: Path) -> list[dict[str, Any]]:
    """What ranks said about their failures, the first one first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("rank-*.json")]
    return sorted(found, key=lambda one: one["time"])
