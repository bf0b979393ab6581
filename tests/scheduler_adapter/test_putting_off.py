"""The cluster is not listed in the middle of a burst, nor is that put off for longer than was said."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.ids import EventId, JobUid
from keepstep.ports.cluster import TaskStatus
from keepstep.scheduler_adapter.comparing import compare_listings
from keepstep.scheduler_adapter.core.putting_off import ASKED_EVERY, MANY, put_off
from keepstep.scheduler_adapter.settings import Settings
from keepstep.scheduler_adapter.telling import Said
from tests.scheduler_adapter.room import Cluster, Room

NONE, SECOND = timedelta(), timedelta(seconds=1)
LONGEST = 10 * SECOND


@pytest.mark.parametrize(
    ("told", "waited", "expected"),
    [
        (0, NONE, NONE),
        (MANY - 1, NONE, NONE),
        (MANY, NONE, ASKED_EVERY),
        (20 * MANY, 5 * SECOND, ASKED_EVERY),
        (20 * MANY, LONGEST - 0.3 * SECOND, 0.3 * SECOND),
        (20 * MANY, LONGEST, NONE),
        (20 * MANY, LONGEST + SECOND, NONE),
    ],
)
def test_a_listing_waits_while_the_watch_tells_much_and_never_beyond_its_bound(
    told: int, waited: timedelta, expected: timedelta
) -> None:
    assert put_off(told, waited, longest=LONGEST) == expected


def test_a_watch_that_is_busy_for_ever_puts_a_listing_off_for_the_longest_time_and_no_more() -> None:
    waited = NONE
    while pause := put_off(20 * MANY, waited, longest=LONGEST):
        waited += pause
    assert waited == LONGEST


class Moving(SystemClock):
    """A clock that can be turned on."""

    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Listed(Cluster):
    """A cluster that notes its listings."""

    def __init__(self) -> None:
        super().__init__()
        self.listings = asyncio.Queue[float]()

    async def tasks(self, job: JobUid | None = None) -> tuple[TaskStatus, ...]:
        self.listings.put_nowait(asyncio.get_running_loop().time())
        return await super().tasks(job)


@contextmanager
def comparing(cluster: Listed, clock: Moving, *, told: int, longest: timedelta) -> Iterator[None]:
    """Compare every millisecond, after the watch has told so many words, and put it off so long at most."""
    said = Said(clock)
    for number in range(told):
        said.note(EventId(f"id-{number}"))
    settings = Settings(compare_every=timedelta(milliseconds=1), compare_put_off=longest)
    context = replace(Room().context, clock=clock)
    beside = asyncio.create_task(compare_listings(cluster, context, settings, said))
    yield
    beside.cancel()


async def test_a_burst_is_over_before_the_cluster_is_listed() -> None:
    """Of 10,000 nodes the periodic listing was 13 % of the CPU before the decisions on 200 that were lost."""
    clock, cluster = Moving(), Listed()
    with comparing(cluster, clock, told=MANY, longest=timedelta(hours=1)):
        await asyncio.sleep(0.3)  # three hundred times the pace
        assert cluster.listings.empty()
        clock.ahead = 6
        for _ in range(2):
            await asyncio.wait_for(cluster.listings.get(), 5)


async def test_a_few_losses_put_nothing_off() -> None:
    cluster = Listed()
    with comparing(cluster, Moving(), told=MANY - 1, longest=timedelta(hours=1)):
        await asyncio.wait_for(cluster.listings.get(), 5)


async def test_a_burst_without_end_is_listed_at_the_bound() -> None:
    cluster = Listed()
    with comparing(cluster, Moving(), told=MANY, longest=timedelta(milliseconds=100)):
        listed = [await asyncio.wait_for(cluster.listings.get(), 4) for _ in range(3)]
    assert all(after - before > 0.1 for before, after in pairwise(listed))
