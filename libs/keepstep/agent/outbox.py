"""What was said and not yet acknowledged by the server: in order, in memory and on disk, over outages and restarts."""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path

from keepstep.agent.files import append, write_whole
from keepstep.contracts.events import CheckpointSaved, EvidenceCaptured, LogMatched
from keepstep.contracts.ids import EventId
from keepstep.contracts.message import Message, messages
from keepstep.core.json_text import parsed
from keepstep.ports.errors import Permanent, Transient

LIMIT = 2000
"""Messages of at most 40 KiB: 80 MB at worst, and a two-hour outage of a busy task."""

Then = Callable[[], None]
Say = Callable[[Message], Awaitable[None]]

_BULK = (LogMatched, CheckpointSaved, EvidenceCaptured)
"""What may be refused for its number or may wait: it must not stand before an exit in one queue."""

_log = logging.getLogger(__name__)


class _Lane:
    """One queue with one sender, so that order is kept."""

    def __init__(self) -> None:
        self.waiting: OrderedDict[EventId, tuple[Message, list[Then]]] = OrderedDict()
        self.filled = asyncio.Event()
        self.emptied = asyncio.Event()
        self.emptied.set()


class Outbox:
    """Two lanes to the bus, one for what recovery waits for and one for the rest."""

    def __init__(self, path: Path, *, limit: int = LIMIT) -> None:
        self._path = path
        self._limit = limit
        self._urgent, self._bulk = _Lane(), _Lane()
        self._asked: float | None = None
        self._kept = 0
        """Lines in the file, those of messages already taken included."""
        for message in _read(path):
            self._enqueue(message)
        self._rewrite()

    def put(self, message: Message, then: Then | None = None) -> None:
        """Keep the message until the server has it, then call ``then``; a message that waits already waits once.

        Over the limit the oldest of the bulk lane is given up, and only then the oldest of all.
        """
        lane = self._lane(message)
        if message.id in lane.waiting:
            if then is not None:
                lane.waiting[message.id][1].append(then)
            return
        if len(self) >= self._limit:
            self._give_up()
        append(self._path, _line(message))
        self._enqueue(message, then)
        self._kept += 1
        if self._kept > 2 * self._limit:
            self._rewrite()

    async def send(self, say: Say) -> None:
        """Send for ever; ``say`` returns when the server has the message."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._drain(self._urgent, say))
            group.create_task(self._drain(self._bulk, say))

    async def flushed(self) -> None:
        """Return when nothing urgent waits."""
        await self._urgent.emptied.wait()

    def unanswered_s(self, now: float) -> float:
        """Return for how long the server has left the current message unanswered; ``now`` is the loop's time."""
        return 0.0 if self._asked is None else now - self._asked

    def __len__(self) -> int:
        return len(self._urgent.waiting) + len(self._bulk.waiting)

    async def _drain(self, lane: _Lane, say: Say) -> None:
        while True:
            await lane.filled.wait()
            while lane.waiting:
                message = next(iter(lane.waiting.values()))[0]
                await self._deliver(message, say, urgent=lane is self._urgent)
                _, then = lane.waiting.pop(message.id, (message, []))
                for call in then:
                    call()
            lane.filled.clear()
            lane.emptied.set()
            if not len(self):
                self._rewrite()

    async def _deliver(self, message: Message, say: Say, *, urgent: bool) -> None:
        while True:
            if urgent:
                self._asked = self._asked or asyncio.get_running_loop().time()
            try:
                await say(message)
            except Transient as error:
                await asyncio.sleep(error.retry_after.total_seconds())
                continue
            except Permanent as error:
                _log.error("event=%s id=%s given up because=%s", type(message).__name__, message.id, error)
            self._asked = None if urgent else self._asked
            return

    def _enqueue(self, message: Message, then: Then | None = None) -> None:
        lane = self._lane(message)
        lane.waiting[message.id] = (message, [] if then is None else [then])
        lane.emptied.clear()
        lane.filled.set()

    def _lane(self, message: Message) -> _Lane:
        return self._bulk if isinstance(message, _BULK) else self._urgent

    def _give_up(self) -> None:
        lane = self._bulk if self._bulk.waiting else self._urgent
        _, (message, _then) = lane.waiting.popitem(last=False)
        _log.error("event=%s id=%s given up because=%d messages wait", type(message).__name__, message.id, self._limit)

    def _rewrite(self) -> None:
        waiting = [*self._urgent.waiting.values(), *self._bulk.waiting.values()]
        write_whole(self._path, "".join(_line(message) for message, _ in waiting))
        self._kept = len(waiting)


def _line(message: Message) -> str:
    return json.dumps({"type": type(message).__name__, "message": message.model_dump(mode="json")}) + "\n"


def _read(path: Path) -> list[Message]:
    """Return the kept messages; a line that a crash cut short, or of a type no longer known, is left out."""
    found: list[Message] = []
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            kept = parsed(line)
            found.append(messages()[kept["type"]].model_validate(kept["message"]))
        except (ValueError, KeyError, TypeError) as error:
            _log.warning("outbox=%s line left out because=%s", path, error)
    return found
