"""The error model of the toolkit.

Two kinds of failure are told apart everywhere:

- ``UserError``: something a person can mend (a bad recipe key, a broken data file, a full disk). The command line prints
  its message alone, without a traceback, and exits with code 2.
- ``Unscorable``: infrastructure broke while an episode was being played. The episode is kept with its error and takes no
  part in any score; it never counts as reward 0.

Anything else is a bug in the toolkit and keeps its traceback.
"""


class UserError(Exception):
    """A mistake the user can mend; the message says what, where, got versus expected, and what to run next."""


class Unscorable(Exception):
    """An episode that infrastructure ended; recorded on the episode as its error."""
