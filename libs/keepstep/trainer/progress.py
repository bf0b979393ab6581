"""The progress page: one small mmap'd file per task, one slot per local rank.

A mark is a handful of aligned 8-byte stores into memory: no lock, no system call, no blocking. The rank writes its
own slot and nothing else; the agent reads all of them. The page outlives the rank, so the last step is known after a
crash. Layout: native 64-bit signed words; a header of 8 words, then SLOT_WORDS per local rank, then SAVE_WORDS per
local rank, which pages of older versions lack.
"""

import enum
import math
import mmap
import os
import struct
import time
from typing import NamedTuple, Optional, Tuple

MAGIC = 0x4B53_5452_4550_0001
HEADER_WORDS = 8
SLOT_WORDS = 32

# Words of a slot.
PID, GENERATION, STEP, PHASE, MARK_NS, PHASE_NS, MARKS, FLAGS = range(8)
FIRST_NS, INIT_NS, LOAD_NS, START_NS, INJECT, INJECT_ARG, RESUME_STEP, PREVIOUS_NS = range(8, 16)
INTERVALS = 16
"""First of 16 words that keep the last 16 step durations in nanoseconds, newest at MARKS % 16."""
INTERVAL_WORDS = 16
SAVES = 16
"""Saves remembered of a rank, the newest: a checkpoint of many files may be as many calls."""
SAVE_WORDS = 2 * SAVES
"""Of each save when it began and when it ended."""

FLAG_ESTIMATED = 1
"""The step was counted by the hook, not said by the script."""
FLAG_TORCH = 2
"""The rank has imported torch."""
FLAG_LOSS = 4
"""The upper half of the word is the loss of the last step that had one, as a float of 32 bits."""
LOWER = 0xFFFF_FFFF


class Phase(str, enum.Enum):
    """What a rank is doing; the same words as the contracts'."""

    STARTING = "starting"
    INIT = "init"
    LOAD = "load"
    COMPILE = "compile"
    STEP = "step"
    EVALUATION = "evaluation"
    CHECKPOINT = "checkpoint"


PHASES = tuple(Phase)
"""By index in the PHASE word, which pages of other versions share: the order is for ever."""

INJECT_NOTHING, INJECT_EXCEPTION, INJECT_SLOW, INJECT_LOG = range(4)
NO_STEP = -1


class Slot(NamedTuple):
    """A copy of one rank's slot; instants are nanoseconds of the monotonic clock, 0 when never.

    ``init_ns`` and ``load_ns`` are the ends of the last process-group set-up and checkpoint load before the first step.
    """

    pid: int
    generation: int
    step: int
    phase: Phase
    mark_ns: int
    phase_ns: int
    marks: int
    estimated: bool
    first_ns: int
    init_ns: int
    load_ns: int
    start_ns: int
    resume_step: int
    uses_torch: bool
    """The rank has imported torch."""
    step_ns: int
    """Median of the last step durations; 0 when there are fewer than two."""
    loss: Optional[float] = None
    """What the script told with its last step, which may be no number; None where it told nothing."""


class Save(NamedTuple):
    """When a rank began to save a checkpoint, or a part of one, and when that ended; nanoseconds of its clock."""

    began_ns: int
    ended_ns: int


def with_loss(flags: int, loss: float) -> int:
    """Return the FLAGS word with a loss; one that 32 bits cannot hold is infinite."""
    try:
        packed = struct.pack("<f", loss)
    except OverflowError:
        packed = struct.pack("<f", math.inf)
    return int.from_bytes(struct.pack("<I", (flags & LOWER) | FLAG_LOSS) + packed, "little", signed=True)


def loss_in(flags: int) -> Optional[float]:
    """Return the loss in a FLAGS word, None where there is none."""
    if not flags & FLAG_LOSS:
        return None
    found: float = struct.unpack("<f", flags.to_bytes(8, "little", signed=True)[4:])[0]
    return found


