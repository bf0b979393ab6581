"""How the pool's pause reaches its jobs: each has a fold of its own, and some come later."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime

from keepstep.contracts.events import JobFreed, JobHeld
from keepstep.contracts.ids import EventId, Pool, derive
from keepstep.contracts.model import Frozen
from keepstep.scheduler_adapter.core.state import JobState, Life


class KeepHeld(Frozen):
    """Keep every job of the pool held, or free again, as people ordered at ``since``."""

    kind: Literal["keep-held"] = "keep-held"
    pool: Pool
    held: bool
    since: AwareDatetime

    @property
    def id(self) -> str:
        """One per order."""
        return f"held/{self.held}/{self.since.isoformat()}"

    @classmethod
    def of(cls, state: JobState) -> "KeepHeld":
        """Return what the pool's own fold wants of its jobs."""
        return cls(pool=state.pool, held=state.paused, since=state.since)

    def news(self, states: Iterable[JobState], now: datetime) -> Iterator[JobHeld | JobFreed]:
        """Yield what the jobs have to be told that do not stand as ordered."""
        kind = JobHeld if self.held else JobFreed
        for state in states:
            if state.job is None or state.life in (Life.ABSENT, Life.ENDED) or state.held is self.held:
                continue
            identity = EventId(derive(kind.__name__, state.job.uid, self.since.isoformat()))
            yield kind(id=identity, time=now, pool=self.pool, job=state.job, generation=state.generation)
