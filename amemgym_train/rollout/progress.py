"""Progress of a rollout: a bar where a person watches, one line at the end elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Progress:
    """What a rollout counts: steps played and episodes finished."""

    def __init__(self) -> None:
        self.steps = 0
        self.episodes = 0

    def step(self) -> None:
        self.steps += 1

    def finish(self) -> None:
        self.episodes += 1


@contextmanager
def progress(label: str | None, total: int) -> Iterator[Progress]:
    """Show the progress of ``total`` episodes on standard error under ``label``; nothing is shown where it is None."""
    if label is None:
        yield Progress()
    elif sys.stderr.isatty():
        with _bar(label, total) as shown:
            yield shown
    else:
        start, counted = time.monotonic(), Progress()
        yield counted
        seconds = time.monotonic() - start
        print(f"{label}: {counted.episodes} of {total} episodes, {counted.steps} steps in {seconds:.1f} s", file=sys.stderr)


@contextmanager
def _bar(label: str, total: int) -> Iterator[Progress]:
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("{task.fields[steps]} steps"),
        rich_progress.TimeElapsedColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, steps=0)

        class Shown(Progress):
            def step(self) -> None:
                super().step()
                bar.update(task, steps=self.steps)

            def finish(self) -> None:
                super().finish()
                bar.advance(task)

        yield Shown()


@contextmanager
def counted(label: str, total: int | None, noun: str) -> Iterator[Callable[[int], None]]:
    """A function that takes how many of ``total`` (None: unknown) are done; a bar where a person watches, else nothing."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn(noun),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)
