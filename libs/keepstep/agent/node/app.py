"""Runs the agent of one node: looks at kernel log, disks, memory and clock at their own pace, and says what changed."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from keepstep.agent.node.holding import Held, Quiet, again, hold
from keepstep.agent.node.kernel import seen_in
from keepstep.agent.node.kmsg import Record
from keepstep.agent.node.looks import Look, clock, here
from keepstep.agent.node.memory import Memory, keep, recall
from keepstep.agent.node.report import NodeReporter
from keepstep.agent.node.settings import NodeSettings
from keepstep.agent.outbox import Outbox
from keepstep.contracts.message import Message
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Transient

KERNEL_S = 1.0
"""Between looks at the kernel's log: a dead device is told before peers wait for it in vain."""
LOOK_S = 5.0
"""Between looks at numbers: a condition has to last 30 s to be told (``holding``)."""
CLOCK_S = 60.0
"""Between questions for the time: a clock that nobody sets drifts by milliseconds in a minute."""
FRESH_S = 600.0
"""An agent that remembers nothing tells what the kernel said in the last ten minutes: what is older was told, or is
over and done with, such as an error of a device that people have replaced."""
ALIVE_S = 60.0
"""Without a look for this long the agent hangs, on a dead filesystem as a rule, and is to be started anew."""

_log = logging.getLogger(__name__)


class KernelLog(Protocol):
    """Where the kernel's records come from."""

    def new(self) -> Sequence[Record]:
        """Return what was said since the last look, without waiting."""


class NodeBus(Protocol):
    """What of the bus a node's agent needs."""

    async def say(self, message: Message) -> None:
        """Return when the stream has the message; raises Permanent if it never will."""

    async def time(self) -> datetime:
        """Return the bus's time of day. Raises Transient while cut off."""


class NodeAgent:
    """One node's agent; ``look`` reads filesystems and memory, which may hang on a dead mount."""

    def __init__(
        self,
        settings: NodeSettings,
        *,
        boot: str,
        clock: Clock,
        log: KernelLog | None,
        look: Callable[[Sequence[str]], Sequence[Look]] = here,
    ) -> None:
        settings.state.mkdir(parents=True, exist_ok=True)
        self._settings, self._clock, self._log, self._look = settings, clock, log, look
        self._reporter = NodeReporter(settings.pool, settings.node, boot, frozenset(settings.faults))
        self._memory: Memory = recall(settings.state, boot, clock.monotonic())
        self._quiet: dict[str, Quiet] = {}
        self._looked_at = clock.monotonic()
        self.outbox = Outbox(settings.state / "outbox.jsonl")

    @property
    def alive(self) -> bool:
        """Whether the last look ended not long ago."""
        return self._clock.monotonic() - self._looked_at < ALIVE_S

    async def run(self, bus: NodeBus) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.outbox.send(bus.say))
            group.create_task(self._kernel())
            group.create_task(self._looks())
            group.create_task(self._clocks(bus))

    def read_kernel(self) -> None:
        """Say what is new in the kernel's log and concerns trainings, each kind of it now and then."""
        if self._log is None:
            return
        now = self._clock.monotonic()
        known = self._memory.micros
        after = int((now - FRESH_S) * 1_000_000) if known is None else known
        records = [record for record in self._log.new() if record.micros > after]
        for record in records:
            seen = seen_in(record)
            if seen is None:
                continue
            self._quiet[seen.key], left_out = again(self._quiet.get(seen.key), now)
            if left_out is not None:
                self._say(self._reporter.kernel(self._clock.now(), record, seen, left_out=left_out))
        if records or known is None:
            self._remember(micros=max((record.micros for record in records), default=max(after, 0)))

    def judge(self, looks: Sequence[Look]) -> None:
        """Hold each look against the ones before, and say what has begun or is over."""
        now, held = self._clock.monotonic(), dict(self._memory.held)
        for look in looks:
            before = held.get(look.key)
            held[look.key], tells = hold(before, wrong=look.wrong, now=now)
            if tells or (before is None and not look.wrong and self._may_be_open(look)):
                self._tell(look, held[look.key])
        if held != self._memory.held:
            self._remember(held=held)

    def _may_be_open(self, look: Look) -> bool:
        """Tell whether an earlier agent, of which nothing is remembered, may have called it a fault."""
        return not self._memory.known and look.condition in self._settings.faults

    def _tell(self, look: Look, held: Held) -> None:
        self._say(self._reporter.condition(self._clock.now(), look, active=held.told, episode=held.episode))

    def _say(self, message: Message) -> None:
        _log.info("event=%s %s", type(message).__name__, message.model_dump_json(exclude={"id", "time", "pool"}))
        self.outbox.put(message)

    def _remember(self, **changes: object) -> None:
        self._memory = self._memory.model_copy(update=changes)
        keep(self._settings.state, self._memory)

    async def _kernel(self) -> None:
        while True:
            self.read_kernel()
            await asyncio.sleep(KERNEL_S)

    async def _looks(self) -> None:
        while True:
            self.judge(await asyncio.to_thread(self._look, self._settings.paths))
            self._looked_at = self._clock.monotonic()
            await asyncio.sleep(LOOK_S)

    async def _clocks(self, bus: NodeBus) -> None:
        while True:
            asked = self._clock.now()
            try:
                theirs = await bus.time()
            except Transient as error:
                await asyncio.sleep(error.retry_after.total_seconds())
                continue
            self.judge([clock(theirs, asked, self._clock.now())])
            await asyncio.sleep(CLOCK_S)


def boot_of(path: Path) -> str:
    """Return the kernel's id of this start of the machine."""
    return path.read_text(encoding="ascii").strip()
