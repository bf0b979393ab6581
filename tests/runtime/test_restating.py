"""What outlives the stream's memory: folds that are said again every day, and rebuilt from there when all is gone."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from keepstep.contracts.events import DeadlinePassed, FoldRestated
from keepstep.contracts.ids import EventId, Pool
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names, restating
from keepstep.runtime.advance import Advance, Step, advance, wants_of
from keepstep.runtime.client import Client
from keepstep.runtime.fold import Fold
from keepstep.runtime.packing import pack, unpack
from keepstep.runtime.restating import EVERY, WHAT, restored
from keepstep.runtime.stage import Stage
from tests.runtime.conftest import Running, until_said
from tests.runtime.stages import NOON, Count, Probe, report, until

POOL = Pool("p")
KEY = "job-1"


def stage(*, over: bool = False) -> Stage[Count]:
    return Stage(
        service=Service.DIAGNOSER,
        hears=(),
        state=Count,
        fold_key=lambda message: message.key,
        decide=Probe().decide,
        over=lambda _count: over,
    )


def passed(due: datetime, *, service: Service = Service.DIAGNOSER, what: str = WHAT) -> DeadlinePassed:
    fields = {"id": EventId(f"due-{what}-{due.isoformat()}"), "time": due, "pool": POOL}
    return DeadlinePassed(**fields, service=service, scope=KEY, what=what, due=due)


def run(fold: Fold[Count] | None, *messages: Message, at: int = 1) -> Advance[Count]:
    """Fold the messages, an hour apart."""
    steps = [Step(at + n, NOON + (at + n) * timedelta(hours=1), message) for n, message in enumerate(messages)]
    return advance(stage(), KEY, fold, steps)


def known() -> Fold[Count]:
    fold = run(None, report(POOL, "a"), report(POOL, "b")).fold
    assert fold is not None
    return fold


def test_a_fold_is_restated_a_day_after_it_began_and_every_day_from_then_on() -> None:
    fold = known()
    assert [each.due for each in wants_of(stage(), fold).deadlines] == [NOON + timedelta(hours=1) + EVERY]
    after = run(fold, passed(NOON + timedelta(hours=1) + EVERY), at=25).fold
    assert after is not None
    (said,) = after.outbox
    assert isinstance(said, FoldRestated)
    assert (said.service, said.scope, said.through) == (Service.DIAGNOSER, KEY, 25)
    assert restored(Count, said) == Fold(after.state, 25, job=after.job, restated=after.restated)
    assert [each.due for each in wants_of(stage(), after).deadlines] == [NOON + timedelta(hours=25) + EVERY]


def test_a_restatement_is_the_last_that_a_write_says() -> None:
    due = passed(NOON + timedelta(hours=1) + EVERY)
    result = run(known(), report(POOL, "c"), due, report(POOL, "d"), at=25)
    assert result.taken == 2
    assert result.fold is not None
    assert [type(said).__name__ for said in result.fold.outbox] == ["FaultCleared", "FoldRestated"]


def test_a_deadline_that_was_kept_already_restates_nothing() -> None:
    due = passed(NOON + timedelta(hours=1) + EVERY)
    again = run(run(known(), due, at=25).fold, due, at=26).fold
    assert again is not None
    assert (again.outbox, again.applied) == ((), 26)


def test_a_fold_that_was_dropped_is_not_brought_back_by_its_deadline() -> None:
    assert run(None, passed(NOON)).fold is None


def test_a_fold_that_is_over_waits_for_no_restatement() -> None:
    assert wants_of(stage(over=True), known()).deadlines == ()


def test_a_deadline_of_the_stage_itself_reaches_it() -> None:
    fold = run(known(), passed(NOON, what="bell"), at=3).fold
    assert fold is not None
    assert fold.state.passed == ("bell",)


def test_a_fold_from_before_there_were_restatements_is_restated_at_once() -> None:
    old = Fold(Count(seen=("a",)), applied=1)
    (due,) = wants_of(stage(), old).deadlines
    assert due.due < NOON
    fold = run(old, passed(due.due), at=2).fold
    assert fold is not None
    assert len(fold.outbox) == 1


@pytest.mark.parametrize(("length", "limit"), [(0, 0), (2, 16), (3, 100), (100_000, 10_000)])
def test_a_packed_text_is_unpacked_the_same(length: int, limit: int) -> None:
    text = '{"ä": 1}' * length
    packed = pack(text, over=20)
    assert unpack(packed) == text
    assert (packed == text, len(packed) <= limit) == (length < 3, True)


async def restatements(client: Client) -> AsyncIterator[tuple[int, FoldRestated]]:
    """Yield the restatements that are in the stream, with their sequences."""
    async for entry in client.read(kind=FoldRestated.__name__):
        assert isinstance(entry.message, FoldRestated)
        yield entry.sequence, entry.message


async def test_what_the_stream_forgot_is_known_from_the_restatement_and_what_came_after_it(
    client: Client, start: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restating, "EVERY", timedelta(seconds=0.2))
    first = Probe()
    async with start(first.app()):
        for name in ("a", "b"):
            await client.say(report(client.pool, name))

        async def restated_twice() -> bool:
            return len([each async for each in restatements(client)]) >= 2

        await until(restated_twice)
        await client.say(report(client.pool, "c"))
        await until_said(client, "a", "b", "c")
    last = max([sequence async for sequence, _ in restatements(client)])
    await client.js.purge_stream(names.stream_name(client.pool), seq=last)
    await client.js.purge_stream(f"KV_{names.folds_room(client.pool, Service.DIAGNOSER)}")
    again = Probe()
    async with start(again.app()):
        assert again.states[KEY].seen == ("a", "b", "c")
        assert "a" not in again.decided
