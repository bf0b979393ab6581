"""How a node stands: lost and isolated are two facts, and both are told."""

import pytest

from keepstep.core.node_standing import NodeState, is_over, node_states
from tests.core.test_timeline import at

LOST, ISOLATED, READY, ENDED, UNKNOWN = (
    NodeState.LOST, NodeState.ISOLATED, NodeState.READY, NodeState.ENDED, NodeState.UNKNOWN,
)  # fmt: skip


@pytest.mark.parametrize(
    ("ready", "isolated", "ended", "states"),
    [
        (True, False, False, (READY,)),
        (False, False, False, (LOST,)),
        (True, True, False, (ISOLATED,)),
        (False, True, False, (LOST, ISOLATED)),
        (None, True, False, (ISOLATED,)),
        (None, False, False, (UNKNOWN,)),
        (False, False, True, (ENDED,)),
        (False, True, True, (ISOLATED,)),
    ],
)
def test_all_that_holds_of_a_node_is_told(
    ready: bool | None, isolated: bool, ended: bool, states: tuple[NodeState, ...]
) -> None:
    assert node_states(ready=ready, isolated=isolated, ended=ended) == states


def test_a_mark_is_over_once_the_isolation_that_it_is_of_was_released() -> None:
    assert is_over("keepstep", at(10), at(20))
    assert not is_over("keepstep", at(30), at(20))
    assert not is_over("keepstep", at(10), None)
    assert not is_over("alice", at(10), at(20))
