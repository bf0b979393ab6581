"""From what the plan wants and what the launcher has to the one next thing to do (PROTOCOL section 4)."""

from dataclasses import dataclass

from pydantic import Field

from keepstep.contracts.model import Frozen
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Applied, PlanPhase


class Running(Frozen):
    """A rank's process as the launcher knows it."""

    rank: int
    local_rank: int
    pid: int
    generation: int


class Launcher(Frozen):
    """What the launcher has: the newest generation it ever started, the ranks alive, and the last confirmed stop."""

    generation: int = 0
    ranks: tuple[Running, ...] = ()
    stopped: int = -1
    """Every rank of this generation and older is gone or listed as unkillable; -1 before any stop."""
    unkillable: tuple[int, ...] = ()
    warm: int = 0
    refused: int = 0
    """Generation whose start was refused, with the reason."""
    because: str = ""
    warm_used: int = 0


class Memory(Frozen):
    """What this task's agents said of plans, kept over restarts; generations, 0 when none."""

    boots: int = Field(default=0, ge=0)
    stopped: int = 0
    started: int = 0
    refused: int = 0
    ended: int = 0
    fenced: int = 0
    """Generation that the agent stopped by itself because it was cut off."""
    stepped: int = 0
    """Generation whose first step was said."""


@dataclass(frozen=True)
class StopRanks:
    """Have the launcher end every rank of this generation and older."""

    generation: int


@dataclass(frozen=True)
class StartRanks:
    """Have the launcher start this task's ranks."""

    head: PlanHead
    entry: PlanEntry


@dataclass(frozen=True)
class SayApplied:
    """Say PlanApplied."""

    generation: int
    applied: Applied
    because: str = ""


@dataclass(frozen=True)
class EndTask:
    """Have the launcher leave, then leave."""


Action = StopRanks | StartRanks | SayApplied | EndTask


def reconcile(head: PlanHead | None, entry: PlanEntry | None, launcher: Launcher, memory: Memory) -> Action | None:
    """Return the next thing to do, or None when nothing is left; asked again after every change.

    A plan older than what was applied is ignored: a late message of generation 3 never touches generation 4.
    """
    if head is None or head.generation < max(memory.stopped, memory.started, launcher.generation):
        return None
    match head.phase:
        case PlanPhase.STOP:
            return _stop(head, launcher, memory)
        case PlanPhase.RUN:
            return _run(head, entry, launcher, memory)
        case PlanPhase.END:
            return _end(head, launcher, memory)


def applied(memory: Memory, said: SayApplied) -> Memory:
    """Return the memory after ``said`` was said."""
    name = {Applied.STOPPED: "stopped", Applied.STARTED: "started", Applied.REFUSED: "refused", Applied.ENDED: "ended"}
    return memory.model_copy(update={name[said.applied]: said.generation})


def _stop(head: PlanHead, launcher: Launcher, memory: Memory) -> Action | None:
    generation = head.generation
    if generation <= max(memory.stopped, memory.started, launcher.generation):
        return None
    if launcher.stopped < generation - 1:
        return StopRanks(generation - 1)
    return SayApplied(generation, Applied.STOPPED)


def _run(head: PlanHead, entry: PlanEntry | None, launcher: Launcher, memory: Memory) -> Action | None:
    generation = head.generation
    if generation <= max(memory.started, memory.refused):
        return None
    if launcher.generation == generation:
        return SayApplied(generation, Applied.STARTED)
    if launcher.refused == generation:
        return SayApplied(generation, Applied.REFUSED, launcher.because)
    # A fresh launcher of a replaced task may still be busy with the stop of the same plan and would refuse the start.
    if max(launcher.generation, generation - 1) > 0 and launcher.stopped < generation - 1:
        return StopRanks(generation - 1)
    return _start(head, entry)


def _start(head: PlanHead, entry: PlanEntry | None) -> Action | None:
    wanted = head.generation
    if entry is None or entry.generation < wanted:
        return SayApplied(wanted, Applied.REFUSED, f"the plan of generation {wanted} has no ranks for this task")
    # Entries are written before the head: a newer one says that a newer head is on its way.
    return StartRanks(head, entry) if entry.generation == wanted else None


def _end(head: PlanHead, launcher: Launcher, memory: Memory) -> Action:
    if launcher.stopped < head.generation:
        return StopRanks(head.generation)
    if memory.ended < head.generation:
        return SayApplied(head.generation, Applied.ENDED)
    return EndTask()
