"""A job that ended, and what is expected of it."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level, Outcome
from tests.system.record import read_losses

if TYPE_CHECKING:  # a job makes its end, which names it
    from tests.system.job import JobTest

POLL_S = 0.01

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class Ended:
    """A run that is over: its exit code and its record."""

    job: "JobTest"
    code: int
    events: list[Message] = field(repr=False)

    def said(self, kind: type[M]) -> list[M]:
        """Return the recorded events of one type."""
        return [event for event in self.events if isinstance(event, kind)]

    def only(self, kind: type[M]) -> M:
        """Return the one event of a type; fail if there is none or more."""
        found = self.said(kind)
        assert len(found) == 1, f"{len(found)} {kind.__name__}: {found}\n{self.job.told()}"
        return found[0]

    def losses(self) -> dict[int, float]:
        """Return the loss of every step."""
        return read_losses(self.job.folder / "losses.jsonl")

    def expect_succeeded(self) -> Self:
        """The job succeeded and nothing is left running."""
        assert self.code == 0, f"exit code {self.code}\n{self.job.told()}"
        assert self.only(e.JobSucceeded)
        return self.expect_nothing_left()

    def expect_finished(self, *, steps: int, undisturbed: dict[int, float] | None = None) -> Self:
        """The job succeeded, every step has its loss (that of the undisturbed run), nothing is left running."""
        self.expect_succeeded()
        assert sorted(self.losses()) == list(range(1, steps + 1))
        if undisturbed is not None:
            assert self.losses() == {step: undisturbed[step] for step in range(1, steps + 1)}
        return self

    def expect_undisturbed(self) -> Self:
        """Nothing was called a fault and nothing was restarted."""
        for kind in (e.FaultDetected, e.IncidentOpened, e.RecoveryStarted):
            assert not self.said(kind), f"{self.said(kind)}\n{self.job.told()}"
        self.expect_generations(1)
        return self

    def expect_recovered(
        self, category: Category, *levels: Level, rank: int | None = None, task: str | None = None
    ) -> Self:
        """One incident of this category and culprit, and one restart through these levels ended it."""
        closed = self.only(e.IncidentClosed)
        assert closed.incident == self.only(e.IncidentOpened).incident
        assert (closed.outcome, closed.category, closed.levels) == (Outcome.RESUMED, category, levels), closed
        self.expect_culprit(self.said(e.FaultDiagnosed)[-1], rank=rank, task=task)
        assert self.only(e.JobResumed).level is levels[-1]
        self.expect_generations(2)
        return self

    def expect_newest_checkpoint(self) -> int:
        """The plan resumes from the newest checkpoint that was committed when it was chosen; return its step.

        What a rank wrote in the second before it died may not have been found to stand still by then.
        """
        chosen = self.events.index(self.only(e.CheckpointChosen))
        committed = [event.step for event in self.events[:chosen] if isinstance(event, e.CheckpointCommitted)]
        step = self.only(e.RecoveryPlanned).resume_step or 0
        assert step == max(committed, default=0), self.job.told()
        return step

    def expect_culprit(self, diagnosed: e.FaultDiagnosed, *, rank: int | None = None, task: str | None = None) -> None:
        """The verdict blames this rank (None: no single one), and this task if one is named."""
        culprit = diagnosed.verdict.culprit
        assert (culprit.rank if culprit else None) == rank, diagnosed
        if task is not None:
            names = {event.ref.uid: event.ref.name for event in self.said(e.TaskJoined)}
            assert culprit is not None, diagnosed
            assert culprit.task is not None, diagnosed
            assert names[culprit.task] == task, diagnosed

    def expect_generations(self, last: int) -> None:
        """Every restart made one generation from the one before, up to ``last``, which all ranks ran."""
        steps = [(event.from_generation, event.to_generation) for event in self.said(e.RecoveryStarted)]
        assert steps == [(old, old + 1) for old in range(1, last)], f"{steps}\n{self.job.told()}"
        assert {slot.generation for slot in self.job.slots().values()} == {last}

    def expect_nothing_left(self) -> Self:
        """No process of the job lives."""
        end = time.monotonic() + 5
        while self.job.pids() and time.monotonic() < end:
            time.sleep(POLL_S)
        assert self.job.pids() == {}
        return self
