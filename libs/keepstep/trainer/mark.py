"""Marking a step: a few stores into the rank's slot of the progress page, written by the process that trains."""

from __future__ import annotations

import errno
import itertools
import os
import time

from keepstep.trainer import progress
from keepstep.trainer.progress import (
    FIRST_NS,
    FLAG_ESTIMATED,
    FLAG_TORCH,
    FLAGS,
    INIT_NS,
    INJECT,
    INJECT_ARG,
    INJECT_EXCEPTION,
    INJECT_LOG,
    INJECT_NOTHING,
    INJECT_SLOW,
    INTERVAL_WORDS,
    INTERVALS,
    LOAD_NS,
    MARK_NS,
    MARKS,
    PHASE,
    PHASE_NS,
    PHASES,
    PID,
    PREVIOUS_NS,
    STEP,
    Phase,
    with_loss,
)

STEPPING = PHASES.index(Phase.STEP)
NOWHERE = memoryview(b"")
INJECTED_LINE = "inject.txt"
"""In the task directory: the line that an injected log fault prints; without it, ``Loss nan``."""
FULL_DISK = "disk-full-%s.txt"
"""In the task directory, of one rank: until when its saves find no space, in nanoseconds of the monotonic clock.

Not in the progress page, whose slot begins anew with every life of the rank: a full disk outlives a restart.
"""


class InjectedFaultError(RuntimeError):
    """Raised by a mark because someone ordered this fault."""


