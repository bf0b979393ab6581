"""One life of an agent after the other, between a bus and a launcher that are doubles."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from keepstep.adapters.clock import SystemClock
from keepstep.agent.app import Agent
from keepstep.contracts.duration import seconds
from keepstep.contracts.events import PlanApplied
from keepstep.contracts.policy import CheckpointPolicy, DetectionPolicy, LogPattern, Policy, TrainerPolicy
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.clock import LocalClock
from keepstep.trainer import progress
from tests.agent.doubles import FakeBus, FakeLauncher
from tests.agent.makers import NODE, entry, head, launch

QUICK = Policy(
    detection=DetectionPolicy(
        heartbeat_every=seconds(0.05),
        stopped_after=seconds(0.3),
        log_patterns=(LogPattern(name="nan", regex="Loss nan"),),
    ),
    checkpoint=CheckpointPolicy(scan_every=seconds(0.1), stable_for=seconds(0.05)),
    trainer=TrainerPolicy(stop_grace=seconds(1), kill_deadline=seconds(2)),
)


@dataclass
class Scene:
    task_dir: Path
    bus: FakeBus
    launcher: FakeLauncher

    @asynccontextmanager
    async def agent(
        self, given: TaskLaunch | None = None, clock: LocalClock | None = None
    ) -> AsyncIterator["asyncio.Task[None]"]:
        """Run one life of the agent; it is killed at the end, as by SIGTERM."""
        agent = Agent(
            given or launch(policy=QUICK),
            task_dir=self.task_dir,
            node=NODE,
            address="127.0.0.1",
            clock=clock or SystemClock(),
        )
        life = asyncio.create_task(agent.run(self.bus))
        yield life
        life.cancel()
        await asyncio.wait([life])
        if not life.cancelled():
            life.result()

    async def started(self) -> None:
        """Bring generation 1 up."""
        self.bus.plan(head(1), entry(1))
        await self.launcher.start(pid=os.getpid())
        await self.bus.hears(PlanApplied)

    def step(self, local_rank: int, number: int) -> None:
        words = self.launcher.page.words(local_rank)
        now = time.monotonic_ns()
        words[progress.STEP], words[progress.MARK_NS] = number, now
        words[progress.MARKS] += 1
        words[progress.PHASE] = progress.PHASES.index("step")
        words[progress.FIRST_NS] = words[progress.FIRST_NS] or now
