"""Looks at the ranks: process states, first steps, stacks, heartbeats, and whether the agent must fence itself."""

from datetime import timedelta
from pathlib import Path

from keepstep.agent.beats import Sighting, beat
from keepstep.agent.bus import CutOff
from keepstep.agent.fence import fence
from keepstep.agent.files import keep, recall
from keepstep.agent.first_step import first_step
from keepstep.agent.outbox import Outbox
from keepstep.agent.probes import look
from keepstep.agent.proc import ProcessStat, read_stat
from keepstep.agent.ranks import Ranks
from keepstep.agent.report import Reporter
from keepstep.agent.stalls import Episodes, judge
from keepstep.agent.steering import Steering
from keepstep.agent.suspicion import Suspicions
from keepstep.contracts.telemetry import Heartbeat
from keepstep.ports.clock import Clock


class Watching:
    """Reads page and /proc, says what changed; each method is one turn of one of the agent's loops."""

    def __init__(
        self, reporter: Reporter, steering: Steering, *, task_dir: Path, clock: Clock, outbox: Outbox, ranks: Ranks
    ) -> None:
        self._reporter = reporter
        self._steering = steering
        self._clock = clock
        self._outbox = outbox
        self._ranks = ranks
        self._kept = task_dir / "agent" / "episodes.json"
        self._episodes = recall(self._kept, Episodes)
        self._suspicions = Suspicions(task_dir, reporter.launch.spec.policy.detection)
        self._cut_off = CutOff()
        self._sequence = 0

    def probe(self) -> None:
        """Look at every rank's process; say stalls that positive evidence proves, and their ends."""
        now = self._clock.monotonic()
        for seen in self._ranks.sightings(now):
            found = _stat(seen)
            if seen.exit is None and found is not None:
                pid, stat = found
                rank = seen.running.rank
                self._ranks.probes[rank] = look(self._ranks.probes.get(rank), pid, stat, now)
        if self._steering.joined and not self._steering.stopping:
            self._judge_states()

    def suspect(self) -> None:
        """Ask ranks that give no marks for their stacks, and read what they answered."""
        now = self._clock.monotonic()
        if self._steering.stopping:
            return
        for capture in self._suspicions.turn(self._ranks.sightings(now), self._ranks.stacks, now):
            self._outbox.put(
                self._reporter.stack(
                    self._clock.now(),
                    self._ranks.generation,
                    capture.rank,
                    capture.frames,
                    suspicion=str(capture.marks),
                )
            )

    def awaits_first_step(self) -> bool:
        """Whether ranks run whose first step is still to be said."""
        return self._ranks.generation > self._steering.memory.stepped and bool(self._ranks.running)

    def first_step(self) -> None:
        """Say FirstStepDone when all local ranks made their first step of this generation."""
        generation = self._ranks.generation
        if generation <= self._steering.memory.stepped:
            return
        slots = [self._ranks.slot(local, generation) for local in self._ranks.local_ranks().values()]
        known = [slot for slot in slots if slot is not None]
        found = first_step(known, generation) if len(known) == len(slots) else None
        if found is None:
            return
        self._outbox.put(self._reporter.first_step(self._clock.now(), generation, found))
        self._steering.remember(self._steering.memory.model_copy(update={"stepped": generation}))

    def heartbeat(self) -> Heartbeat:
        """Return what to send now."""
        self._sequence += 1
        now = self._clock.monotonic()
        launch = self._reporter.launch
        return Heartbeat(
            time=self._clock.now(),
            pool=launch.pool,
            job=launch.job,
            task=launch.task,
            node=self._reporter.node,
            generation=self._ranks.generation,
            boot=self._steering.boot,
            sequence=self._sequence,
            ranks=tuple(beat(seen, now) for seen in self._ranks.sightings(now)),
            warm_ready=self._steering.launcher.warm,
        )

    def guard(self, *, connected: bool) -> None:
        """Stop the ranks if the bus is gone and they make no step: others may have been given their place."""
        now = self._clock.monotonic()
        lasted = self._cut_off.lasted_s(now, connected=connected, unanswered_s=self._outbox.unanswered_s(now))
        spec = self._reporter.launch.spec
        beats = [beat(seen, now) for seen in self._ranks.sightings(now)]
        because = fence(beats, cut_off=timedelta(seconds=lasted), tasks=spec.nodes, policy=spec.policy)
        if because:
            self._steering.fence(because)

    def _judge_states(self) -> None:
        generation = self._ranks.generation
        states = {
            rank: self._ranks.probes[rank].state_now() for rank in self._ranks.running if rank in self._ranks.probes
        }
        kept, changes = judge(self._episodes, generation, states, self._reporter.launch.spec.policy.detection)
        for change in changes:
            slot = self._ranks.slot(self._ranks.local_ranks()[change.rank], generation)
            self._outbox.put(self._reporter.stall(self._clock.now(), generation, change, slot))
        if kept != self._episodes:
            self._episodes = kept
            keep(self._kept, kept)


def _stat(seen: Sighting) -> tuple[int, ProcessStat] | None:
    """Return pid and state of the process that trains: the one that marks, else the one that was started.

    They differ under a wrapper such as ``bash -c "python train.py"``.
    """
    for pid in (seen.slot.pid if seen.slot is not None else 0, seen.running.pid):
        stat = read_stat(pid) if pid > 0 else None
        if stat is not None:
            return pid, stat
    return None
