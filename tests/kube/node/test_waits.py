"""A replacement that does not come: it is waited for with its reason, as long as the job's policy says, then escalated.

Also the rules of Replace mode: where one pod cannot be replaced alone the whole job is made anew, and told why.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keepstep.contracts.events import (
    DeadlinePassed,
    IncidentClosed,
    IncidentOpened,
    JobDeleted,
    JobFailed,
    JobWaiting,
    RecoveryFailed,
    RecoveryPlanned,
    RecoveryStarted,
)
from keepstep.contracts.taxonomy import Level, Outcome

from ..server import kinds
from .environment import Image
from .images import KEEPSTEP_IMAGE, plain_image
from .services import Keepstep, keepstep_on
from .stack import kube_stack
from .story import alone, data, delete, in_seat, policy, recovered, started, uids

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]

OLD_TORCH = "/data/old"


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    """Yield keepstep on two nodes of one device: whoever is replaced has only his own to come back to."""
    images = {"old:1": Image({**plain_image().env, "PYTHONPATH": OLD_TORCH})}
    async with kube_stack(tmp_path, nodes=2, gpus=1, images=images) as k, keepstep_on(k) as stack:
        yield stack


def waits(s: Keepstep, *words: str) -> list[JobWaiting]:
    """Return what was said of the job's waiting with all these words."""
    return [told for told in s.all(JobWaiting) if all(word in told.because for word in words)]


def shut(s: Keepstep, seat: str) -> str:
    """Let a person cordon the node of a seat and delete the pod there; return the node."""
    _, node = in_seat(s, seat)
    s.k.nodes.cordon(node)
    delete(s, seat)
    return node


async def test_a_replacement_whose_image_comes_late_is_waited_for(s: Keepstep) -> None:
    before = await started(s)
    s.k.kubelet.unpullable.add(KEEPSTEP_IMAGE)
    delete(s, "1")
    await s.until(lambda: waits(s, "ImagePull", KEEPSTEP_IMAGE), "what is waited for is said")
    s.k.kubelet.unpullable.clear()
    await recovered(s, Level.POD)
    assert uids(s)["0"] == before["0"]


async def test_an_image_that_never_comes_fails_the_job_after_every_level(s: Keepstep) -> None:
    await started(s, options=policy(s, pending_limit=3, pending="fail"))
    s.k.kubelet.unpullable.add(KEEPSTEP_IMAGE)
    delete(s, "1")
    await s.until(lambda: s.all(JobDeleted), "the job is over")
    (closed,), (failed,) = s.all(IncidentClosed), s.all(JobFailed)
    assert (closed.outcome, closed.levels) == (Outcome.FAILED, (Level.POD, Level.JOB))
    assert [told.level for told in s.all(RecoveryStarted)] == [Level.POD, Level.JOB]
    assert [told.level for told in s.all(RecoveryFailed)] == [Level.POD, Level.JOB]
    assert all("no room: " in told.because and "ImagePull" in told.because for told in s.all(RecoveryFailed))
    assert "ImagePull" in failed.because
    await s.k.until(lambda: not uids(s))
    await alone(s)


async def test_a_replacement_that_no_node_takes_is_waited_for_until_one_does(s: Keepstep) -> None:
    before = await started(s)
    node = shut(s, "1")
    await s.until(lambda: waits(s, "0/2 nodes are available", "unschedulable"), "the scheduler's reason is said")
    s.k.nodes.uncordon(node)
    await recovered(s, Level.POD)
    assert uids(s)["0"] == before["0"]
    assert in_seat(s, "1")[1] == node


async def test_a_replacement_past_its_limit_costs_the_whole_job(s: Keepstep) -> None:
    before = await started(s, options=policy(s, pending_limit=3))
    node = shut(s, "1")
    await s.until(lambda: len(s.all(RecoveryStarted)) == 2, "the limit passes")
    (pod,) = s.all(RecoveryFailed)
    assert (pod.level, "no room: " in pod.because, "0/2 nodes" in pod.because) == (Level.POD, True, True)
    s.k.nodes.uncordon(node)
    await recovered(s, Level.POD, Level.JOB)
    assert not set(uids(s).values()) & set(before.values())
    assert s.all(IncidentClosed)[0].levels == (Level.POD, Level.JOB)


async def test_a_job_that_never_goes_beyond_pod_is_held_past_the_limit_also_by_a_successor(s: Keepstep) -> None:
    """The services die while it waits: whoever comes after them holds it all the same."""
    before = await started(s, options=policy(s, pending_limit=2, levels=["in-place", "pod"]))
    node = shut(s, "1")
    await s.until(lambda: any(told.what == "pending" for told in s.all(DeadlinePassed)), "the limit passes")
    s.kill()
    s.start()
    await s.ready()
    assert (s.all(RecoveryFailed), s.all(IncidentClosed)) == ([], [])
    s.k.nodes.uncordon(node)
    await recovered(s, Level.POD)
    assert uids(s)["0"] == before["0"]


@pytest.mark.parametrize(
    ("image", "seat", "why"),
    [
        ("old:1", "1", "not pod: replacing a task needs torch >= 2.0.0, worker-0 has 1.13.1+cu117"),
        ("train:1", "0", "not pod: the task to be replaced holds rank 0"),
    ],
    ids=["an old torch", "the master"],
)
async def test_a_pod_that_cannot_be_replaced_alone_costs_the_whole_job_and_it_is_told_why(
    s: Keepstep, image: str, seat: str, why: str
) -> None:
    (data(s) / "old" / "torch-1.13.1+cu117.dist-info").mkdir(parents=True)
    before = await started(s, image=image)
    delete(s, seat)
    await recovered(s, Level.JOB)
    assert not set(uids(s).values()) & set(before.values())
    assert why in s.all(RecoveryPlanned)[0].because
    assert len(s.all(IncidentOpened)) == 1
    await s.k.until(lambda: [event for event in planned_events(s) if why in event])


def planned_events(s: Keepstep) -> list[str]:
    """Return what the Kubernetes Events of the job say of its plans."""
    events = s.k.store.list(kinds.EVENT, "default")
    ours = [event for event in events if event["involvedObject"]["kind"] == "Job"]
    return [event["message"] for event in ours if event["reason"] == "RecoveryPlanned"]
