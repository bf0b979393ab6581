"""What a burst of messages costs: a run of them asks the fold once what it wants, and timers are found, not sought."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Deadline, Effect
from keepstep.runtime.advance import Advance, Step, advance
from keepstep.runtime.deadlines import Deadlines
from keepstep.runtime.stage import Stage
from keepstep.runtime.tasks import end
from tests.runtime.stages import NOON, Count, Probe, Ring, report

POOL = Pool("p")


class Asked:
    """A stage that counts how often it is asked what its fold wants, and cannot tell for one that saw ``broken``."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken
        self.times = 0

    def effects(self, count: Count) -> Iterable[Effect]:
        self.times += 1
        if self.broken in count.seen:
            raise ValueError(count.seen[-1])
        return [Ring(name=count.seen[-1])]

    def run(self, *names: str) -> Advance[Count]:
        stage = Stage(
            service=Service.DIAGNOSER,
            hears=(),
            state=Count,
            fold_key=lambda message: message.key,
            decide=Probe().decide,
            effects=self.effects,
        )
        steps = [Step(at, NOON, report(POOL, name)) for at, name in enumerate(names, 1)]
        return advance(stage, "job-1", None, steps)


def test_a_run_of_messages_asks_once_what_the_fold_wants() -> None:
    asked = Asked()
    run = asked.run(*(f"m{at}" for at in range(64)))
    assert (run.taken, asked.times) == (64, 1)
    assert [effect.id for effect in run.wants.effects] == ["m63"]


@pytest.mark.parametrize(("names", "taken", "wanted"), [("abX", 2, ["b"]), ("aXb", 1, ["a"]), ("X", 0, [])])
def test_a_fold_that_cannot_tell_what_it_wants_is_the_fault_of_the_message_that_led_there(
    names: str, taken: int, wanted: list[str]
) -> None:
    run = Asked("X").run(*names)
    assert isinstance(run.error, ValueError)
    assert run.taken == taken
    assert str(run.error) == names[taken], "the reason is that of the message that is put aside"
    assert (run.fold is not None) is bool(taken)
    assert [effect.id for effect in run.wants.effects] == wanted


async def test_timers_of_hundreds_of_deadlines_are_found_without_comparing_each_with_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def say(_message: Message) -> None:
        raise AssertionError("nothing is due")

    compared = 0
    before = Deadline.__eq__

    def counted(one: Deadline, other: object) -> bool:
        nonlocal compared
        compared += 1
        return before(one, other)

    def waited() -> list[Deadline]:
        due = SystemClock().now() + timedelta(hours=1)
        return [Deadline(what=f"expiry/n{at}", due=due.replace(microsecond=0)) for at in range(200)]

    timers = Deadlines(Service.ISOLATOR, POOL, clock=SystemClock(), say=say)
    wanted = waited()
    monkeypatch.setattr(Deadline, "__eq__", counted)
    timers.reconcile("pool", wanted, job=None)
    timers.reconcile("pool", [one.model_copy() for one in wanted[1:]], job=None)
    tasks = timers.close()
    await end(tasks)
    assert len(tasks) == 199
    assert compared < 2_000, "of 200 by 200"
    await asyncio.sleep(0)
