"""Placement of tasks on local nodes: given nodes, when tasks come, then where, or why not."""

import pytest

from keepstep.adapters.local_files import natural
from keepstep.adapters.local_placement import Room, place
from keepstep.contracts.ids import NodeName
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import NodeStatus, TaskPhase, TaskStatus
from keepstep.ports.errors import NoRoom
from tests.adapters.cluster_tools import GROUP, NOWHERE, OURS, launches


def room(name: str, *tasks: TaskLaunch, ready: bool = True, group: str | None = GROUP, slots: int = 1) -> Room:
    running = tuple(TaskStatus(one.job.uid, one.task, TaskPhase.RUNNING) for one in tasks)
    return Room(NodeStatus(NodeName(name), ready, group), slots, running)


def test_task_0_gets_the_first_free_node() -> None:
    job = launches(2)
    placed = place(job[::-1], [room("n1", *launches()), room("n2"), room("n3")], avoid=NOWHERE)
    assert [(launch.task.index, node) for launch, node in placed] == [(0, "n2"), (1, "n3")]


def test_a_node_with_two_slots_takes_tasks_of_two_jobs() -> None:
    assert place(launches(), [room("n1", *launches(), slots=2)], avoid=NOWHERE)[0][1] == "n1"


def test_a_node_with_two_slots_takes_one_task_of_a_job() -> None:
    job = launches(2)
    with pytest.raises(NoRoom, match="needs 2 nodes in group g, 1 of 1 free"):
        place(job, [room("n1", slots=2)], avoid=NOWHERE)
    with pytest.raises(NoRoom, match="n1 runs worker-0 of job"):
        place(job[1:], [room("n1", job[0], slots=2)], avoid=NOWHERE)


def test_a_job_without_a_group_stays_out_of_private_nodes() -> None:
    with pytest.raises(NoRoom, match="needs 1 node without a group, 0 of 0 free"):
        place(launches(group=None), [room("n1")], avoid=NOWHERE)
    assert place(launches(group=None), [room("n1", group=None)], avoid=NOWHERE)[0][1] == "n1"


def test_every_obstacle_is_named() -> None:
    cordoned = Room(NodeStatus(NodeName("n2"), ready=True, group=GROUP, mark=OURS), 1)
    busy = launches()
    rooms = [room("n1", ready=False), cordoned, room("n3", *busy), room("n4")]
    with pytest.raises(NoRoom) as refusal:
        place(launches(), rooms, avoid=frozenset({NodeName("n4")}))
    assert str(refusal.value) == (
        "needs 1 node in group g, 0 of 4 free: n1 is not ready; "
        f"n2 is cordoned by keepstep ({OURS.reason}); n3 runs worker-0 of job {busy[0].job.uid}; n4 is to be avoided"
    )


def test_nodes_are_counted_as_people_count() -> None:
    assert sorted(["n10", "n2", "a", "n1", "n"], key=natural) == ["a", "n", "n1", "n2", "n10"]
