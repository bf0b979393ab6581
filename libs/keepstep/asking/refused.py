"""How it is told that what was asked makes no sense as written."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
BETWEEN = "; "
"""What stands between mistakes where they are told in one line."""


class Refused(Exception):
    """Bad usage; each message names the thing and the remedy. A command exits with 2, the API answers 422."""

    exit_code = 2

    @property
    def mistakes(self) -> tuple[str, ...]:
        """Each mistake for itself."""
        return tuple(map(str, self.args))

    def __str__(self) -> str:
        return BETWEEN.join(self.mistakes)


class Mistakes:
    """What is wrong of something that has several parts, so that a person is told all of it at once."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def of(self, make: Callable[[], T], instead: T) -> T:
        """Return what is made, or ``instead`` where it is refused, which is noted."""
        try:
            return make()
        except Refused as error:
            self.told += error.mistakes
            return instead

    def refuse(self) -> None:
        """Raise Refused with all that was noted, each once; nothing where that is nothing."""
        if self.told:
            raise Refused(*dict.fromkeys(self.told))
