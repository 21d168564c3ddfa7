"""What a command prints, when whoever reads it stops reading (``| head``)."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from functools import wraps

BROKEN_PIPE = 141  # what a shell reports of a program that SIGPIPE ended


def quiet_when_cut(command: Callable[[Namespace], int | None]) -> Callable[[Namespace], int | None]:
    """``command``, ending with BROKEN_PIPE and without a word when its standard output was closed."""

    @wraps(command)
    def run(arguments: Namespace) -> int | None:
        try:
            code = command(arguments)
            sys.stdout.flush()  # here, where it can be caught, and not when the interpreter ends
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in the buffer
            return BROKEN_PIPE
        return code

    return run