class Marker:
    """Writes one slot. The clock is the monotonic one, in nanoseconds."""

    def __init__(
        self, words: memoryview, faults: bool = False, directory: str = ".", saves: memoryview = NOWHERE
    ) -> None:
        """``saves``: where begin and end of each save are kept."""
        self._words = words
        self._saves = saves
        self._places = itertools.cycle(range(0, len(saves), 2))
        self.saving = 0
        """Since when this rank is saving; 0 while it is not."""
        self._faults = faults
        self._directory = directory
        self._previous = 0
        self._marks = 0
        self.told = False
        """The script says its steps itself; the hook only shows life from then on."""
        os.register_at_fork(after_in_child=self._let_go)

    def _let_go(self) -> None:
        """A forked child (a data loader) is not the rank: its marks go nowhere."""
        self._words = memoryview(bytearray(8 * progress.SLOT_WORDS)).cast("q")
        self._places = itertools.cycle(())
        self._faults = False

    def step(self, number: int) -> None:
        """Say that step ``number`` is complete."""
        now = time.monotonic_ns()
        words = self._words
        marks = self._marks = self._marks + 1
        if self._previous:
            words[INTERVALS + marks % INTERVAL_WORDS] = now - self._previous
        else:
            words[PID] = os.getpid()
        self._previous = now
        words[STEP] = number
        words[MARK_NS] = words[PREVIOUS_NS] = now
        words[MARKS] = marks
        if words[PHASE] != STEPPING:
            words[PHASE] = STEPPING
            words[PHASE_NS] = now
        if marks == 1:
            words[FIRST_NS] = now
        if self._faults and words[INJECT]:
            self._obey()

    def tell(self, number: int, loss: float | None = None) -> None:
        """Say a step on the script's authority, with its loss where the script has it at hand."""
        if not self.told:
            self.told = True
            self._words[FLAGS] &= ~FLAG_ESTIMATED
        if loss is not None:
            self._words[FLAGS] = with_loss(self._words[FLAGS], float(loss))
        self.step(number)

    def count(self, number: int) -> None:
        """Say a step that the hook counted; only a sign of life where the script says its own."""
        if self.told:
            self._words[MARK_NS] = time.monotonic_ns()
            return
        if not self._marks:
            self._words[FLAGS] |= FLAG_ESTIMATED
        self.step(number)

    def touch(self) -> None:
        """Show life without completing a step."""
        self._words[MARK_NS] = time.monotonic_ns()

    @property
    def stepped(self) -> bool:
        """Whether this life of the rank has completed a step."""
        return self._marks > 0

    @property
    def phase(self) -> Phase:
        """The phase that the slot shows now."""
        return PHASES[self._words[PHASE]]

    def uses_torch(self) -> None:
        """Say that torch was imported here: this process is the one whose stacks matter."""
        self._words[PID] = os.getpid()
        self._words[FLAGS] |= FLAG_TORCH

    def enter(self, phase: Phase) -> Phase:
        """Begin a phase and return the one before.

        A save on a disk that was filled on purpose raises what the kernel says of a full one.
        """
        if self._faults and phase is Phase.CHECKPOINT:
            self._find_space()
        words = self._words
        before = PHASES[words[PHASE]]
        words[PHASE] = PHASES.index(phase)
        now = words[PHASE_NS] = words[MARK_NS] = time.monotonic_ns()
        if phase is Phase.CHECKPOINT and not self.saving:
            self.saving = now
        return before

    def leave(self, before: Phase) -> None:
        """End a phase and go back to the one before.

        Kept are begin and end of every save, and before the first step the end of init and load.
        """
        words = self._words
        over = PHASES[words[PHASE]]
        self.enter(before)
        if before is not Phase.CHECKPOINT:
            began, self.saving = self.saving, 0
            if began and over is Phase.CHECKPOINT:
                self.saved(began)
        if not self._marks and over is Phase.INIT:
            words[INIT_NS] = words[PHASE_NS]
        elif not self._marks and over is Phase.LOAD:
            words[LOAD_NS] = words[PHASE_NS]

    def saved(self, began_ns: int) -> None:
        """Say that what began to be saved then is saved; from whichever thread saw the end of it."""
        place = next(self._places, None)
        if place is None:
            return
        self._saves[place + 1] = 0  # so that nobody reads the new begin with the old end
        self._saves[place] = began_ns
        self._saves[place + 1] = time.monotonic_ns()

    def _obey(self) -> None:
        words = self._words
        kind = words[INJECT]
        if kind == INJECT_SLOW:
            time.sleep(words[INJECT_ARG] / 1000)
            return
        words[INJECT] = INJECT_NOTHING
        if kind == INJECT_EXCEPTION:
            raise InjectedFaultError("fault injected at step %d" % words[STEP])
        if kind == INJECT_LOG:
            print(self._line(), flush=True)  # noqa: T201 - printing is the fault

    def _find_space(self) -> None:
        """Raise OSError (ENOSPC) as long as somebody ordered that this rank's saves find no space."""
        path = os.path.join(self._directory, FULL_DISK % os.environ.get("RANK", "0"))
        try:
            with open(path, encoding="ascii") as file:
                until = int(file.read())
        except (OSError, ValueError):
            return
        if time.monotonic_ns() < until:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "the checkpoint (fault injected)")

    def _line(self) -> str:
        try:
            with open(os.path.join(self._directory, INJECTED_LINE), encoding="utf-8") as file:
                return file.read().rstrip("\n")
        except OSError:
            return "Loss nan"


def attach() -> Marker | None:
    """Return the marker of this rank; None outside keepstep or in a process of an older generation."""
    directory = os.environ.get("KEEPSTEP_TASK_DIR")
    slot = os.environ.get("LOCAL_RANK", "")
    generation = os.environ.get("KEEPSTEP_GENERATION", "")
    if not directory or not slot.isdigit() or not generation.isdigit():
        return None
    try:
        page = progress.Page(os.path.join(directory, "progress"))
        words, saves = page.words(int(slot)), page.save_words(int(slot))
    except (OSError, ValueError, IndexError):
        return None
    if words[progress.GENERATION] != int(generation):
        return None
    return Marker(words, faults=os.environ.get("KEEPSTEP_FAULTS") == "1", directory=directory, saves=saves)


def resume_step() -> int:
    """Return the step that this life of the rank resumes from; 0 from scratch."""
    text = os.environ.get("KEEPSTEP_RESUME_STEP", "")
    return int(text) if text.isdigit() else 0
