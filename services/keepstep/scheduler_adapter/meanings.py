"""What the cluster's statuses mean for their jobs, each read by its fold as it is at that moment."""

from keepstep.contracts.events import TaskLost
from keepstep.contracts.ids import JobUid
from keepstep.ports.cluster import TaskStatus
from keepstep.runtime.service import Context
from keepstep.scheduler_adapter.core import JobState
from keepstep.scheduler_adapter.core.losses import Meaning
from keepstep.scheduler_adapter.telling import Tell


class Meanings:
    """What statuses mean for their jobs, each read by its fold as it is at that moment."""

    def __init__(self, context: Context[JobState]) -> None:
        self._context = context
        self._known: dict[JobUid, Meaning] = {}

    async def tell(self, status: TaskStatus, tell: Tell) -> None:
        """Say what one status means; where that was said already, what the status adds to it."""
        state = self._context.folds().get(status.job)
        if state is None:
            self._known.pop(status.job, None)
            return
        known = self._known.get(status.job)
        if known is None or known.state is not state:
            known = self._known[status.job] = Meaning(state)
        words = known.of(status, self._context.clock.now())
        for word in words:
            proof = (after.id for after in words[1:]) if isinstance(word, TaskLost) and word.proven else ()
            if await tell(word, implies=proof):
                return
