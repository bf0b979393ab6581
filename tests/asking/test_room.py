"""Who drains a node is told when nothing else is free, as the job then waits."""

from datetime import UTC, datetime

import pytest

from keepstep.asking.room import no_room
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.ports.cluster import CordonMark, NodeStatus

MARK = CordonMark(owner="ops", reason="fan", at=datetime(2026, 1, 1, tzinfo=UTC))
BUSY = NodeStatus(NodeName("n1"), ready=True, tasks=(TaskUid("t1"),))
TAKEN = (
    NodeStatus(NodeName("n2"), ready=True, tasks=(TaskUid("t2"),)),
    NodeStatus(NodeName("n3"), ready=False),
    NodeStatus(NodeName("n4"), ready=True, mark=MARK),
    NodeStatus(NodeName("n5"), ready=True, group="of another run"),
)


def test_where_no_other_node_is_free_the_wait_is_told() -> None:
    (told,) = no_room((BUSY, *TAKEN), BUSY.name)
    assert told.startswith("no other node is free: a job that must leave n1 stops and waits")


def test_where_one_is_free_nothing_is_told() -> None:
    assert no_room((BUSY, *TAKEN, NodeStatus(NodeName("n6"), ready=True)), BUSY.name) == ()


@pytest.mark.parametrize("leaving", ["n3", "n9"])
def test_a_node_without_a_task_and_one_that_nobody_knows_leave_nobody_waiting(leaving: str) -> None:
    assert no_room((BUSY, *TAKEN), NodeName(leaving)) == ()
