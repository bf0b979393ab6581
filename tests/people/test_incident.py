"""A real local job loses a rank: three chats get one thread each, in order, at once, also over a killed notifier."""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.notification import NotificationPolicy, Route
from keepstep.contracts.policy import Budget, Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import JobSpec, Script
from tests.people.chats import Chats, Line, chats
from tests.system.job import ROOT
from tests.system.stack import Stack, stacked

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]

AT_ONCE_S = 2.0
"""From an event to the message about it, in each chat: what the issue promises."""
PAGES = "https://console.example/keepstep"
TOLD = (e.IncidentOpened, e.FaultDiagnosed, e.RecoveryPlanned, e.JobResumed, e.IncidentClosed)
"""What each thread is made of, in this order."""


def spec(folder: Path) -> JobSpec:
    """Return a loop of two tasks that tells all three chats of its recoveries."""
    routes = tuple(Route(sink=name, kinds=("tolerance",)) for name in ("dingtalk", "feishu", "wecom"))
    loop = Script(path=str(ROOT / "examples" / "plain_loop.py"), args=("--steps", "1000000"))
    often = Budget(count=100)
    recovery = RecoveryPolicy(crash=often, unknown=often, instant_failure=timedelta(0))
    policy = Policy(recovery=recovery, notification=NotificationPolicy(routes=routes))
    return JobSpec(name="loop", entrypoint=loop, nodes=2, nproc=1, cwd=str(folder), policy=policy)


async def recovered(stack: Stack, *, at: type[Message], strike: Callable[[], None]) -> dict[str, Message]:
    """Kill a rank, strike at an event, and return what was said of the incident once it is closed."""
    before, generation = set(stack.said), stack.generation()
    stack.kill_rank(0)

    def fresh(kind: type[Message]) -> list[Message]:
        return [one for name, one in stack.said.items() if name not in before and isinstance(one, kind)]

    await stack.until(lambda: fresh(at), f"{at.__name__} of the new incident")
    strike()
    await stack.until(lambda: fresh(e.IncidentClosed), "closed")
    await stack.stepping(generation + 1)
    (closed,) = fresh(e.IncidentClosed)
    return {type(one).__name__: one for one in fresh(Message) if one.incident == closed.incident}


async def thread(lines: Callable[[], list[Line]], incident: str, count: int) -> list[Line]:
    """Return the thread's messages of one chat, each once, when there are so many."""
    until, found = time.monotonic() + 30, list[Line]()
    while len(found) < count and time.monotonic() < until:
        first = {line.notice: line for line in reversed(lines()) if incident in line.text}
        found = sorted(first.values(), key=lambda line: line.at)
        await asyncio.sleep(0.05)  # until the server, in a thread of its own, has more
    return found


async def expect_thread(there: Chats, said: dict[str, Message], *, within: float) -> None:
    """Each chat has the whole story in its order, none of it later than ``within`` seconds after its event."""
    story = [said[kind.__name__] for kind in TOLD]
    for name, chat in there.all.items():
        lines = await thread(lambda chat=chat: chat.lines, str(story[0].incident), len(story))  # type: ignore[misc]  # mypy infers no type for a lambda with a default
        numbers = [line.number for line in lines]
        assert numbers == list(range(1, len(story) + 1)), f"{name}: {numbers}"
        late = {type(one).__name__: line.at - one.time.timestamp() for one, line in zip(story, lines, strict=True)}
        assert max(late.values()) <= within, f"{name}: {late}"
        assert all(PAGES in line.text for line in lines), f"{name}: each message leads to the console"


async def test_a_recovery_is_one_thread_in_all_three_chats_at_once_and_over_a_killed_notifier(tmp_path: Path) -> None:
    with chats() as there:
        settings = {
            "KEEPSTEP_NOTIFIER_CHANNELS": str(there.written(tmp_path)),
            "KEEPSTEP_NOTIFIER_ROUTES": "[]",
            "KEEPSTEP_CONSOLE_URL": PAGES,
        }
        async with stacked(tmp_path, settings=settings) as stack:
            await stack.create(spec(tmp_path))
            await stack.stepping(1)
            said = await recovered(stack, at=e.FaultDiagnosed, strike=lambda: None)
            await expect_thread(there, said, within=AT_ONCE_S)

            def killed() -> None:
                for pid in stack.pids(Service.NOTIFIER):
                    stack.kill(Service.NOTIFIER, pid)
                stack.start(Service.NOTIFIER)

            said = await recovered(stack, at=e.FaultDiagnosed, strike=killed)
            await expect_thread(there, said, within=60)
            assert all(len(chat.asked) == len(chat.taken) for chat in there.all.values()), "none was refused"
