"""Faults injected on purpose: into ranks through their progress page, into tasks and nodes through the cluster."""

import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeVar, assert_never

from keepstep.adapters.local_faults import TaskFault, hurt_task, lose_node, task_dir
from keepstep.cli.errors import Failed, Refused
from keepstep.cli.places import StackAddress, cluster_of
from keepstep.contracts.events import DeviceReported, Placed
from keepstep.contracts.ids import EventId, NodeName, Pool, derive
from keepstep.contracts.message import Message
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.errors import KeepstepError
from keepstep.trainer import mark, progress, wire


class RankFault(StrEnum):
    """What can happen to a rank."""

    KILL = "kill"
    STOP = "stop"
    EXCEPTION = "exception"
    SLOW = "slow"
    LOG = "log"
    DISK_FULL = "disk-full"


T = TypeVar("T")

NODE_LOST = "node-lost"
DEVICE = "device"
LOST_GPU = "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus."
"""The kernel's line for a device that is lost beyond doubt; nothing of the machine is touched."""

KINDS: dict[str, tuple[str, str]] = {
    RankFault.KILL: ("--rank", "SIGKILL to the rank's process"),
    RankFault.STOP: ("--rank", "SIGSTOP to the rank's process: it hangs while its peers wait"),
    RankFault.EXCEPTION: ("--rank", "the next step mark raises; the job needs --env KEEPSTEP_FAULTS=1"),
    RankFault.SLOW: ("--rank", "every step takes --seconds longer; the job needs --env KEEPSTEP_FAULTS=1"),
    RankFault.LOG: ("--rank", "the rank prints --line at its next step; the job needs --env KEEPSTEP_FAULTS=1"),
    RankFault.DISK_FULL: (
        "--rank",
        "its saves fail for --seconds (30) as on a full disk; the job needs --env KEEPSTEP_FAULTS=1",
    ),
    TaskFault.POD_DELETE: ("--task", "the task is deleted, as by kubectl delete pod"),
    TaskFault.EVICT: ("--task", "the task is evicted from its node"),
    TaskFault.AGENT_KILL: ("--task", "SIGKILL to the task's agent: training goes on and the agent comes back"),
    TaskFault.LAUNCHER_KILL: ("--task", "SIGKILL to the task's launcher: its ranks die with it"),
    NODE_LOST: ("--node", "the node dies with everything on it"),
    DEVICE: ("--node", "--device (0) of the node is reported lost, in the kernel's words, as its node's agent would"),
}
"""Every kind, the option that says where, and what it does."""

NEEDS_FAULTS = (RankFault.EXCEPTION, RankFault.SLOW, RankFault.LOG, RankFault.DISK_FULL)
SLOWER_S = 1.0
FULL_S = 30.0
"""Long enough for the next save of a job that saves every few steps."""

Say = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Aim:
    """Where a fault goes; exactly the option that its kind asks for is set."""

    rank: int | None = None
    task: str | None = None
    node: str | None = None
    seconds: float | None = None
    device: str = "0"
    line: str = "Loss nan"


async def inject(kind: str, aim: Aim, where: StackAddress, placement: Iterable[Placed], say: Say) -> str:
    """Inject the fault and return what was done; raises Refused for a wrong aim and Failed if it did not work.

    ``where`` is the job's stack and ``say`` puts a message into its stream.
    """
    if kind not in KINDS:
        raise Refused(f"unknown fault {kind}; known are {', '.join(KINDS)}")
    option, _ = KINDS[kind]
    places, cluster = tuple(placement), cluster_of(where)
    try:
        match option:
            case "--rank":
                return _hurt_rank(RankFault(kind), aim, cluster=cluster, places=places)
            case "--task":
                placed = _task(kind, aim, places)
                await hurt_task(cluster, placed.task.uid, TaskFault(kind))
                return f"{kind} of {placed.task.name} on {placed.node}"
            case _:
                node = _node(kind, aim, places)
                if kind == NODE_LOST:
                    lose_node(cluster, node)
                    return f"node {node} is lost"
                await say(_lost_device(where.pool, node, aim.device))
                return f"device {aim.device} of node {node} is reported lost"
    except (KeepstepError, OSError) as error:
        raise Failed(f"{kind}: {error}") from error


