"""An incident whose course is disturbed: API server away or throttling, a gap in the watch, keepstep itself killed.

Each time there is one incident and one restart, and a training that nothing happened to is left alone.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Level, LossCause, Outcome
from tests.share import share_of, todays

from ..server import kinds
from ..server.access import Ask
from ..server.errors import ApiError, throttled, unavailable
from .services import Keepstep, keepstep_on
from .stack import kube_stack
from .story import alone, delete, policy, recovered, resumptions, started, uids
from .trainings import NAME

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]

M = TypeVar("M", bound=Message)

GENEROUS = {"count": 1000}
READS = frozenset({"get", "list", "watch"})
SHARE = share_of(3)
POINTS: tuple[type[Message], ...] = (
    e.FaultDetected,
    e.IncidentOpened,
    e.FaultDiagnosed,
    e.CheckpointChosen,
    e.RecoveryPlanned,
    e.RecoveryStarted,
    e.TaskReleased,
    e.TaskJoined,
    e.RanksStarted,
    e.FirstStepDone,
    e.JobResumed,
)
"""What is said in a restart of the whole job. KEEPSTEP_TEST_SHARE=1 strikes at every one of them, 3 at every third."""


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=1) as k, keepstep_on(k) as stack:
        yield stack


@dataclass
class Throttle:
    """Answers two of three writes of each resource with 429 and Retry-After."""

    writes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __call__(self, ask: Ask) -> ApiError | None:
        if ask.verb in READS:
            return None
        self.writes[ask.resource] += 1
        if self.writes[ask.resource] % 3 == 0:
            return None
        self.refused[ask.resource] += 1
        return throttled(1)


def retries(s: Keepstep) -> int:
    """Return what the Volcano job's own counter of restarts says."""
    return int(s.k.store.get(kinds.VOLCANO_JOB, NAME, "default")["status"].get("retryCount", 0))


async def test_a_training_steps_on_without_the_api_server_and_a_rank_of_it_is_restarted(s: Keepstep) -> None:
    before = await started(s)
    async with s.k.outage():
        step = s.slots(NAME)[0].step
        await asyncio.sleep(15)  # the length of the outage is the story
        assert s.slots(NAME)[0].step > step + 50
        assert (s.all(e.FaultDetected), s.all(e.IncidentOpened)) == ([], [])
        s.kill_rank(NAME, 1)
        await recovered(s, Level.IN_PLACE)
    await told_of_the_end(s)
    assert uids(s) == before
    assert s.all(e.TaskLost) == []


async def test_a_pod_that_went_in_a_gap_of_the_watch_is_found_by_the_list_after_410(s: Keepstep) -> None:
    """Nobody sees the pod go, nor its successor come: when the watch is asked for again its version is forgotten."""
    before = await started(s)
    app = s.k.server.app
    app.refuse = lambda ask: unavailable() if ask.verb == "watch" else None
    app.watches.close_all()
    delete(s, "1")
    await s.k.until(lambda: uids(s).get("1", before["1"]) != before["1"])
    s.k.store.compact()
    lists = listed(s)
    app.refuse = lambda _: None
    await recovered(s, Level.POD, first=Level.IN_PLACE)
    assert listed(s) > lists
    assert [lost.by for lost in s.all(e.TaskLost)] == [LossCause.UNKNOWN]
    assert uids(s)["0"] == before["0"]


async def test_a_gap_with_410_in_the_middle_of_a_restart_neither_hides_nor_repeats_anything(s: Keepstep) -> None:
    before = await started(s)
    delete(s, "1")
    await s.until(lambda: s.all(e.RecoveryStarted), "the restart begins")
    app = s.k.server.app
    app.refuse = lambda ask: unavailable() if ask.verb == "watch" else None
    app.watches.close_all()
    await s.k.until(lambda: uids(s).get("1", before["1"]) != before["1"])
    s.k.store.compact()
    app.refuse = lambda _: None
    await recovered(s, Level.POD)
    assert [lost.by for lost in s.all(e.TaskLost)] == [LossCause.DELETED]
    assert uids(s)["0"] == before["0"]


