"""``launcher: accelerate``: each stage that computes is a launch of its own.

The process that the user started walks through the loop, keeps the book and computes nothing. For a stage that is not finished it
runs ``accelerate launch``, whose processes walk through the same loop up to that stage (``evolution.stage``), perform it, and
end. With several machines one such process runs on each, and they meet in the launches.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import yaml

from amemgym_train.config.evolution import LaunchConfig
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution.manifest import Stages, Work, entries_of
from amemgym_train.evolution.processes import ERRORS, dies_with_parent, failures

HERE = ("gate", "diagnose")  # stages that read and compare, which the first machine's process does itself
TAIL = 25  # lines of a log that are shown when a stage fails
VISIBLE_S = 120  # how long a shared disk may take to show on one machine what was written on another
PATIENCE_S = 3600  # how long another machine waits for the first one's own stages
KILLED = re.compile(r"rank\s*: (\d+) .*\n\s*exitcode\s*: (-\d+) \(pid: (\d+)\)")  # in torch's report, after "Root Cause"


class Stopped(KeyboardInterrupt):
    """The user, or a cluster's scheduler, asked the run to end by ``signal``."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {signal.Signals(number).name}")
        self.signal = number


class Launcher:
    """Starts the stages of ``recipe`` on this ``machine`` (0: the first). ``lock``: of the run folder, which a launch holds,
    too, as long as it lives."""

    def __init__(self, recipe: Recipe, machine: int = 0, lock: TextIO | None = None) -> None:
        self.recipe, self.machine, self.lock = recipe, machine, lock

    def start(self, book: Stages, name: str, inputs: dict[str, Any], work: Work) -> None:
        """See ``Stages``. UserError: a process of the stage failed; it says which, why, and where the log is."""
        if name not in HERE:
            self._launch(book, name)
            self._await(book, name, inputs, VISIBLE_S)
        elif self.machine == 0:
            book.perform(name, inputs, work)
        else:
            self._await(book, name, inputs, PATIENCE_S)

    def _launch(self, book: Stages, name: str) -> None:
        log = self._log(book, name)
        print(f"{book.label}: {name} (log: {log})", flush=True)
        errors = log.with_suffix(".errors")
        shutil.rmtree(errors, ignore_errors=True)
        errors.mkdir(parents=True)
        with log.open("ab") as file:
            words = command(self.recipe, self.machine, str(self.recipe.run_dir), str(book.folder), name)
            file.write(f"\n$ {' '.join(words)}\n".encode())
            file.flush()
            process = subprocess.Popen(
                words,
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=os.environ | {ERRORS: str(errors)} | ({"ACCELERATE_USE_CPU": "true"} if on_cpu(self.recipe) else {}),
                pass_fds=[] if self.lock is None else [self.lock.fileno()],
                start_new_session=True,  # a Ctrl-C comes here, and is passed on once
                preexec_fn=partial(dies_with_parent, signal.SIGTERM),
            )
        code = _waited(process, self.recipe.evolution.launch.grace_s)
        if code:
            raise UserError(f"{book.label}: stage {name} failed. {_cause(errors, log, code)}")
        shutil.rmtree(errors)

    def _log(self, book: Stages, name: str) -> Path:
        of_machine = f".machine-{self.machine}" if self.machine else ""
        folder = self.recipe.run_dir / "logs"
        folder.mkdir(exist_ok=True)
        return folder / f"{book.folder.name}-{name}{of_machine}.log"

    def _await(self, book: Stages, name: str, inputs: dict[str, Any], seconds: float) -> None:
        """Return when the manifest shows the stage. UserError: it does not for so long."""
        deadline = time.monotonic() + seconds
        while entries_of(book.path).get(name, {}).get("inputs") != inputs:
            if time.monotonic() > deadline:
                raise UserError(
                    f"{book.label}: stage {name} is not in {book.path} after {seconds:.0f} s. Every machine needs the same run "
                    "folder, the same recipe, and evolve started on all of them; see the logs of the others"
                )
            time.sleep(0.2)


def command(recipe: Recipe, machine: int, *words: str) -> list[str]:
    """The launch that performs a stage on ``machine``."""
    launch = recipe.evolution.launch
    options = ["--config_file", launch.file] if launch.file else []
    options += ["--main_process_port", str(launch.port or 0)]
    options += ["--machine_rank", str(machine)] if machine else []
    start = [sys.executable, "-m", "accelerate.commands.launch", *options, *launch.arguments]
    return [*start, "--module", "amemgym_train.evolution.stage", *words]


def launch_file(launch: LaunchConfig) -> dict[str, Any]:
    """What the launch file says. UserError: it is not there, or no launch file."""
    if launch.file is None:
        return {}
    try:
        found = yaml.safe_load(Path(launch.file).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        problem = f"cannot be read ({error})"
        raise UserError(f"evolution.launch.file: {launch.file} {problem}; name one as in accelerate_configs") from error
    if not isinstance(found, dict) or "distributed_type" not in found:
        raise UserError(f"evolution.launch.file: {launch.file} is no launch file; name one as in accelerate_configs")
    return found


def on_cpu(recipe: Recipe) -> bool:
    """Whether the launch file asks for the CPU, which accelerate does not tell all the processes that it starts."""
    return bool(launch_file(recipe.evolution.launch).get("use_cpu"))


def _waited(process: subprocess.Popen, grace_s: float) -> int:
    """The exit code of a launch. On SIGINT or SIGTERM it is passed on, and ``Stopped`` is raised once all processes are gone."""
    with _asked_to_stop() as asked:
        while process.poll() is None:
            if asked:
                _end(process, asked[0], grace_s)
                raise Stopped(asked[0])
            time.sleep(0.05)
    if asked:
        raise Stopped(asked[0])
    return process.returncode


@contextmanager
def _asked_to_stop() -> Iterator[list[int]]:
    """The signals that came meanwhile."""
    asked: list[int] = []
    before = {one: signal.signal(one, lambda number, frame: asked.append(number)) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen, number: int, grace_s: float) -> None:
    os.killpg(process.pid, number)
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _cause(errors: Path, log: Path, code: int) -> str:
    """Which rank failed first and why, in its own words where it had any, else in those of the launch."""
    told = failures(errors)
    text = log.read_text(encoding="utf-8", errors="replace")
    killed = KILLED.search(text, text.rfind("Root Cause")) if "Root Cause" in text else None
    if killed:
        rank, number, pid = killed[1], -int(killed[2]), killed[3]
        name = signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"
        why = f"Rank {rank} (pid {pid}) was killed by {name}, as the system does when memory runs out (dmesg says)"
    elif told and told[0]["mendable"]:
        return f"{told[0]['message']}\nLog: {log}"
    elif told:
        why = f"Rank {told[0]['rank']} (pid {told[0]['pid']} on {told[0]['host']}) raised {told[0]['message']}"
    else:
        why = f"accelerate launch ended with exit code {code}"
    tail = "".join(f"  | {line}\n" for line in deque(text.splitlines(), TAIL))
    return f"{why}. The end of {log}:\n{tail}All finished stages are kept: mend it and run the same command again"
