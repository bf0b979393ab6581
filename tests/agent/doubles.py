"""A launcher and a bus that tests play themselves."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.telemetry import Heartbeat
from keepstep.ports.errors import Transient
from keepstep.trainer.progress import Page
from keepstep.trainer.wire import PAGE, SOCKET, Decoder, Line, encode, log_path
from tests.agent.makers import until

M = TypeVar("M", bound=Message)


class FakeBus:
    """A bus in memory; ``connected`` is set by the test."""

    def __init__(self) -> None:
        self.up = asyncio.Event()
        self.up.set()
        self.garbled = False
        """What the plan has for this task cannot be read."""
        self.said: list[Message] = []
        self.beats: list[Heartbeat] = []
        self._plan: tuple[PlanHead, PlanEntry | None] | None = None
        self._changed = asyncio.Event()

    @property
    def connected(self) -> bool:
        return self.up.is_set()

    async def say(self, message: Message) -> None:
        await self.up.wait()
        if message.id not in {each.id for each in self.said}:
            self.said.append(message)

    async def beat(self, heartbeat: Heartbeat) -> None:
        if self.connected:
            self.beats.append(heartbeat)

    async def watch(self, _job: JobUid) -> AsyncIterator[PlanHead]:
        told: PlanHead | None = None
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._plan is not None and self._plan[0] != told:
                told = self._plan[0]
                yield told

    async def entry(self, _job: JobUid, _task: TaskUid) -> PlanEntry | None:
        if self.garbled:
            raise Transient("the plan cannot be read", retry_after=timedelta(milliseconds=1))
        return self._plan[1] if self._plan is not None else None

    def plan(self, head: PlanHead, entry: PlanEntry | None = None) -> None:
        self._plan = head, entry
        self._changed.set()

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in self.said if isinstance(message, kind)]

    async def hears(self, kind: type[M], count: int = 1) -> M:
        """Return the ``count``-th message of a kind, waiting for it."""
        await until(lambda: len(self.of(kind)) >= count)
        return self.of(kind)[count - 1]


class FakeLauncher:
    """Speaks trainer/wire.py for ranks that exist only on its page."""

    def __init__(self, task_dir: Path, *, slots: int = 2) -> None:
        self.task_dir = task_dir
        self.page = Page.create(str(task_dir / PAGE), slots)
        self.heard: list[Line] = []
        self.generation = 0
        self.ranks: list[Line] = []
        self.exits: list[Line] = []
        self.hellos = 0
        self._writer: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None
        self._serving = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, str(self.task_dir / SOCKET))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        if self._writer is not None:
            self._writer.close()
        await until(lambda: not self._serving)

    def say(self, **line: object) -> None:
        assert self._writer is not None
        self._writer.write(encode(line))

    def orders(self, what: str) -> list[Line]:
        return [line for line in self.heard if line["do"] == what]

    async def ordered(self, what: str, count: int = 1) -> Line:
        await until(lambda: len(self.orders(what)) >= count)
        return self.orders(what)[count - 1]

    async def start(self, *, pid: int = 0, count: int = 1) -> None:
        """Answer the ``count``-th start order."""
        order = await self.ordered("start", count)
        self.generation = order["generation"]
        self.ranks = [
            {"rank": each["rank"], "local_rank": each["local_rank"], "pid": pid or 4_000_000, "warm": True,
             "generation": self.generation}
            for each in order["ranks"]
        ]  # fmt: skip
        for each in self.ranks:
            self.page.begin(each["local_rank"], each["pid"], self.generation, -1)
        self.say(say="started", generation=self.generation, ranks=self.ranks)

    async def stop(self, *, count: int = 1, unkillable: tuple[int, ...] = ()) -> None:
        """Answer the ``count``-th stop order."""
        order = await self.ordered("stop", count)
        for each in tuple(self.ranks):
            self.exit(each["rank"], signal=15, ordered=True)
        self.say(say="stopped", generation=order["generation"], unkillable=unkillable)

    def exit(self, rank: int, *, code: int | None = None, signal: int | None = None, ordered: bool = False) -> None:
        (gone,) = [each for each in self.ranks if each["rank"] == rank]
        self.ranks.remove(gone)
        line: Line = {
            "say": "exit", "id": f"g{self.generation}-r{rank}", "generation": self.generation, "rank": rank,
            "local_rank": gone["local_rank"], "pid": gone["pid"], "code": code, "signal": signal,
            "ordered": ordered, "at": time.time(), "ran_s": 3.5,
        }  # fmt: skip
        self.exits.append(line)
        self.say(**line)

    def write(self, rank: int, text: str, *, stream: str = "err") -> None:
        path = Path(log_path(str(self.task_dir), self.generation, rank, stream))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        decoder = Decoder()
        self.hellos += 1
        versions = {"python": "3.11.2", "torch": "2.13.0"}
        self.say(
            say="hello", versions=versions, warm=2, generation=self.generation, ranks=self.ranks, pid=1
        )  # fmt: skip
        for line in self.exits:
            self.say(**line)
        self._serving += 1
        while block := await reader.read(65536):
            for line in decoder.feed(block):
                self.heard.append(line)
                if line["do"] == "ack":
                    self.exits = [each for each in self.exits if each["id"] not in line["exits"]]
        self._serving -= 1
