"""Facts of an older life of the job (PROTOCOL section 4): what they still matter for, if for anything."""

from typing import assert_never

from keepstep.contracts.events import (
    DeviceEvidence,
    ExitEvidence,
    FaultDetected,
    LogEvidence,
    LossEvidence,
    NodeEvidence,
    SilenceEvidence,
    StallEvidence,
    UnkillableEvidence,
)
from keepstep.diagnoser.core.state import JobFold


def is_stale(fold: JobFold, fault: FaultDetected) -> bool:
    """Tell whether the fault is of ranks that were stopped since, or of a task that is not placed any more.

    What ranks did belongs to their generation; tasks outlive it and are matched by uid, devices and nodes by placement.
    """
    match fault.evidence:
        case ExitEvidence() | StallEvidence() | LogEvidence() | UnkillableEvidence():
            return fault.generation is not None and fault.generation < fold.generation
        case LossEvidence() | SilenceEvidence():
            return bool(fold.tasks) and fault.task is not None and fault.task not in fold.tasks
        case DeviceEvidence() | NodeEvidence():
            return False
        case _:
            assert_never(fault.evidence)


def is_elsewhere(fold: JobFold, fault: FaultDetected) -> bool:
    """Tell whether the job has left the device or node at fault: that is kept from jobs, and restarts nothing."""
    match fault.evidence:
        case DeviceEvidence() | NodeEvidence():
            return bool(fold.tasks) and all(seat.node != fault.node for seat in fold.tasks.values())
        case _:
            return False
