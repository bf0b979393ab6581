"""One decision in the making: the fold so far, what is to be said, and why."""

from datetime import datetime
from typing import Any

from keepstep.contracts.ids import consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobSpec
from keepstep.core.decision import Decision
from keepstep.scheduler_adapter.core.making import Ground
from keepstep.scheduler_adapter.core.recovery import Recovery
from keepstep.scheduler_adapter.core.state import JobState


class Turn:
    """Collects the consequences of one message; local to one call of ``decide``."""

    def __init__(
        self,
        state: JobState,
        cause: Message,
        now: datetime,
        supports: frozenset[Level],
        ground: Ground | None = None,
    ) -> None:
        self.state = state
        self.cause = cause
        self.now = now
        self.supports = supports
        self.ground = ground
        self.says: list[Message] = []
        self.reasons: list[str] = []

    @property
    def spec(self) -> JobSpec:
        """The job's specification."""
        return self.state.specified()

    @property
    def recovery(self) -> Recovery:
        """The recovery under way; a programming error when there is none."""
        if self.state.recovery is None:
            raise ValueError("no recovery is under way")
        return self.state.recovery

    def put(self, **changes: object) -> None:
        """Change fields of the fold."""
        self.state = self.state.model_copy(update=changes)

    def recover(self, **changes: object) -> None:
        """Change fields of the recovery under way."""
        self.put(recovery=self.recovery.model_copy(update=changes))

    def task(self, name: str, **changes: object) -> None:
        """Change fields of one current task."""
        self.put(tasks=self.state.tasks | {name: self.state.tasks[name].model_copy(update=changes)})

    def why(self, sentence: str) -> None:
        """Add a sentence to the reason of this decision."""
        self.reasons.append(sentence)

    def say(self, kind: type[Message], *, subject: str = "", attempt: int = 0, **payload: Any) -> None:
        """Say an event; ``subject`` and ``attempt`` tell two of a kind apart.

        During a recovery its cause is the verdict, not the message that happened to come last: whichever answer or
        confirmation completes a step, the same is said.
        """
        recovery = self.state.recovery
        cause = recovery.cause if recovery else self.cause.id
        fields = envelope(
            self.cause,
            time=self.now,
            job=self.state.job,
            task=None,
            node=None,
            generation=self.state.generation,
            incident=recovery.incident if recovery else None,
            cause=cause,
        )
        if "attempt" in kind.model_fields:
            fields["attempt"] = attempt
        identity = consequence_id(kind.__name__, cause, subject=subject, attempt=attempt)
        self.says.append(kind(id=identity, **(fields | payload)))

    def decision(self) -> Decision[JobState]:
        """Return what this turn came to."""
        return Decision(self.state, tuple(self.says), "; ".join(self.reasons))
