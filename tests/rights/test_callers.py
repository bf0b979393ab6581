"""The name under which an agent knocks tells whose it is, and no other name does."""

import pytest

from keepstep.contracts.ids import NodeName, Pool
from keepstep.runtime.rights import DEFAULT
from keepstep.runtime.rights_of_pods import Caller, caller_of

CALLERS = (
    Caller(DEFAULT, "a-b.c"),
    Caller(Pool("p.q"), "x"),
    Caller(Pool("ü"), "_"),
    Caller(Pool("_"), "p", NodeName("n.1")),
)


@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_a_name_tells_who_calls(caller: Caller) -> None:
    assert caller_of(caller.user) == caller


@pytest.mark.parametrize(
    "user", ["", "pod", "pod..", "pod.a", "pod.a.b.c", "gate", "pod.a._", "pod._zz.b", "agent", "node.a.b", "node.a..b"]
)
def test_a_name_that_is_no_agent_s_names_none(user: str) -> None:
    assert caller_of(user) is None
