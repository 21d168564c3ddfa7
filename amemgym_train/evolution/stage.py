"""One stage of a run, performed by the processes of ``accelerate launch`` (see ``launcher``).

accelerate launch --module amemgym_train.evolution.stage RUN FOLDER STAGE
"""

import sys
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError
from amemgym_train.evolution.folder import stored
from amemgym_train.evolution.loop import Evolution
from amemgym_train.evolution.manifest import Stages, Work
from amemgym_train.evolution.processes import dies_with_parent, guarded


class Finished(Exception):
    """The stage that was asked for is done; what follows is for others."""


def perform(run: str, folder: str, name: str) -> None:
    """Stage ``name`` in ``folder`` of the run in ``run``. UserError: another one comes before it."""

    def start(book: Stages, stage: str, inputs: dict[str, Any], work: Work) -> None:
        if (str(book.folder), stage) != (folder, name):
            raise UserError(
                f"{book.label}: stage {stage} comes before {name} in {folder}, and was finished when that was started: a file of "
                "the run has been changed or removed. Run the same command again"
            )
        book.perform(stage, inputs, work)
        raise Finished

    try:
        Evolution(stored(Path(run)), start, leads=False).run()
    except Finished:
        return
    raise UserError(f"{run}: stage {name} in {folder} is finished already. Run the same command again")


def main(arguments: list[str]) -> int:
    dies_with_parent()
    return guarded(lambda: perform(*arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