class Page:
    """The mapped page; make it once with ``create``, then any process opens it."""

    def __init__(self, path: str) -> None:
        """Map an existing page; raises OSError if it is missing and ValueError if it is not a page."""
        descriptor = os.open(path, os.O_RDWR)
        try:
            self._inode = os.fstat(descriptor).st_ino
            self._map = mmap.mmap(descriptor, 0)
        finally:
            os.close(descriptor)
        self._path = path
        self._words = memoryview(self._map)[: len(self._map) // 8 * 8].cast("q")
        if len(self._words) < HEADER_WORDS or self._words[0] != MAGIC:
            self.close()
            raise ValueError("%s is not a progress page of this version" % path)
        # A garbled page may promise more slots than it has.
        self.slots = min(max(self._words[1], 0), (len(self._words) - HEADER_WORDS) // SLOT_WORDS)

    @classmethod
    def create(cls, path: str, slots: int) -> "Page":
        """Open the page that is there with this many slots, or put a new one in the place of whatever is there."""
        try:
            page = cls(path)
        except (FileNotFoundError, ValueError):
            pass
        else:
            if page.slots == slots:
                return page
            page.close()
        draft = "%s.%d" % (path, os.getpid())
        with open(draft, "wb") as file:
            words = memoryview(bytearray(8 * (HEADER_WORDS + slots * (SLOT_WORDS + SAVE_WORDS)))).cast("q")
            words[0], words[1] = MAGIC, slots
            file.write(words)
        os.replace(draft, path)
        return cls(path)

    @property
    def whole(self) -> bool:
        """Whether the file is still the one that is mapped, and as long: touching what was cut off ends the process."""
        try:
            found = os.stat(self._path)
        except OSError:
            return False
        return found.st_ino == self._inode and found.st_size >= len(self._map)

    def words(self, slot: int) -> memoryview:
        """Return the writable words of one slot."""
        if not 0 <= slot < self.slots:
            raise IndexError("slot %d of %d" % (slot, self.slots))
        start = HEADER_WORDS + slot * SLOT_WORDS
        return self._words[start : start + SLOT_WORDS]

    def read(self, slot: int) -> Slot:
        """Return a copy of a slot."""
        words = self.words(slot)
        steps = sorted(value for value in words[INTERVALS : INTERVALS + INTERVAL_WORDS] if value > 0)
        phase = words[PHASE]
        return Slot(
            pid=words[PID],
            generation=words[GENERATION],
            step=words[STEP],
            phase=PHASES[phase] if 0 <= phase < len(PHASES) else Phase.STARTING,
            mark_ns=words[MARK_NS],
            phase_ns=words[PHASE_NS],
            marks=words[MARKS],
            estimated=bool(words[FLAGS] & FLAG_ESTIMATED),
            first_ns=words[FIRST_NS],
            init_ns=words[INIT_NS],
            load_ns=words[LOAD_NS],
            start_ns=words[START_NS],
            resume_step=words[RESUME_STEP],
            uses_torch=bool(words[FLAGS] & FLAG_TORCH),
            step_ns=steps[len(steps) // 2] if len(steps) > 1 else 0,
            loss=loss_in(words[FLAGS]),
        )

    def save_words(self, slot: int) -> memoryview:
        """Return the writable words of one slot's saves; none in a page of an older version."""
        start = HEADER_WORDS + self.slots * SLOT_WORDS + slot * SAVE_WORDS
        words = self._words[start : start + SAVE_WORDS]
        return words if len(words) == SAVE_WORDS else words[:0]

    def saves(self, slot: int) -> Tuple[Save, ...]:
        """Return the last saves of a rank in no order; one that is just being noted is left out."""
        words = self.save_words(slot)
        ends_first = ((words[at + 1], words[at]) for at in range(0, len(words), 2))
        return tuple(Save(began, ended) for ended, began in ends_first if 0 < began <= ended)

    def begin(self, slot: int, pid: int, generation: int, resume_step: int) -> memoryview:
        """Reset a slot for a new life of its rank and return its words."""
        words, saves = self.words(slot), self.save_words(slot)
        now = time.monotonic_ns()
        for index in range(SLOT_WORDS):
            words[index] = 0
        for index in range(len(saves)):
            saves[index] = 0
        words[STEP] = resume_step
        words[RESUME_STEP] = resume_step
        words[START_NS] = words[MARK_NS] = words[PHASE_NS] = now
        words[PID] = pid
        words[GENERATION] = generation
        return words

    def close(self) -> None:
        """Unmap; slots handed out before must not be used afterwards."""
        self._words.release()
        try:
            self._map.close()
        except BufferError:
            return
