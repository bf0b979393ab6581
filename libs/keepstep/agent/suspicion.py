"""When a rank gives no marks for suspiciously long, and what its stack then shows; asks faulthandler, not ptrace."""

import linecache
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from keepstep.agent.beats import Sighting, Stack, mark_age_s
from keepstep.agent.first_step import NANO
from keepstep.agent.frames import Frame, main_thread, waits
from keepstep.contracts.policy import DetectionPolicy
from keepstep.trainer import stacks
from keepstep.trainer.wire import stack_path

AFTER_S = 5.0
STEPS = 10
"""No mark for ten usual steps, and for no less than five seconds, or than a short limit leaves time for."""
LOOKS = 3
"""Stacks are taken after a third of the shortest limit: asked, read and told to the detector before it is over."""
EVERY_S = 2.0
SILENT_AFTER_S = 60.0
SILENT_EVERY_S = 10.0
"""For ranks that never marked: they may be starting, or be a script that gives no marks at all."""
_DUMP_LIMIT = 1024 * 1024
_ASKABLE = "RSI"
"""A process in any other state cannot run its handler."""

_log = logging.getLogger(__name__)


def patience_s(policy: DetectionPolicy) -> float:
    """Return how many seconds without a mark are not worth a look yet."""
    limits = (policy.hang_limit, policy.outlier_after, *policy.phase_limits.values())
    return min(AFTER_S, min(limits).total_seconds() / LOOKS)


def suspected(seen: Sighting, now: float, after_s: float = AFTER_S) -> bool:
    """Return whether the rank's stack should be looked at; ``now`` is monotonic seconds."""
    if seen.exit is not None or (seen.probe is not None and seen.probe.state not in _ASKABLE):
        return False
    slot = seen.slot
    if slot is None or slot.first_ns == 0:
        return mark_age_s(seen, now) >= SILENT_AFTER_S
    return mark_age_s(seen, now) >= max(after_s, STEPS * slot.step_ns / NANO)


@dataclass(frozen=True)
class Capture:
    """The first stack of a suspicion, worth an EvidenceCaptured; ``marks`` tells suspicions of a rank apart."""

    rank: int
    marks: int
    frames: tuple[Frame, ...]


class Suspicions:
    """Asks suspected ranks for their stacks and reads the answers at the next turn."""

    def __init__(self, task_dir: Path, policy: DetectionPolicy | None = None) -> None:
        self._task_dir = task_dir
        self._after_s = patience_s(policy or DetectionPolicy())
        self._asked: dict[int, float] = {}
        self._unread: set[int] = set()
        self._told: set[tuple[int, int, int]] = set()

    def turn(self, sightings: tuple[Sighting, ...], known: dict[int, Stack], now: float) -> Iterator[Capture]:
        """Read what was asked for, ask again where it is time; keeps ``known`` up to date."""
        for seen in sightings:
            rank = seen.running.rank
            if not suspected(seen, now, self._after_s):
                known.pop(rank, None)
                self._unread.discard(rank)
                continue
            if rank in self._unread:
                self._unread.discard(rank)
                yield from self._read(seen, known)
            marks = seen.slot is not None and seen.slot.first_ns > 0
            if now - self._asked.get(rank, -SILENT_EVERY_S) >= (EVERY_S if marks else SILENT_EVERY_S):
                self._ask(seen, now)

    def _ask(self, seen: Sighting, now: float) -> None:
        rank = seen.running.rank
        self._asked[rank] = now
        pid = seen.probe.pid if seen.probe is not None else seen.running.pid
        try:
            if stacks.ask(pid, stack_path(str(self._task_dir), rank)):
                self._unread.add(rank)
        except OSError as error:
            _log.info("rank=%d pid=%d gives no stack because=%s", rank, pid, error)

    def _read(self, seen: Sighting, known: dict[int, Stack]) -> Iterator[Capture]:
        rank = seen.running.rank
        frames = main_thread(_text(Path(stack_path(str(self._task_dir), rank))))
        if not frames:
            return
        before = known.get(rank)
        if before is None or before.frames != frames:
            known[rank] = Stack(frames=frames, since=self._asked[rank], waiting=waits(frames, _source))
        marks = seen.slot.marks if seen.slot is not None else 0
        key = (seen.running.generation, rank, marks)
        if key not in self._told:
            self._told = {each for each in self._told if each[:2] != key[:2]} | {key}
            yield Capture(rank=rank, marks=marks, frames=frames)


def _source(frame: Frame) -> str:
    linecache.checkcache(frame.file)
    return linecache.getline(frame.file, frame.line)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _DUMP_LIMIT))
            return file.read(_DUMP_LIMIT).decode(errors="replace")
    except FileNotFoundError:
        return ""
