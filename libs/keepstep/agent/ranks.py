"""The local ranks of the current generation: who runs, how they ended, what page and process show of them."""

import asyncio
from pathlib import Path

from pydantic import Field

from keepstep.agent.beats import Sighting, Stack
from keepstep.agent.files import keep, recall
from keepstep.agent.probes import Probe
from keepstep.agent.reconcile import Launcher, Running
from keepstep.contracts.model import Frozen
from keepstep.contracts.telemetry import Exit
from keepstep.trainer.progress import Page, Save, Slot
from keepstep.trainer.wire import PAGE


class Ended(Frozen):
    """A rank whose process is over."""

    running: Running
    exit: Exit


class Exits(Frozen):
    """Exits of one generation, kept over agent restarts so that heartbeats go on telling them."""

    generation: int = 0
    ranks: dict[int, Ended] = Field(default_factory=dict)


class Ranks:
    """What is known of each local rank; probes and stacks are filled in by those who look."""

    def __init__(self, task_dir: Path, kept: Path) -> None:
        self._page_path = task_dir / PAGE
        self._kept = kept
        self._page: Page | None = None
        self._first_seen: dict[int, float] = {}
        self._exits = recall(kept, Exits)
        self.generation = 0
        self.taken = asyncio.Event()
        """Set when the launcher told who runs; cleared by the one who waits for a first step."""
        self.running: dict[int, Running] = {}
        self.probes: dict[int, Probe] = {}
        self.stacks: dict[int, Stack] = {}

    def take(self, launcher: Launcher, now: float) -> None:
        """Learn from the launcher who runs; another generation starts anew."""
        if launcher.generation != self.generation:
            self.generation = launcher.generation
            self.probes, self.stacks, self._first_seen = {}, {}, {}
        if self._exits.generation != launcher.generation:
            self._exits = Exits(generation=launcher.generation)
        self.running = {each.rank: each for each in launcher.ranks if each.generation == launcher.generation}
        for rank in self.running:
            self._first_seen.setdefault(rank, now)
        self.taken.set()

    def end(self, running: Running, exit_: Exit) -> None:
        """Learn that a rank ended; of older generations nothing is kept."""
        if running.generation != self.generation:
            return
        self.running.pop(running.rank, None)
        self._exits = Exits(
            generation=self.generation,
            ranks=self._exits.ranks | {running.rank: Ended(running=running, exit=exit_)},
        )
        keep(self._kept, self._exits)

    def slot(self, local_rank: int, generation: int) -> Slot | None:
        """Return the rank's slot of the page, or None while it shows another generation or there is no page."""
        page = self._opened()
        if page is None or local_rank >= page.slots:
            return None
        slot = page.read(local_rank)
        return slot if slot.generation == generation else None

    def saves(self) -> tuple[tuple[Save, ...], ...]:
        """Return what each rank of the page noted of its last saves."""
        page = self._opened()
        return () if page is None else tuple(page.saves(slot) for slot in range(page.slots))

    def local_ranks(self) -> dict[int, int]:
        """Return local ranks by rank, ended ones included."""
        ended = {rank: each.running.local_rank for rank, each in self._exits.ranks.items()}
        return dict(sorted((ended | {rank: each.local_rank for rank, each in self.running.items()}).items()))

    def sightings(self, now: float) -> tuple[Sighting, ...]:
        """Return all that is known of every rank, by rank; ``now`` is monotonic seconds."""
        ended = {rank: (each.running, each.exit) for rank, each in self._exits.ranks.items()}
        alive: dict[int, tuple[Running, Exit | None]] = {rank: (each, None) for rank, each in self.running.items()}
        return tuple(
            Sighting(
                running=running,
                first_seen=self._first_seen.get(rank, now),
                slot=self.slot(running.local_rank, self.generation),
                probe=self.probes.get(rank),
                exit=exit_,
                stack=self.stacks.get(rank) if exit_ is None else None,
            )
            for rank, (running, exit_) in sorted((ended | alive).items())
        )

    def _opened(self) -> Page | None:
        if self._page is not None and not self._page.whole:  # cut, or replaced by the launcher over that
            self._page.close()
            self._page = None
        if self._page is None:
            try:
                self._page = Page(str(self._page_path))
            except (OSError, ValueError):
                return None  # the launcher has not made it yet, or a rank has put something else there
        return self._page
