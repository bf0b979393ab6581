"""One rank as its agent sees it now, put together from page, process, exit and stack."""

import math
from dataclasses import dataclass

from keepstep.agent.first_step import NANO
from keepstep.agent.frames import Frame
from keepstep.agent.probes import Probe
from keepstep.agent.reconcile import Running
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import Exit, RankBeat
from keepstep.trainer.progress import NO_STEP, Slot


@dataclass(frozen=True)
class Stack:
    """A rank's innermost frames, since when (monotonic seconds) they are the same, and whether they wait for others."""

    frames: tuple[Frame, ...]
    since: float
    waiting: bool | None = None


@dataclass(frozen=True)
class Sighting:
    """Everything known of one rank; ``slot`` is None while the page shows an older life of it."""

    running: Running
    first_seen: float
    slot: Slot | None = None
    probe: Probe | None = None
    exit: Exit | None = None
    stack: Stack | None = None


def mark_age_s(seen: Sighting, now: float) -> float:
    """Return seconds since the rank's last mark of any kind, or since it was first seen."""
    if seen.slot is None:
        return now - seen.first_seen
    return max(0.0, now - max(seen.slot.mark_ns, seen.slot.phase_ns) / NANO)


def step_of(slot: Slot) -> int | None:
    """Return the last completed step this life of the rank made itself, None before its first."""
    return slot.step if slot.first_ns and slot.step != NO_STEP else None


def last_step(slot: Slot | None) -> int | None:
    """Return the last completed step known of the rank: its own, else the one it resumed from."""
    return slot.step if slot is not None and slot.step != NO_STEP else None


def phase_of(slot: Slot | None) -> Phase:
    """Return what the rank says it is doing."""
    return Phase(slot.phase) if slot is not None else Phase.STARTING


def beat(seen: Sighting, now: float) -> RankBeat:
    """Return the rank's line in the heartbeat; ``now`` is monotonic seconds."""
    slot, probe, stack = seen.slot, seen.probe, seen.stack
    return RankBeat(
        rank=seen.running.rank,
        pid=seen.running.pid,
        exit=seen.exit,
        state=probe.state if probe else "R",
        step=step_of(slot) if slot else None,
        estimated=slot.estimated if slot else False,
        uses_torch=slot.uses_torch if slot else False,
        phase=phase_of(slot),
        mark_age_s=mark_age_s(seen, now),
        idle_s=probe.idle_s() if probe else 0.0,
        step_s=slot.step_ns / NANO if slot and slot.step_ns else None,
        stack=tuple(str(frame) for frame in stack.frames) if stack else (),
        stack_still_s=now - stack.since if stack else 0.0,
        waiting=stack.waiting if stack else None,
        loss=slot.loss if slot and slot.loss is not None and math.isfinite(slot.loss) else None,
    )
