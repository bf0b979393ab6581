"""Two orders are two, however alike they are, and one that is said again is one."""

from datetime import UTC, datetime

from keepstep.contracts.ids import JobUid, NodeName, Pool
from keepstep.contracts.orders import IsolateNode, StopJob
from keepstep.contracts.topology import Command, JobRef, JobSpec
from keepstep.core.ordering import creation, ordered

NOON, POOL = datetime(2026, 1, 1, 12, tzinfo=UTC), Pool("p")
JOB = JobRef(name="train", uid=JobUid("job-1"))


def spec(name: str) -> JobSpec:
    return JobSpec(name=name, entrypoint=Command(argv=("true",)))


def test_what_differs_in_anything_is_another_order_within_one_microsecond() -> None:
    """A pool's orders to create two jobs at one time shared their id, and the second was never heard."""
    jobs = [creation(spec(name), POOL, by="ann", now=NOON) for name in ("a", "b")]
    assert jobs[0].id != jobs[1].id
    assert jobs[0].key != jobs[1].key
    node = NodeName("n1")
    alike = [
        ordered(IsolateNode, POOL, by="ann", now=NOON, node=node, reason="fan"),
        ordered(IsolateNode, POOL, by="ann", now=NOON, node=node, reason="disk"),
        ordered(IsolateNode, POOL, by="bob", now=NOON, node=node, reason="fan"),
        ordered(IsolateNode, POOL, by="ann", now=NOON, node=NodeName("n2"), reason="fan"),
        ordered(StopJob, POOL, by="ann", now=NOON, job=JOB, reason="fan"),
    ]
    assert len({order.id for order in alike}) == len(alike)


def test_orders_alike_to_the_last_letter_are_told_apart_by_where_they_were_given() -> None:
    one, two = (creation(spec("a"), POOL, by="ann", now=NOON, given=f"console c/{number}") for number in (0, 1))
    assert one.id != two.id
    assert one.key != two.key


def test_the_same_order_said_again_is_the_same() -> None:
    one, two = (ordered(StopJob, POOL, by="ann", now=NOON, given="here/1", job=JOB) for _ in range(2))
    assert one == two
