"""Incidents that share a cause are one group, however their verdicts fall in time; those that do not are none."""

import pytest

from keepstep.contracts.events import FaultDiagnosed, IncidentClosed
from keepstep.contracts.ids import JobUid
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import JobRef
from keepstep.isolator.core.groups import CAUSES, WINDOW, cause_of
from tests.isolator.story import Answer, PoolOfNodes
from tests.isolator.words import node, verdict

OTHER = JobRef(name="other", uid=JobUid("job-2"))
FULL = "OSError: [Errno 28] No space left on device: '{}'"


def storage(path: str, *, incident: str = "a", bad: int | None = None) -> FaultDiagnosed:
    said = FULL.format(path)
    category = Category.STORAGE
    return verdict("n1", category=category, rule="no-space", isolate=False, incident=incident, said=said, bad=bad)


CAUSED: list[tuple[str, FaultDiagnosed, str | None]] = [
    ("a device", verdict("n1"), "node n1"),
    ("a node", verdict("n1", category=Category.NODE_HARDWARE), "node n1"),
    ("memory of a node", verdict("n1", category=Category.OOM_HOST, isolate=False), "node n1"),
    ("memory of a device", verdict("n1", category=Category.OOM_DEVICE, isolate=False), None),
    ("a node's network", verdict("n1", category=Category.NETWORK, isolate=False), "node n1"),
    ("nobody's network", verdict(None, category=Category.NETWORK, isolate=False), "the network"),
    ("hardware of nobody", verdict(None), None),
    ("a mount", storage("/mnt/ckpt/step-5.pt"), "storage /mnt/ckpt"),
    ("a folder at the root", storage("/data/run-1/step-5.pt"), "storage /data"),
    ("a node's own folder", storage("/tmp/run-1/step-5.pt"), None),
    ("storage without a path", storage("x"), None),
    ("a broken checkpoint", storage("/mnt/ckpt/step-5.pt", bad=5), None),
    ("user code", verdict("n1", category=Category.USER_CODE), None),
    ("a hang", verdict("n1", category=Category.HANG), None),
    ("a deleted task", verdict("n1", category=Category.DELETED), None),
    ("an unknown cause", verdict("n1", category=Category.UNKNOWN), None),
]


@pytest.mark.parametrize(("message", "words"), [row[1:] for row in CAUSED], ids=[row[0] for row in CAUSED])
def test_a_cause_is_what_jobs_can_share(message: FaultDiagnosed, words: str | None) -> None:
    assert cause_of(message) == words


async def told(*messages: FaultDiagnosed) -> list[Answer]:
    """Return the answers to these verdicts, in their order."""
    pool = PoolOfNodes(*[node(f"n{i}") for i in range(4)])
    for message in messages:
        await pool.tell(message).act()
    return pool.answers


async def test_two_jobs_on_one_node_that_is_lost_are_one_group_though_one_isolates_it() -> None:
    lost = Category.NODE_HARDWARE
    first, second = await told(
        verdict("n1", category=lost, incident="a"), verdict("n1", category=lost, incident="b", job=OTHER, after=1)
    )
    assert (type(first).__name__, type(second).__name__) == ("NodeIsolated", "IsolationDeclined")
    assert first.group == second.group is not None
    assert (first.incidents, second.incidents) == (1, 2)
    assert second.because.endswith("; 2 incidents share one cause: node n1")


async def test_two_jobs_on_one_storage_server_are_one_group_whatever_their_nodes() -> None:
    mount = "/mnt/ckpt"
    first, second = await told(
        storage(f"{mount}/a/5.pt"),
        storage(f"{mount}/b/7.pt", incident="b").model_copy(update={"node": "n3", "job": OTHER}),
    )
    assert first.group == second.group is not None
    assert second.incidents == 2


async def test_two_nodes_are_two_groups() -> None:
    first, second = await told(verdict("n1", incident="a"), verdict("n2", incident="b"))
    assert first.group != second.group
    assert (first.incidents, second.incidents) == (1, 1)


@pytest.mark.parametrize(("apart", "same"), [(0.001, True), (WINDOW.total_seconds(), True), (600.1, False)])
@pytest.mark.parametrize("start", [0.0, 299.9995, 599.9995])
async def test_what_is_in_a_group_depends_on_the_time_between_verdicts_and_on_no_clock(
    start: float, apart: float, same: bool
) -> None:
    first, second = await told(
        verdict("n1", incident="a", after=start), verdict("n1", incident="b", after=start + apart)
    )
    assert (first.group == second.group) is same


async def test_each_verdict_keeps_its_group_open_for_the_next() -> None:
    nine_minutes = 540
    said = await told(*[verdict("n1", incident=f"i{i}", after=i * nine_minutes) for i in range(5)])
    assert len({one.group for one in said}) == 1
    assert [one.incidents for one in said] == [1, 2, 3, 4, 5]


async def test_attempts_and_revisions_of_one_incident_are_counted_once() -> None:
    said = await told(verdict("n1"), verdict("n1", revision=1), verdict("n1", after=5), verdict("n1"))
    assert {one.incidents for one in said} == {1}
    assert len({one.group for one in said}) == 1


def test_causes_are_forgotten_after_the_window_and_bounded_before() -> None:
    pool = PoolOfNodes().tell(*[verdict(f"n{i}", incident=f"i{i}", isolate=False) for i in range(CAUSES + 10)])
    assert len(pool.fold.causes) == CAUSES
    pool.tell(verdict("late", incident="late", isolate=False, after=601))
    assert list(pool.fold.causes) == ["node late"]


async def test_the_incident_of_a_node_without_a_job_closes_in_its_group() -> None:
    pool = PoolOfNodes(node("n1")).tell(verdict("n1", isolate=False, job=None))
    (closed,) = [one for one in pool.said if isinstance(one, IncidentClosed)]
    assert closed.group == pool.answers[0].group is not None
