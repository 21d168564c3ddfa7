"""The error model of the toolkit.

Two kinds of failure are told apart everywhere:

- ``UserError``: something a person can mend (a bad recipe key, a broken data file, a full disk). The command line prints
  its message alone, without a traceback, and exits with code 2.
- ``Unscorable``: infrastructure broke while an episode was being played. The episode is kept with its error and takes no
  part in any score; it never counts as reward 0.

Anything else is a bug in the toolkit and keeps its traceback.
"""

import errno
import os

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a full disk, a quota that is used up, a limit on the size of files


class UserError(Exception):
    """A mistake the user can mend; the message says what, where, got versus expected, and what to run next."""


class Unscorable(Exception):
    """An episode that infrastructure ended; recorded on the episode as its error."""


def out_of_room(error: BaseException | None) -> bool:
    """Whether ``error``, or what caused it, says that there was no room to write a file.

    Libraries written in Rust or C++ raise errors of their own, which carry the system's message as text.
    """
    while error is not None:
        if getattr(error, "errno", None) in NO_ROOM or any(os.strerror(number) in str(error) for number in NO_ROOM):
            return True
        error = error.__cause__
    return False