async def test_a_restart_that_is_throttled_is_done_once(s: Keepstep) -> None:
    """Two writes of three are answered with 429: a Volcano Command among them must not be lost, nor sent twice."""
    before = await started(s, JobKind.VOLCANO, options=policy(s, levels=["job"]))
    throttle = s.k.server.app.refuse = Throttle()
    s.kill_rank(NAME, 1)
    await recovered(s, Level.JOB)
    assert all(throttle.refused[resource] >= 2 for resource in ("jobs", "commands", "pods")), throttle
    assert retries(s) == 1
    assert not set(uids(s).values()) & set(before.values())


@pytest.mark.parametrize(
    ("kind", "level", "seconds"),
    [(JobKind.VOLCANO, Level.JOB, 15), (JobKind.JOB, Level.POD, 60)],
    ids=["15 s of a job's restart", "60 s of a pod's replacement"],
)
async def test_a_restart_goes_on_when_the_api_server_is_back(
    s: Keepstep, kind: JobKind, level: Level, seconds: float
) -> None:
    before = await started(s, kind, options=policy(s, levels=[level]))
    if level is Level.POD:
        delete(s, "1")
    else:
        s.kill_rank(NAME, 1)
    await s.until(lambda: s.all(e.RecoveryStarted), "the restart begins")
    async with s.k.outage():
        await s.k.server.down()
        await asyncio.sleep(seconds)  # the length of the outage is the story
        assert s.all(e.IncidentClosed) == []
        await s.k.server.up()
    await recovered(s, level)
    kept = set(uids(s).values()) & set(before.values())
    assert len(kept) == (1 if level is Level.POD else 0)
    if kind is JobKind.VOLCANO:
        assert retries(s) == 1


async def restartable(s: Keepstep) -> None:
    """Start a training that is made anew as a whole, as often as it takes."""
    await started(s, options=policy(s, levels=["job"], unknown=GENEROUS, crash=GENEROUS, instant_failure=0))


async def test_keepstep_may_die_at_any_point_of_a_restart(s: Keepstep) -> None:
    """All six services are killed at once, again and again in one training, each time at another point."""
    await restartable(s)
    for generation, point in enumerate(todays(POINTS, SHARE), 2):
        await restarted_through(s, point, generation)
    assert s.k.store.get(kinds.JOB, NAME, "default")["status"].get("failed", 0) == 0


async def restarted_through(s: Keepstep, point: type[Message], generation: int) -> None:
    """Kill a rank, kill keepstep when the point is seen, and see one restart make this generation."""
    before, old = set(s.said), uids(s)
    s.kill_rank(NAME, generation % 2)
    await s.until(lambda: heard(s, before, point), f"{point.__name__} of generation {generation}")
    s.kill()
    s.start()
    await s.ready()
    await s.until(lambda: heard(s, before, e.IncidentClosed), f"closed after a blow at {point.__name__}")
    await s.stepping(NAME, 2, generation)
    steps = [(told.from_generation, told.to_generation) for told in heard(s, before, e.RecoveryStarted)]
    assert steps == [(generation - 1, generation)], s.told()
    assert [told.outcome for told in heard(s, before, e.IncidentClosed)] == [Outcome.RESUMED]
    assert len(heard(s, before, e.IncidentOpened)) == 1, s.told()
    assert not set(uids(s).values()) & set(old.values())
    assert len(resumptions(s)) < generation
    await alone(s)


def listed(s: Keepstep) -> int:
    """Return how often the pods were listed."""
    return sum((call.verb, call.resource) == ("list", "pods") for call in s.k.server.app.calls)


def heard(s: Keepstep, before: set[str], kind: type[M]) -> list[M]:
    """Return the messages of a type that were not there before."""
    return [told for name, told in s.said.items() if name not in before and isinstance(told, kind)]


async def told_of_the_end(s: Keepstep) -> None:
    """Return once the cluster was told that the incident is over: what an outage held up comes after it."""

    def told() -> bool:
        events = s.k.store.list(kinds.EVENT, "default")
        return any(event["reason"] == "IncidentClosed" for event in events)

    await s.k.until(told, within=90)
