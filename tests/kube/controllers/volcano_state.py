"""The phases of a Volcano job: what each makes of an action, and when it goes over into another.

Rules from volcano pkg/controllers/job/state/*.go; that a running job falls back to Pending while a replacement waits
is seen in the traces.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from ..server.objects import Obj
from .volcano_request import TARGETED, Action


class Phase(StrEnum):
    """The phases."""

    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


_ENDS = {
    Phase.ABORTING: Phase.ABORTED,
    Phase.COMPLETING: Phase.COMPLETED,
    Phase.TERMINATING: Phase.TERMINATED,
}

Turn = Callable[[Obj, Obj], Phase | None]
"""Given the job's spec and the fresh counts: the next phase, None to stay."""


class Pass(StrEnum):
    """The three things that a state can do."""

    SYNC = "make missing pods"
    KILL = "kill all pods"
    KILL_TARGET = "kill the named pods"


@dataclass(frozen=True)
class Plan:
    """One pass: over which pods, keeping ended ones or not, a retry spent or not, then which phase."""

    what: Pass
    turn: Turn
    keep_ended: bool = False
    retry: bool = False


def plan(phase: Phase, action: Action) -> Plan:
    """Return what the phase does on the action."""
    match phase:
        case Phase.PENDING | Phase.RUNNING:
            return _plan_live(phase, action)
        case Phase.RESTARTING:
            return Plan(Pass.KILL if action is Action.RESTART else Pass.SYNC, _after_restart)
        case Phase.ABORTING | Phase.ABORTED if action is Action.RESUME:
            return Plan(Pass.KILL, _to(Phase.RESTARTING), retry=True)
        case Phase.ABORTING | Phase.COMPLETING | Phase.TERMINATING:
            return Plan(Pass.KILL, _once_empty(_ENDS[phase]), keep_ended=True)
        case Phase.ABORTED | Phase.COMPLETED | Phase.TERMINATED | Phase.FAILED:
            return Plan(Pass.KILL, _stay, keep_ended=True)
        case _:
            assert_never(phase)


def _plan_live(phase: Phase, action: Action) -> Plan:
    if action is Action.RESTART:
        return Plan(Pass.KILL, _to(Phase.RESTARTING), retry=True)
    if action in TARGETED:
        return Plan(Pass.KILL_TARGET, _to(Phase.RESTARTING), retry=True)
    ends = {
        Action.ABORT: Phase.ABORTING,
        Action.COMPLETE: Phase.COMPLETING,
        Action.TERMINATE: Phase.TERMINATING,
    }
    if action in ends:
        return Plan(Pass.KILL, _to(ends[action]), keep_ended=True)
    return Plan(Pass.SYNC, _from_pending if phase is Phase.PENDING else _from_running)


def _to(phase: Phase) -> Turn:
    return lambda _spec, _status: phase


def _stay(_spec: Obj, _status: Obj) -> None:
    return None


def _once_empty(phase: Phase) -> Turn:
    def turn(_spec: Obj, status: Obj) -> Phase | None:
        return None if any(status.get(key) for key in ("terminating", "pending", "running")) else phase

    return turn


def _from_pending(spec: Obj, status: Obj) -> Phase | None:
    return Phase.RUNNING if _begun(status) >= spec["minAvailable"] else None


def _from_running(spec: Obj, status: Obj) -> Phase | None:
    total = sum(task["replicas"] for task in spec["tasks"])
    done, failed = status.get("succeeded", 0), status.get("failed", 0)
    if total and done + failed == total:
        enough = done >= spec.get("minSuccess", spec["minAvailable"])
        return Phase.COMPLETED if enough else Phase.FAILED
    if status.get("pending") and _begun(status) < spec["minAvailable"]:
        return Phase.PENDING
    return None


def _after_restart(spec: Obj, status: Obj) -> Phase | None:
    if status.get("retryCount", 0) >= spec["maxRetry"]:
        return Phase.FAILED
    total = sum(task["replicas"] for task in spec["tasks"])
    return Phase.PENDING if total - status.get("terminating", 0) >= spec["minAvailable"] else None


def _begun(status: Obj) -> int:
    return sum(status.get(key, 0) for key in ("running", "succeeded", "failed"))
