"""How agents get and keep their rights: bound, renewed, run out, and while the gate is away."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nats.errors import Error

from keepstep.agent.late_bus import LateBus
from keepstep.agent.proof import Proof
from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.subjects import AGENT, kind_pattern
from keepstep.runtime.client import Client
from keepstep.runtime.connection import answers_strangers
from keepstep.runtime.rights import DEFAULT
from tests.rights.gated import Gated

JOB, TASK = JobUid("job-1"), TaskUid("task-1")
LIMIT_S = 60.0


async def until(met: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not met():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.02)


def late(on: Gated, pod: dict[str, Any], path: Path) -> LateBus:
    """Return an agent's bus, with the token in a file that is looked at often."""
    proof = Proof(path, look_s=0.05)
    return LateBus(lambda: on.knocks(pod, proof), proof)


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
    bus = LateBus(lambda: on.knocks(pod, proof), proof)
    async with connected(bus):
        former = client_of(bus)
        await until(former.link.closed.is_set)
        assert not bus.connected
        path.write_text(on.token(pod), encoding="utf-8")
        await until(lambda: bus.connected)
        assert await speaks(client_of(bus))


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
