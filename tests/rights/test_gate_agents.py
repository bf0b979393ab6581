"""How agents get and keep their rights: bound, renewed, run out, and while the gate is away."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import nats
from nats.errors import Error

from keepstep.agent.late_bus import LateBus, renewal_of
from keepstep.agent.proof import Proof
from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.subjects import AGENT, kind_pattern
from keepstep.runtime.client import Client
from keepstep.runtime.connection import answers_strangers
from keepstep.runtime.rights import DEFAULT
from keepstep.runtime.rights_of_pods import RIGHTS_LAST, Caller, pod_inbox
from tests.rights.gated import Gated

JOB, TASK = JobUid("job-1"), TaskUid("task-1")
LIMIT_S = 60.0
SOON = timedelta(seconds=6)


async def until(met: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not met():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.02)


def late(on: Gated, pod: dict[str, Any], path: Path, *, ask_anew: timedelta = RIGHTS_LAST) -> LateBus:
    """Return an agent's bus, with the token in a file that is looked at often."""
    proof = Proof(path, look_s=0.05)
    return LateBus(lambda: on.knocks(pod, proof), proof, ask_anew=lambda: ask_anew)


@asynccontextmanager
async def connected(bus: LateBus) -> AsyncIterator[None]:
    """Keep it connected for the block."""
    connecting = asyncio.create_task(bus.connect())
    try:
        await until(lambda: bus.connected)
        yield
    finally:
        connecting.cancel()
        await asyncio.wait({connecting})
        if bus._client is not None:
            await bus._client.close()


def client_of(bus: LateBus) -> Client:
    assert bus._client is not None
    return bus._client


async def speaks(client: Client, task: str = TASK) -> bool:
    """Return whether the words of a task are taken from this connection."""
    subject = kind_pattern(DEFAULT, "RankExited", speaker=AGENT, key=JOB, place=task)
    try:
        await client.js.publish(subject, b"{}", timeout=3)
    except (Error, TimeoutError):
        return False
    return True


async def test_an_agent_that_waits_for_its_task_gets_its_rights_before_it_is_told(on: Gated, tmp_path: Path) -> None:
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod), encoding="utf-8")
    bus = late(on, pod, path)
    async with connected(bus):
        assert not await speaks(client_of(bus))
        told = bus.bindings(pod["metadata"]["uid"])
        telling = asyncio.ensure_future(anext(told))
        await on.bind(pod, JOB, TASK)
        assert (await asyncio.wait_for(telling, LIMIT_S)).task.uid == TASK
        assert await speaks(client_of(bus))
        await on.bind(pod, JOB, "task-2")
        async with asyncio.timeout(LIMIT_S):
            while (await anext(told)).task.uid != "task-2":
                continue
        assert [await speaks(client_of(bus), task) for task in (TASK, "task-2")] == [False, True]
        await told.aclose()  # type: ignore[attr-defined]  # a generator, typed as an iterator


async def test_a_token_that_is_renewed_takes_over_without_a_gap(on: Gated, tmp_path: Path) -> None:
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod), encoding="utf-8")
    await on.bind(pod, JOB, TASK)
    bus = late(on, pod, path)
    async with connected(bus):
        former, gaps = client_of(bus), 0

        def taken_over() -> bool:
            nonlocal gaps
            gaps += not bus.connected
            return client_of(bus) is not former

        path.write_text(on.token(pod), encoding="utf-8")
        await until(taken_over)
        assert gaps == 0
        await until(lambda: former.connection.is_closed)
        assert await speaks(client_of(bus))


async def test_a_token_that_runs_out_ends_the_connection_and_the_next_one_opens_it(on: Gated, tmp_path: Path) -> None:
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod, seconds=8), encoding="utf-8")
    await on.bind(pod, JOB, TASK)
    proof = Proof(path, look_s=3600)
    bus = LateBus(lambda: on.knocks(pod, proof), proof, ask_anew=lambda: RIGHTS_LAST)
    async with connected(bus):
        former = client_of(bus)
        await until(former.link.closed.is_set)
        assert not bus.connected
        path.write_text(on.token(pod), encoding="utf-8")
        await until(lambda: bus.connected)
        assert await speaks(client_of(bus))


async def test_rights_end_soon_and_an_agent_that_asks_anew_has_no_gap(on: Gated, tmp_path: Path) -> None:
    await on.close_gates()
    await on.open_gate(lasts=SOON)
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod), encoding="utf-8")
    await on.bind(pod, JOB, TASK)
    bus = late(on, pod, path, ask_anew=SOON / 4)
    async with connected(bus):
        first, since, gaps, seen = client_of(bus), time.monotonic(), 0, {id(client_of(bus))}
        while time.monotonic() - since < 2 * SOON.total_seconds():
            gaps += not bus.connected
            seen.add(id(client_of(bus)))
            await asyncio.sleep(0.02)  # a gap has no event
        assert (first.connection.is_closed, gaps) == (True, 0)
        assert len(seen) > 2
        assert await speaks(client_of(bus))


async def test_who_keeps_the_rights_of_a_former_task_loses_them_soon(on: Gated, tmp_path: Path) -> None:
    """An agent that was taken over and does not hang up went on for as long as its token counted, an hour."""
    await on.close_gates()
    await on.open_gate(lasts=SOON)
    pod = on.pod("bert-0")
    await on.bind(pod, JOB, TASK)
    kept = await nats.connect(
        on.bus.address,
        user=Caller(DEFAULT, pod["metadata"]["uid"]).user,
        password=on.token(pod),
        inbox_prefix=pod_inbox(pod["metadata"]["uid"]),
        allow_reconnect=False,
    )
    since = time.monotonic()
    await on.bind(pod, JOB, "task-2")
    await until(lambda: kept.is_closed)
    assert time.monotonic() - since < LIMIT_S / 2
    anew = await on.knocks(pod, on.token(pod))
    assert [await speaks(anew, task) for task in (TASK, "task-2")] == [False, True]
    await anew.close()


def test_agents_ask_anew_well_before_their_rights_end() -> None:
    asked = [renewal_of(share) for share in (0.0, 0.5, 1.0)]
    assert asked == sorted(asked)
    assert RIGHTS_LAST * 2 / 5 == asked[0] < asked[-1] == RIGHTS_LAST * 3 / 5
    assert RIGHTS_LAST - asked[-1] > timedelta(minutes=3), "so long may the gate be away"


async def test_while_the_gate_is_away_who_is_in_goes_on_and_who_comes_waits(on: Gated, tmp_path: Path) -> None:
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod), encoding="utf-8")
    await on.bind(pod, JOB, TASK)
    bus = late(on, pod, path)
    async with connected(bus):
        former = client_of(bus)
        await on.close_gates()
        assert not await answers_strangers(on.bus.address)
        path.write_text(on.token(pod), encoding="utf-8")
        coming = asyncio.create_task(on.knocks(pod, on.token(pod)))
        await asyncio.sleep(9)  # longer than the bus waits for its gate
        assert await speaks(former)
        assert client_of(bus) is former
        assert not coming.done()
        await on.open_gate()
        assert await answers_strangers(on.bus.address)
        await (await asyncio.wait_for(coming, LIMIT_S)).close()
        await until(lambda: client_of(bus) is not former)
        assert await speaks(client_of(bus))
