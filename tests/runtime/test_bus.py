"""What is lost between the server and us is noticed."""

import pytest

from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Transient
from keepstep.runtime.arrival import Receipt
from keepstep.runtime.bus import Gaps
from keepstep.runtime.client import Client
from keepstep.runtime.lanes import Lanes
from keepstep.runtime.tail import Stored
from tests.runtime.conftest import Running, until_said
from tests.runtime.stages import NOON, Count, Probe, report


def delivered(number: int) -> Stored:
    return Stored(sequence=10 + number, time=NOON, subject="s", headers={}, body=b"", delivery=number)


def test_a_missing_delivery_is_noticed_at_the_next_one() -> None:
    gaps = Gaps()
    gaps.check(delivered(1))
    gaps.check(delivered(2))
    with pytest.raises(Transient, match="4 came instead of 3"):
        gaps.check(delivered(4))


async def test_a_lost_delivery_is_fetched_again_in_order(
    client: Client, pool: Pool, start: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, lost = Gaps.check, list[int]()

    def losing(self: Gaps, stored: Stored) -> None:
        if b'"b"' in stored.body and not lost:
            lost.append(stored.delivery)
            return
        original(self, stored)

    taken = Lanes.take

    async def take(self: Lanes[Count], stored: Stored, receipt: Receipt) -> None:
        if lost and stored.delivery == lost[0] and b'"b"' in stored.body:
            lost[0] = 0
            return
        await taken(self, stored, receipt)

    monkeypatch.setattr(Gaps, "check", losing)
    monkeypatch.setattr(Lanes, "take", take)
    probe = Probe()
    async with start(probe.app()):
        for name in ("a", "b", "c"):
            await client.say(report(pool, name))
        await until_said(client, "a", "b", "c")
    assert lost == [0]
    assert probe.decided == ["a", "b", "c"]
