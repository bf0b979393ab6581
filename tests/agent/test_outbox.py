"""Nothing that was said is lost with the bus or with the agent; order is kept."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.agent.outbox import Outbox, Say
from keepstep.agent.reconcile import Launcher, SayApplied
from keepstep.agent.report import Cause, Reporter
from keepstep.contracts.events import LogMatched, PlanApplied
from keepstep.contracts.ids import EventId
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Applied, Category
from keepstep.ports.errors import Permanent, Transient
from tests.agent.makers import EPOCH, JOB, NODE, TASK, launch, until


def urgent(generation: int) -> PlanApplied:
    said = SayApplied(generation, Applied.STARTED)
    return Reporter(launch(), NODE).applied(EPOCH, said, Launcher(), ports=(), about=Cause())


def bulk(offset: int) -> LogMatched:
    return LogMatched(
        id=EventId(f"log-{offset}"), time=EPOCH, pool=launch().pool, job=JOB, task=TASK.uid,
        rank=0, rule="nan", category=Category.UNKNOWN, line="Loss nan", source="out", offset=offset,
    )  # fmt: skip


class Server:
    """Takes messages while it is up."""

    def __init__(self, *, up: bool = True) -> None:
        self.up = asyncio.Event()
        self.said: list[Message] = []
        if up:
            self.up.set()

    async def say(self, message: Message) -> None:
        await self.up.wait()
        self.said.append(message)


@asynccontextmanager
async def sending(outbox: Outbox, say: Say) -> AsyncIterator[None]:
    task = asyncio.create_task(outbox.send(say))
    yield
    task.cancel()
    await asyncio.wait([task])


async def emptied(outbox: Outbox) -> None:
    await until(lambda: not len(outbox))


async def test_messages_go_out_in_order_and_are_acknowledged_after_the_server_has_them(tmp_path: Path) -> None:
    outbox, server, acked = Outbox(tmp_path / "outbox"), Server(), list[int]()
    for generation in (1, 2, 3):
        outbox.put(urgent(generation), lambda g=generation: acked.append(g))  # type: ignore[misc]  # mypy infers no type for a lambda with a default
    assert acked == []
    async with sending(outbox, server.say):
        await emptied(outbox)
    assert [message.generation for message in server.said] == acked == [1, 2, 3]


async def test_what_waits_survives_the_agent(tmp_path: Path) -> None:
    before = Outbox(tmp_path / "outbox")
    before.put(urgent(1))
    before.put(bulk(5))
    with (tmp_path / "outbox").open("a") as file:
        file.write('{"type": "PlanApplied", "mess')
    after, server = Outbox(tmp_path / "outbox"), Server()
    async with sending(after, server.say):
        await emptied(after)
    assert sorted(message.id for message in server.said) == sorted([urgent(1).id, bulk(5).id])
    assert len(Outbox(tmp_path / "outbox")) == 0


async def test_a_message_said_again_waits_once_and_both_hear_of_its_end(tmp_path: Path) -> None:
    outbox, server, acked = Outbox(tmp_path / "outbox"), Server(), list[str]()
    outbox.put(urgent(1))
    outbox.put(urgent(1), lambda: acked.append("again"))
    async with sending(outbox, server.say):
        await emptied(outbox)
    assert len(server.said) == 1
    assert acked == ["again"]


async def test_an_exit_never_waits_behind_a_refused_log_line(tmp_path: Path) -> None:
    outbox, server = Outbox(tmp_path / "outbox"), Server()

    async def say(message: Message) -> None:
        if isinstance(message, LogMatched):
            raise Transient("full", retry_after=timedelta(seconds=0.01))
        await server.say(message)

    outbox.put(bulk(1))
    outbox.put(urgent(1))
    async with sending(outbox, say):
        await asyncio.wait_for(outbox.flushed(), 5)
    assert server.said == [urgent(1)]
    assert len(outbox) == 1


async def test_what_never_will_be_taken_is_given_up(tmp_path: Path) -> None:
    outbox, server = Outbox(tmp_path / "outbox"), Server()

    async def say(message: Message) -> None:
        if message.generation == 1:
            raise Permanent("too large")
        await server.say(message)

    outbox.put(urgent(1))
    outbox.put(urgent(2))
    async with sending(outbox, say):
        await emptied(outbox)
    assert server.said == [urgent(2)]


async def test_over_the_limit_log_lines_go_before_what_recovery_waits_for(tmp_path: Path) -> None:
    outbox, server = Outbox(tmp_path / "outbox", limit=3), Server()
    for message in (bulk(1), urgent(1), bulk(2), urgent(2), urgent(3)):
        outbox.put(message)
    async with sending(outbox, server.say):
        await emptied(outbox)
    assert [message.generation for message in server.said] == [1, 2, 3]


async def test_how_long_the_server_leaves_a_message_unanswered(tmp_path: Path) -> None:
    outbox, server = Outbox(tmp_path / "outbox"), Server(up=False)
    now = asyncio.get_running_loop().time()
    assert outbox.unanswered_s(now + 60) == 0
    outbox.put(urgent(1))
    async with sending(outbox, server.say):
        await until(lambda: outbox.unanswered_s(now + 60))
        assert 59 < outbox.unanswered_s(now + 60) <= 60
        server.up.set()
        await emptied(outbox)
        assert outbox.unanswered_s(now + 60) == 0


async def test_the_file_does_not_grow_with_what_was_sent_while_one_message_waits(tmp_path: Path) -> None:
    outbox, server = Outbox(tmp_path / "outbox", limit=10), Server()

    async def say(message: Message) -> None:
        if isinstance(message, LogMatched):
            raise Transient("full", retry_after=timedelta(seconds=0.01))
        await server.say(message)

    async with sending(outbox, say):
        outbox.put(bulk(1))
        for generation in range(100):
            outbox.put(urgent(generation))
            await outbox.flushed()
    assert len(server.said) == 100
    assert len((tmp_path / "outbox").read_text().splitlines()) <= 21
    assert len(Outbox(tmp_path / "outbox")) >= 1


async def test_a_disk_that_takes_nothing_does_not_silence_the_agent(tmp_path: Path) -> None:
    outbox, server = Outbox(tmp_path / "gone" / "outbox"), Server()
    outbox.put(urgent(1))
    async with sending(outbox, server.say):
        await emptied(outbox)
    assert server.said == [urgent(1)]


@pytest.mark.parametrize(
    "garbage", [b"\xff\xfe\x00\n", b"[" * 100_000 + b"\n", b'{"type": "PlanApplied"', b"7\n", b"\n\n"]
)
async def test_garbage_in_the_file_costs_no_message_beside_it(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "outbox"
    Outbox(path).put(urgent(1))
    path.write_bytes(path.read_bytes() + garbage)
    server = Server()
    async with sending(Outbox(path), server.say):
        await until(lambda: server.said == [urgent(1)])
