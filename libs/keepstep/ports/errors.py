"""The errors that adapters raise and runtime understands.

KeepstepError
|-- Transient            try again after ``retry_after``
|   |-- Conflict         someone else wrote first: load again
|   `-- NoRoom           nothing to place on now; says why
`-- Permanent            never works as it is; goes to the dead letters with its reason
    |-- Fenced           a successor holds the lease: step down
    `-- LevelRefused     the job's own rules, or what came of it, rule a recovery level out
"""

from datetime import timedelta


class KeepstepError(Exception):
    """Base of every error that keepstep raises on purpose; the message names the thing and the remedy.

    ``code`` is what the other side answered, in its own numbers; empty where it answered none.
    """

    code = ""


class Transient(KeepstepError):
    """May work later."""

    def __init__(self, message: str, *, retry_after: timedelta = timedelta(seconds=0.2), code: str = "") -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.code = code


class Conflict(Transient):
    """A compare-and-set lost: the value changed since it was loaded."""


class NoRoom(Transient):
    """No node can take the tasks now; the message says what is missing."""


class Permanent(KeepstepError):
    """Will not work however often it is tried."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Fenced(Permanent):
    """A successor took the lease; this instance must stop writing."""


class LevelRefused(Permanent):
    """A restart cannot be had at this level; the message says why and what would help."""
