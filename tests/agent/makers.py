"""Plans, launches and slots in few words."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from keepstep.agent.reconcile import Launcher, Memory, Running
from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import PlanPhase
from keepstep.contracts.topology import JobRef, JobSpec, Script, TaskLaunch, TaskRef
from keepstep.trainer.progress import Slot

JOB = JobRef(name="bert", uid=JobUid("job-1"))
TASK = TaskRef(name="worker-1", uid=TaskUid("task-1"), index=1)
NODE = NodeName("n1")
SECOND = 1_000_000_000
EPOCH = datetime(2026, 11, 1, tzinfo=UTC)


class SteppedClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.elapsed = 100.0
        self.ahead = timedelta(0)
        """Of the bus's clock."""

    def wall(self) -> datetime:
        return self.now() + self.ahead

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.elapsed)

    def monotonic(self) -> float:
        return self.elapsed

    def move(self, seconds: float) -> None:
        self.elapsed += seconds


def launch(*, pool: str = "default", policy: Policy | None = None, task: TaskRef = TASK, **spec: Any) -> TaskLaunch:
    fields = {"name": "bert", "entrypoint": Script(path="/train.py"), "nodes": 2, "nproc": 2} | spec
    return TaskLaunch(pool=Pool(pool), job=JOB, task=task, spec=JobSpec(policy=policy or Policy(), **fields))


def head(generation: int, phase: PlanPhase = PlanPhase.RUN, **fields: Any) -> PlanHead:
    wanted = {"world_size": 4, "master_address": "127.0.0.1", "master_port": 4000} | fields
    return PlanHead(job=JOB.uid, generation=generation, phase=phase, **wanted)


def entry(generation: int, ranks: tuple[int, ...] = (2, 3)) -> PlanEntry:
    return PlanEntry(job=JOB.uid, task=TASK.uid, node=NODE, generation=generation, ranks=ranks)


def running(generation: int, ranks: Sequence[int] = (2, 3)) -> tuple[Running, ...]:
    return tuple(
        Running(rank=rank, local_rank=local, pid=1000 + rank, generation=generation) for local, rank in enumerate(ranks)
    )


def launcher(generation: int, *, alive: bool = True, **fields: Any) -> Launcher:
    return Launcher(generation=generation, ranks=running(generation) if alive and generation else (), **fields)


def memory(**fields: int) -> Memory:
    return Memory(**fields)


def slot(generation: int = 1, **fields: Any) -> Slot:
    """Return a slot of a rank that started at second 1 and has marked nothing."""
    page: dict[str, Any] = {
        "pid": 0,
        "generation": generation,
        "step": -1,
        "phase": "starting",
        "mark_ns": SECOND,
        "phase_ns": SECOND,
        "marks": 0,
        "estimated": False,
        "first_ns": 0,
        "init_ns": 0,
        "load_ns": 0,
        "start_ns": SECOND,
        "resume_step": -1,
        "step_ns": 0,
    }
    extra = {name: False for name in Slot._fields if name not in page}
    return Slot(**page | extra | fields)


async def until(condition: Callable[[], object], *, within: float = 30) -> None:
    """Return as soon as the condition holds; TimeoutError if it does not ``within`` that many seconds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in files, pages and other processes
            await asyncio.sleep(0.002)
