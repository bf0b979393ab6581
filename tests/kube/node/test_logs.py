"""``kubectl logs`` of a job: what each pod's ranks printed, in every generation, in order and once."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keepstep.contracts.events import IncidentClosed, JobResumed, JobSucceeded
from keepstep.contracts.taxonomy import Outcome

from ..server.objects import Obj
from .images import ROOT
from .services import Keepstep, keepstep_on
from .stack import kube_stack
from .story import data, delete, uids
from .trainings import NAME, training

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]

TALKING = ROOT / "tests" / "kube" / "node" / "talking_training.py"
LINE = re.compile(r"\[rank(\d)\]: generation (\d+) (?:step (\d+)|last words)")
Said = tuple[int, int]
"""Generation and step, 0 for the last words."""


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=2) as k, keepstep_on(k) as stack:
        yield stack


def talking(*, ranks: int = 2) -> Obj:
    """Return an indexed Job of two pods that only talk."""
    job = training(ranks=ranks)
    [container] = job["spec"]["template"]["spec"]["containers"]
    container["command"][-1] = str(TALKING)
    return job


async def begun(s: Keepstep) -> dict[str, str]:
    await s.create(talking())
    await s.stepping(NAME, 4, 1)
    return uids(s)


async def resumed_and_ended(s: Keepstep) -> None:
    await s.until(lambda: s.all(IncidentClosed), "the incident is closed")
    assert [closed.outcome for closed in s.all(IncidentClosed)] == [Outcome.RESUMED], s.told()
    [resumed] = s.all(JobResumed)
    assert resumed.generation == 2
    await s.stepping(NAME, 4, 2)
    (data(s) / "enough").touch()
    await s.until(lambda: s.all(JobSucceeded), "the job succeeds")
    await s.k.until(lambda: {pod["status"]["phase"] for pod in s.k.pods(NAME)} == {"Succeeded"})


async def logs(s: Keepstep, pod: Obj) -> list[str]:
    """Return what ``kubectl logs POD`` shows."""
    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/log"
    reply = await s.k.http.get(path, params={"container": "main"})
    assert reply.status_code == 200, reply.text
    return reply.text.splitlines()


async def told(s: Keepstep) -> dict[int, list[Said]]:
    """Return what the logs of the pods that are there say of each rank, in their order, streams apart."""
    found: dict[int, list[Said]] = {}
    for pod in s.k.pods(NAME):
        for line in await logs(s, pod):
            if (said := LINE.fullmatch(line)) is not None:
                found.setdefault(int(said[1]), []).append((int(said[2]), int(said[3] or 0)))
    return found


def expect_whole(said: list[Said], *generations: int) -> None:
    """Every step of these generations is there once, in order; those on the other stream have their own order."""
    assert [generation for generation, _ in said] == sorted(generation for generation, _ in said)
    assert sorted({generation for generation, _ in said}) == list(generations)
    for number in generations:
        steps = [step for generation, step in said if generation == number and step]
        assert sorted(steps) == list(range(1, len(steps) + 1)), f"of generation {number} some are missing or twice"
        for stream in ([s for s in steps if s % 10], [s for s in steps if s % 10 == 0]):
            assert stream == sorted(stream)
    assert said.count((generations[-1], 0)) == 1, "the last line, which has no end, once"


async def test_the_logs_of_a_job_hold_what_all_generations_printed_once_and_in_order(s: Keepstep) -> None:
    before = await begun(s)
    s.kill_rank(NAME, 3)
    await resumed_and_ended(s)
    assert {pod["metadata"]["uid"] for pod in s.k.pods(NAME)} == set(before.values())
    said = await told(s)
    assert sorted(said) == [0, 1, 2, 3]
    for rank in said:
        expect_whole(said[rank], 1, 2)


async def test_the_log_of_a_pod_that_stays_goes_on_beside_that_of_the_one_that_is_new(s: Keepstep) -> None:
    before = await begun(s)
    delete(s, "1")
    await resumed_and_ended(s)
    said = await told(s)
    assert before["0"] in {pod["metadata"]["uid"] for pod in s.k.pods(NAME)}
    for rank in (0, 1):
        expect_whole(said[rank], 1, 2)
    for rank in (2, 3):
        expect_whole(said[rank], 2)
