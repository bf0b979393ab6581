"""Wires one agent together and runs its loops; each loop is a turn of pure rooms at its own pace."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from keepstep.agent.bus import Bus
from keepstep.agent.checkpoints import Candidate, File, Ripening, candidates
from keepstep.agent.first_step import NANO
from keepstep.agent.lines import Rules
from keepstep.agent.outbox import Outbox
from keepstep.agent.ranks import Ranks
from keepstep.agent.report import Reporter
from keepstep.agent.saves import save_seconds
from keepstep.agent.scan import listing, whole
from keepstep.agent.steering import Steering
from keepstep.agent.tail import Tails
from keepstep.agent.watching import Watching
from keepstep.contracts.ids import NodeName
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import PlanPhase
from keepstep.contracts.topology import Device, TaskLaunch
from keepstep.diagnosis.patterns import builtin_patterns
from keepstep.ports.clock import LocalClock
from keepstep.ports.errors import Transient

PROBE_S = 0.25
"""An eighth of ``stopped_after``; a look at eight ranks costs about 0.1 ms."""
SUSPECT_S = 0.5
GUARD_S = 1.0
TAIL_S = 0.2
FIRST_STEP_S = 0.02
REST = 9
"""Of ten seconds one may go into looking for checkpoints, be there a million files or a slow mount."""
ENTRY_PATIENCE_S = 2.0
"""A replica of the bucket may lag behind the head it goes with."""
GARBLED_PATIENCE_S = 30.0
"""Three times what the scheduler-adapter takes to find a garbled entry and write it anew."""

_log = logging.getLogger(__name__)


class Agent:
    """One task's agent."""

    def __init__(
        self,
        launch: TaskLaunch,
        *,
        task_dir: Path,
        node: NodeName,
        address: str,
        clock: LocalClock,
        devices: Sequence[Device] = (),
    ) -> None:
        state = task_dir / "agent"
        state.mkdir(parents=True, exist_ok=True)
        self._launch = launch
        self._clock = clock
        self._reporter = Reporter(launch, node)
        self._ranks = Ranks(task_dir, state / "exits.json")
        self.outbox = Outbox(state / "outbox.jsonl")
        self.steering = Steering(
            self._reporter,
            task_dir=task_dir,
            address=address,
            clock=clock,
            outbox=self.outbox,
            ranks=self._ranks,
            devices=devices,
        )
        self._watching = Watching(
            self._reporter, self.steering, task_dir=task_dir, clock=clock, outbox=self.outbox, ranks=self._ranks
        )
        rules = Rules((*launch.spec.policy.detection.log_patterns, *builtin_patterns()))
        self._tails = Tails(task_dir, state / "offsets.json", rules)

    async def run(self, bus: Bus) -> None:
        """Run until the plan ends the task; cancelled, it leaves the ranks as they are."""
        loops = [
            self.steering.link.listen(self.steering.heard, self.steering.lost),
            self.outbox.send(bus.say),
            self._plans(bus),
            self._beats(bus),
            self._repeat(PROBE_S, self._watching.probe),
            self._repeat(SUSPECT_S, self._watching.suspect),
            self._repeat(GUARD_S, lambda: self._watching.guard(connected=bus.connected)),
            self._first_steps(),
            self._tail(),
            self._checkpoints(),
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(loop) for loop in loops]
            await self.steering.ended.wait()
            for task in tasks:
                task.cancel()

    async def _plans(self, bus: Bus) -> None:
        async for head in bus.watch(self._launch.job.uid):
            self.steering.plan(head, await self._entry(bus, head))

    async def _entry(self, bus: Bus, head: PlanHead) -> PlanEntry | None:
        """Return this task's entry, where ranks are to run; waits for the bus, and a little for one as new as the head.

        A plan that stops or ends needs none, and waits for none that is garbled or out of reach.
        """
        if head.phase is not PlanPhase.RUN:
            return None
        began, said = self._clock.monotonic(), ""
        while True:
            try:
                entry = await bus.entry(head.job, self._launch.task.uid)
            except Transient as error:
                if str(error) != said:
                    _log.warning("event=PlanAwaited generation=%d because=%s", head.generation, error)
                said = str(error)
                if bus.connected and self._clock.monotonic() - began > GARBLED_PATIENCE_S:
                    return None
                await asyncio.sleep(error.retry_after.total_seconds())
                continue
            if entry is not None and entry.generation >= head.generation:
                return entry
            if self._clock.monotonic() - began > ENTRY_PATIENCE_S:
                return entry
            await asyncio.sleep(0.05)

    async def _beats(self, bus: Bus) -> None:
        every = self._launch.spec.policy.detection.heartbeat_every.total_seconds()
        while True:
            if self.steering.joined:
                await bus.beat(self._watching.heartbeat())
            await asyncio.sleep(every)

    async def _repeat(self, every_s: float, turn: Callable[[], None]) -> None:
        while True:
            turn()
            await asyncio.sleep(every_s)

    async def _first_steps(self) -> None:
        while True:
            self._watching.first_step()
            if self._watching.awaits_first_step():
                await asyncio.sleep(FIRST_STEP_S)
            else:
                await self._ranks.taken.wait()
                self._ranks.taken.clear()

    async def _tail(self) -> None:
        while True:
            generation = self._ranks.generation
            for match in await asyncio.to_thread(self._tails.look, self._clock.monotonic()):
                local = self._ranks.local_ranks().get(match.rank)
                slot = None if local is None else self._ranks.slot(local, self._tails.generation)
                event = self._reporter.matched(self._clock.now(), self._tails.generation, match, slot)
                self._tails.saying(match, event.id)
                self.outbox.put(event, partial(self._tails.acknowledged, event.id))
            self._tails.save()
            fresh = generation > self._tails.generation or not self._tails.following
            if generation > 0:
                self._tails.follow(generation, tuple(self._ranks.local_ranks()))
            await asyncio.sleep(0 if fresh and self._tails.following else TAIL_S)

    async def _checkpoints(self) -> None:
        spec = self._launch.spec
        policy = spec.policy.checkpoint
        if spec.checkpoint_dir is None or (policy.shared and self._launch.task.index > 0):
            return
        folder = Path(spec.checkpoint_dir)
        ranks = tuple(range(spec.world_size)) if policy.shared else spec.ranks_of(self._launch.task.index)
        ripening = Ripening()
        while True:
            began = self._clock.monotonic()
            files = await asyncio.to_thread(listing, folder)
            for candidate in ripening.ripe(candidates(files, policy, ranks), self._clock.monotonic()):
                if await asyncio.to_thread(whole, folder, candidate):
                    ripening.told(candidate)
                    event = self._reporter.saved(
                        self._clock.now(),
                        self._ranks.generation,
                        folder,
                        candidate,
                        save_s=self._save_s(candidate, files),
                    )
                    self.outbox.put(event)
                    _log.info("event=CheckpointSaved step=%d path=%s", event.step, event.path)
                else:
                    ripening.failed(candidate, self._clock.monotonic())
            pause = min(policy.stable_for, policy.scan_every) if ripening.unripe() else policy.scan_every
            spent = self._clock.monotonic() - began
            await asyncio.sleep(max(pause.total_seconds(), REST * spent))

    def _save_s(self, candidate: Candidate, files: Mapping[str, File]) -> float | None:
        """Return how long the ranks here took to save it; files bear times of the wall clock, and ranks note others."""
        ahead = self._clock.wall().timestamp() - self._clock.monotonic()
        modified = {files[name].mtime_ns / NANO - ahead for name in candidate.files}
        return save_seconds(self._ranks.saves(), modified)
