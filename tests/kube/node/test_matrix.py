"""The levels of each kind on real trainings: who is made anew and who is not, and what it costs the job itself."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from keepstep.adapters.kube_owner import JobKind
from keepstep.contracts.taxonomy import Level

from ..server import kinds
from ..server.kinds import Kind
from .services import Keepstep, keepstep_on
from .stack import kube_stack
from .story import in_seat, recovered, started, uids

V, P, T, S, J = JobKind.VOLCANO, JobKind.PYTORCHJOB, JobKind.TRAINJOB, JobKind.JOBSET, JobKind.JOB
STORED: Mapping[JobKind, Kind] = {
    V: kinds.VOLCANO_JOB,
    P: kinds.PYTORCH_JOB,
    T: kinds.TRAIN_JOB,
    S: kinds.JOB_SET,
    J: kinds.JOB,
}
IN_PLACE = [V, J]
PODS = [(J, "Never", 1)]
"""Kinds that let one pod be made anew, what a PyTorchJob must say for it, and what the job's own counter gains."""
JOBS = [(V, 1), (T, 0), (J, 0)]
"""Kinds, and what their own counter gains when all pods are made anew."""
pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=1) as k, keepstep_on(k) as stack:
        yield stack


def paid(s: Keepstep, kind: JobKind) -> int:
    """Return what the job's own counter of restarts or failures says."""
    status = s.k.store.get(STORED[kind], "j", "default").get("status", {})
    return int(status.get("retryCount", 0) + status.get("restarts", 0) + (status.get("failed", 0) if kind is J else 0))


@pytest.mark.parametrize("kind", IN_PLACE)
async def test_in_place_no_pod_is_made_anew_and_nothing_is_paid(s: Keepstep, kind: JobKind) -> None:
    before = await started(s, kind)
    s.kill_rank("j", 1)
    await recovered(s, Level.IN_PLACE)
    assert (uids(s), paid(s, kind)) == (before, 0)


@pytest.mark.parametrize(("kind", "restart", "cost"), PODS)
async def test_at_level_pod_only_the_lost_pod_is_made_anew(s: Keepstep, kind: JobKind, restart: str, cost: int) -> None:
    before = await started(s, kind, restart=restart)
    seat = max(before)
    s.k.store.delete(kinds.POD, in_seat(s, seat)[0], "default")
    await recovered(s, Level.POD)
    after = uids(s)
    assert {place for place in before if after.get(place) != before[place]} == {seat}
    assert (len(after), paid(s, kind)) == (2, cost)


@pytest.mark.parametrize(("kind", "cost"), JOBS)
async def test_at_level_job_every_pod_is_made_anew(s: Keepstep, tmp_path: Path, kind: JobKind, cost: int) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[recovery]\nlevels = ["job"]\n', encoding="utf-8")
    before = await started(s, kind, options=(f"--policy={policy}",))
    s.kill_rank("j", 1)
    await recovered(s, Level.JOB)
    after = uids(s)
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    assert paid(s, kind) == cost
