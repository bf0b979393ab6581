"""Which of the detector's folds are of jobs.

Each report of a node asks for them. In a flood those were 20,000 reports, each of which looked through the folds of
10,000 nodes; the keys of jobs are few, and all pass by as they are heard.
"""

from collections.abc import Callable, Iterator, Mapping

from keepstep.contracts.message import Message
from keepstep.detector.core.state import Fold, JobFold

HEARD = 10_000
"""Keys that are remembered until their folds are there: more than messages that a service has not answered yet."""


class Roll:
    """The folds of jobs of one activation: those that it began with, and those whose messages it was given since."""

    def __init__(self, folds: Callable[[], Mapping[str, Fold]], fold_key: Callable[[Message], str | None]) -> None:
        self._folds, self._fold_key = folds, fold_key
        self._known: set[str] | None = None
        self._heard: dict[str, None] = {}
        """Keys of messages about jobs, the newest last; the fold of a new one is there a moment later."""

    def key_of(self, message: Message) -> str | None:
        """Return the fold of a message, as the stage says, and note which it is where it may be a job's."""
        key = self._fold_key(message)
        if key is not None and message.job is not None:
            self._heard.pop(key, None)
            self._heard[key] = None
            if len(self._heard) > HEARD:
                del self._heard[next(iter(self._heard))]
        return key

    def jobs(self) -> Iterator[JobFold]:
        """Yield the folds of all jobs as they are now."""
        folds = self._folds()
        maybe = folds.keys() if self._known is None else self._known | self._heard.keys()
        self._known = {key for key in maybe if key in folds and isinstance(folds[key].of, JobFold)}
        self._heard = {key: None for key in self._heard if key not in folds}
        for key in self._known:
            if isinstance(job := folds[key].of, JobFold):
                yield job