def _lost_device(pool: Pool, node: NodeName, device: str) -> DeviceReported:
    now = datetime.now(UTC)
    name = EventId(derive("DeviceReported", node, device, now.isoformat()))
    return DeviceReported(id=name, time=now, pool=pool, node=node, device=device, code="79", text=LOST_GPU)


def _required(value: T | None, kind: str, option: str, known: Iterable[object]) -> T:
    if value is None:
        raise Refused(f"{kind} needs {option}; the job has {', '.join(map(str, known)) or 'none'}")
    return value


def _task(kind: str, aim: Aim, places: tuple[Placed, ...]) -> Placed:
    name = _required(aim.task, kind, "--task", (placed.task.name for placed in places))
    for placed in places:
        if name in (placed.task.name, placed.task.uid):
            return placed
    raise Refused(f"the job has no task {name}; it has {', '.join(placed.task.name for placed in places) or 'none'}")


def _node(kind: str, aim: Aim, places: tuple[Placed, ...]) -> NodeName:
    """Return the node that is meant; one on which nothing of the job runs would be lost to no purpose, or another's."""
    known = sorted({placed.node for placed in places})
    node = NodeName(_required(aim.node, kind, "--node", known))
    if node not in known:
        raise Refused(f"--node {node}: the job has no task there now; name one of {', '.join(known) or 'none'}")
    return node


def _hurt_rank(fault: RankFault, aim: Aim, *, cluster: Path, places: tuple[Placed, ...]) -> str:
    known = sorted(rank for placed in places for rank in placed.ranks)
    rank = _required(aim.rank, fault, "--rank", known)
    placed = next((placed for placed in places if rank in placed.ranks), None)
    if placed is None:
        raise Refused(f"the job has no rank {rank} now; it has {', '.join(map(str, known)) or 'none'}")
    folder = task_dir(cluster, placed.task.uid)
    page = progress.Page(str(folder / wire.PAGE))
    try:
        slot = placed.ranks.index(rank)
        if fault in NEEDS_FAULTS:
            _order(fault, aim, folder, page.words(slot))
        else:
            pid = page.read(slot).pid
            if pid <= 1:
                raise Failed(f"rank {rank} does not run yet")  # and 0 would be all that this command was started with
            os.kill(pid, signal.SIGKILL if fault is RankFault.KILL else signal.SIGSTOP)
    except ProcessLookupError as error:
        raise Failed(f"rank {rank} does not run now: {page.read(slot).pid} was its last process") from error
    finally:
        page.close()
    return f"{fault} of rank {rank} on {placed.node} ({placed.task.name})"


def _order(fault: RankFault, aim: Aim, folder: Path, words: memoryview) -> None:
    launch = TaskLaunch.read((folder / "task.json").read_bytes())
    if launch.spec.env.get("KEEPSTEP_FAULTS") != "1":
        raise Refused(f"{fault} is obeyed only by a job that was started with --env KEEPSTEP_FAULTS=1")
    match fault:
        case RankFault.EXCEPTION:
            words[progress.INJECT] = progress.INJECT_EXCEPTION
        case RankFault.SLOW:
            words[progress.INJECT_ARG] = int((SLOWER_S if aim.seconds is None else aim.seconds) * 1000)
            words[progress.INJECT] = progress.INJECT_SLOW
        case RankFault.LOG:
            (folder / mark.INJECTED_LINE).write_text(aim.line, encoding="utf-8")
            words[progress.INJECT] = progress.INJECT_LOG
        case RankFault.DISK_FULL:
            until = time.monotonic_ns() + int((FULL_S if aim.seconds is None else aim.seconds) * 1e9)
            (folder / (mark.FULL_DISK % aim.rank)).write_text(str(until), encoding="ascii")
        case RankFault.KILL | RankFault.STOP:
            raise AssertionError(fault)
        case _:
            assert_never(fault)
