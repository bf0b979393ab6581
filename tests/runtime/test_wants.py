"""Deadlines and effects: functions of the fold, carried on by whoever is active."""

from datetime import timedelta

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.events import DeadlinePassed
from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Transient
from keepstep.runtime.app import Context
from keepstep.runtime.client import Client
from tests.runtime.conftest import Running
from tests.runtime.stages import Count, Probe, report, until


async def deadlines(client: Client) -> list[DeadlinePassed]:
    found = [entry.message async for entry in client.read(kind="DeadlinePassed")]
    return [message for message in found if isinstance(message, DeadlinePassed)]


async def test_a_deadline_is_said_once_and_comes_back_to_its_fold(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe()
    async with start(probe.app()):
        before = SystemClock().now()
        await client.say(report(pool, "a", condition="due", text="0.1"))
        await until(lambda: probe.states.get("job-1", Count()).passed == ("bell",))
    (passed,) = await deadlines(client)
    assert (passed.service, passed.scope, passed.what) == ("diagnoser", "job-1", "bell")
    assert passed.due - before >= timedelta(seconds=0.09)
    assert passed.job is not None
    assert passed.time >= passed.due


async def test_a_deadline_that_passed_while_nobody_was_active_is_said_at_the_start(
    client: Client, pool: Pool, start: Running
) -> None:
    probe = Probe()
    async with start(probe.app()):
        await client.say(report(pool, "a", condition="due", text="0.3"))
        await until(lambda: "job-1" in probe.states)
    assert await deadlines(client) == []
    probe = Probe()
    async with start(probe.app()):
        await until(lambda: probe.states["job-1"].passed == ("bell",))


async def test_an_effect_is_done_once_while_it_is_wanted(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe(ring_raises=[Transient("busy", retry_after=timedelta(seconds=0.01)), ValueError("a bug")])
    async with start(probe.app()):
        await client.say(report(pool, "a", condition="ring", text="bell-1"))
        await client.say(report(pool, "b"))
        await until(lambda: probe.rung == ["bell-1"])
        await client.say(report(pool, "c", condition="ring", text="bell-2"))
        await until(lambda: probe.rung == ["bell-1", "bell-2"])


async def test_an_effect_that_is_still_wanted_is_taken_up_by_the_next(
    client: Client, pool: Pool, start: Running
) -> None:
    first = Probe(ring_raises=[Transient("busy", retry_after=timedelta(hours=1)) for _ in range(3)])
    async with start(first.app()):
        await client.say(report(pool, "a", condition="ring", text="bell"))
        await until(lambda: len(first.ring_raises) < 3)
    second = Probe()
    async with start(second.app()):
        await until(lambda: second.rung == ["bell"])
    assert first.rung == []


async def test_a_word_of_an_effect_that_no_stream_takes_is_a_dead_letter_and_the_effect_is_done(
    client: Client, pool: Pool, start: Running
) -> None:
    unsayable = report(pool, "x", text="x" * client.connection.max_payload)
    probe = Probe(ring_says=[unsayable])
    async with start(probe.app()):
        await client.say(report(pool, "a", condition="ring", text="bell"))
        await until(lambda: any_letter(client, about="NodeReported"))
    assert probe.rung == ["bell"]


async def test_a_word_of_a_background_task_that_no_stream_takes_is_a_dead_letter_and_the_task_goes_on(
    client: Client, pool: Pool, start: Running
) -> None:
    went_on: list[str] = []

    async def background(context: Context[Count]) -> None:
        await context.say(report(pool, "x", text="x" * client.connection.max_payload))
        went_on.append(context.pool)

    async with start(Probe(background=(background,)).app()):
        await until(lambda: went_on == [pool])
    assert await any_letter(client, about="NodeReported")


async def any_letter(client: Client, *, about: str) -> bool:
    return any(f".{about}." in letter.subject for letter in await client.dead_letters.list())


async def test_a_background_task_runs_while_active_and_again_after_it_fails(start: Running) -> None:
    runs: list[str] = []

    async def background(context: Context[Count]) -> None:
        runs.append(context.pool)
        if len(runs) == 1:
            raise ValueError("once")

    async with start(Probe(background=(background,)).app()):
        await until(lambda: len(runs) == 2)
