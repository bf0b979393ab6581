"""A storm of 200 incidents through a real bus, over a restart of the notifier: few calls, and no incident is lost."""

import asyncio
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from keepstep.contracts.events import IncidentOpened, NotificationDelivered, NotificationQueued
from keepstep.contracts.ids import EventId, IncidentId, JobUid, Pool, derive
from keepstep.contracts.topology import JobRef
from keepstep.notifier.app import build
from keepstep.runtime.client import Client
from keepstep.runtime.settings import Settings
from tests.active import active
from tests.people.chats import Chats, Line, chats
from tests.people.vendors.robots import SECRET, TOKEN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

INCIDENTS = 200
LIMITS = {"dingtalk": 20, "feishu": 100, "wecom": 20}
"""Calls a minute."""
SETTLED_S = 120.0


def opened(number: int, pool: Pool) -> IncidentOpened:
    job = JobRef(name=f"train-{number}", uid=JobUid(derive("job", number)))
    return IncidentOpened(
        id=EventId(derive("opened", number)),
        time=datetime.now(UTC),
        pool=pool,
        job=job,
        incident=IncidentId(derive("incident", number)),
        fault=EventId(derive("fault", number)),
        because=f"rank {number} was killed by SIGKILL",
    )


def named(lines: list[Line]) -> set[str]:
    """Return every id that people read."""
    return {name for line in lines for name in line.ids}


async def heard(there: Chats, wanted: set[str]) -> None:
    """Return once every chat named every incident."""
    async with asyncio.timeout(SETTLED_S):
        while any(wanted - named(chat.lines) for chat in there.all.values()):  # noqa: ASYNC110 - a server in a thread
            await asyncio.sleep(0.1)


async def test_a_storm_of_200_incidents_keeps_every_limit_and_loses_none_over_a_restart(
    nats_url: str, pool: Pool, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    incidents = [opened(number, pool) for number in range(INCIDENTS)]
    wanted = {str(one.incident) for one in incidents}
    with chats() as there:
        monkeypatch.setenv("KEEPSTEP_NOTIFIER_CHANNELS", str(there.written(tmp_path)))
        monkeypatch.setenv("KEEPSTEP_NOTIFIER_ROUTES", json.dumps([{"sink": name} for name in there.all]))
        settings = Settings(nats_url=SecretStr(nats_url), pool=pool, instance="one")
        async with active([build(settings)], settings):
            for one in incidents[: INCIDENTS // 2]:
                await client.say(one)
        for one in incidents[INCIDENTS // 2 :]:
            await client.say(one)
        again = Settings(nats_url=SecretStr(nats_url), pool=pool, instance="two")
        async with active([build(again)], again):
            await heard(there, wanted)
            await _recorded(client, {(name, incident) for name in there.all for incident in wanted})
        for name, chat in there.all.items():
            first = chat.lines[0].at
            assert len([line for line in chat.lines if line.at < first + 60]) <= LIMITS[name], name
            assert len(chat.asked) == len(chat.taken), "the vendor refused nothing"


async def _recorded(client: Client, wanted: set[tuple[str, str]]) -> None:
    """Return once each incident has the word of each channel that it was delivered, with the vendor's code."""
    found: set[tuple[str, str]] = set()
    until = time.monotonic() + SETTLED_S
    while found != wanted and time.monotonic() < until:
        said = [one.message async for one in client.read(kind=NotificationDelivered.__name__)]
        ended = [one for one in said if isinstance(one, NotificationDelivered) and not one.members]
        found = {(one.channel, str(one.incident)) for one in ended}
        assert {one.code for one in ended} == {"0"}
        await asyncio.sleep(0.2)  # between two looks at the stream
    assert found == wanted
    queued = [one.message async for one in client.read(kind=NotificationQueued.__name__)]
    assert TOKEN not in str(queued)
    assert SECRET not in str(queued)
