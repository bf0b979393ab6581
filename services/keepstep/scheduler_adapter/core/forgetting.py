"""What becomes of a job that ended: its plan stays for a while, then board and store are rid of it."""

from datetime import timedelta
from typing import Literal

from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef
from keepstep.scheduler_adapter.core.state import JobState

KEPT = timedelta(days=1)
"""A job that ended keeps its last plan this long: an agent that was cut off must find it when it comes back."""
REMOVING = timedelta(hours=1)
"""For taking the plan off the board, outages included, before the job's fold is dropped."""


class RemovePlan(Frozen):
    """Take the plan of a job that ended long ago off the board."""

    kind: Literal["remove"] = "remove"
    job: JobRef

    @property
    def id(self) -> str:
        """One per job."""
        return f"remove/{self.job.uid}"


def over(state: JobState) -> bool:
    """Tell whether the fold may be dropped."""
    return state.forgotten
