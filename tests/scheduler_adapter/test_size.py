"""How large a job may be: what is said and kept of the largest fits into a message of any bus."""

import pytest

from keepstep.contracts.events import JobAccepted, JobFailed, JobStarted, RanksStarted, RecoveryPlanned
from keepstep.contracts.ids import NodeName, derive, task_uid
from keepstep.contracts.message import envelope
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import TaskRef
from keepstep.runtime.fold import Fold, written
from keepstep.scheduler_adapter.core import JobState
from keepstep.scheduler_adapter.core.accepting import MESSAGE_BYTES, RANK_BYTES, TASK_BYTES, refuse
from keepstep.scheduler_adapter.core.life import placement
from keepstep.scheduler_adapter.core.task import Leaving, Task
from keepstep.scheduler_adapter.core.turn import Turn
from tests.scheduler_adapter.voices import JOB, POOL, START, TORCH, spec
from tests.scheduler_adapter.world import World

LIMIT = 1024 * 1024


def largest(nproc: int) -> int:
    """Return the largest number of tasks that is accepted."""
    return MESSAGE_BYTES // (TASK_BYTES + nproc * RANK_BYTES)


def node_of(index: int) -> NodeName:
    """Return a name as long as a host's may be, that looks like no other."""
    return NodeName(f"ip-{derive('node', index)}.{'r' * 64}"[:64])


def refs(nodes: int, incarnation: int) -> list[TaskRef]:
    names = [f"worker-{index}" for index in range(nodes)]
    return [TaskRef(name=name, uid=task_uid(JOB.uid, name, incarnation), index=n) for n, name in enumerate(names)]


def under_way(nodes: int, nproc: int) -> JobState:
    """Return a job of which every task is being replaced."""
    tasks = {
        ref.name: Task(
            ref=ref,
            incarnation=2,
            born=2,
            joined=True,
            node=node_of(ref.index),
            address=f"10.{ref.index % 251}.{ref.index * 7 % 253}.{ref.index * 31 % 255}",
            ports=(30_000 + ref.index * 7919 % 20_000, 50_000 + ref.index * 104_729 % 10_000),
            versions=TORCH,
        )
        for ref in refs(nodes, 2)
    }
    leaving = tuple(Leaving(ref=ref, node=node_of(ref.index), ran=1) for ref in refs(nodes, 1))
    known = spec(nodes=nodes, nproc=nproc)
    return JobState(pool=POOL, job=JOB, since=START, spec=known, tasks=tasks, leaving=leaving)


@pytest.mark.parametrize("nproc", [1, 8, 64])
def test_what_is_said_and_kept_of_the_largest_job_fits_into_one_message(nproc: int) -> None:
    state = under_way(largest(nproc), nproc)
    accepted = JobAccepted(id=World().create().last(JobAccepted).id, time=START, pool=POOL, job=JOB, spec=spec())
    places = placement(Turn(state, accepted, START, frozenset(Level)))
    about = envelope(accepted) | {"id": accepted.id}
    planned = RecoveryPlanned(
        **about,
        attempt=1,
        level=Level.JOB,
        to_generation=2,
        replace=tuple(left.ref.uid for left in state.leaving),
        expected=tuple(task.ref for task in state.tasks.values()),
        because="rank 0 is hurt",
    )
    said = (JobStarted(**about, placement=places), RanksStarted(**about, attempt=1, placement=places), planned)
    assert [len(each.model_dump_json()) for each in said if len(each.model_dump_json()) > LIMIT] == []
    assert len(written(Fold(state, 1, (planned,), JOB), fence=1)) < LIMIT


@pytest.mark.parametrize("nproc", [1, 8, 1024])
def test_one_task_more_is_refused_with_the_number_that_is_allowed(nproc: int) -> None:
    most = largest(nproc)
    assert refuse(spec(nodes=most, nproc=nproc)) == ""
    assert refuse(spec(nodes=most + 1, nproc=nproc)).endswith(f"with nproc {nproc} at most {most}")


def test_a_job_that_is_too_large_fails_before_anything_is_created() -> None:
    world = World(spec(nodes=8192, nproc=8)).create()
    assert world.last(JobFailed).because == (
        "nodes: where 8192 tasks of 8 ranks run does not fit into one message of the bus: with nproc 8 at most 3424"
    )
    assert world.acts == []
