"""Isolator, checkpoint-manager and notifier on the real bus: one verdict, both answers, people told, nothing twice."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.adapters.local_files import NodeRecord
from keepstep.checkpoint_manager.app import build as checkpoint_manager
from keepstep.contracts.events import CheckpointChosen, NodeIsolated, NodeReleased, NotificationDelivered
from keepstep.contracts.ids import NodeName, Pool
from keepstep.contracts.message import Message
from keepstep.contracts.orders import ReleaseNode
from keepstep.isolator.app import build as isolator
from keepstep.notifier.app import build as notifier
from keepstep.runtime.app import App
from keepstep.runtime.client import Client
from keepstep.runtime.settings import Settings
from tests.active import active, said
from tests.checkpoint_manager import story as checkpoints
from tests.isolator import words as isolations


@asynccontextmanager
async def services(url: str, pool: Pool, cluster: Path, instance: str) -> AsyncIterator[None]:
    """Run the three until the block ends."""
    settings = Settings(nats_url=SecretStr(url), pool=pool, cluster=f"local:{cluster}", instance=instance)
    apps: list[App[Any]] = [isolator(settings), checkpoint_manager(settings), notifier(settings)]
    async with active(apps, settings):
        yield


def here(message: Message, pool: Pool) -> Message:
    """Return the message as said now in this pool."""
    return message.model_copy(update={"pool": pool, "time": datetime.now(UTC), "job": checkpoints.JOB})


async def test_a_verdict_gets_both_answers_and_people_are_told_over_a_restart(
    nats_url: str, pool: Pool, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPSTEP_NOTIFIER_FILE", str(tmp_path / "notices.jsonl"))
    for name in ("n1", "n2"):
        (tmp_path / "nodes" / name).mkdir(parents=True)
        (tmp_path / "nodes" / name / "node.json").write_text(NodeRecord(name=NodeName(name)).model_dump_json())
    verdict = here(isolations.verdict(), pool)
    async with services(nats_url, pool, tmp_path, "one"):
        for message in (isolations.accepted(), checkpoints.saved(10), verdict):
            await client.say(here(message, pool))
        (isolated,) = await said(client, NodeIsolated, 1)
        (chosen,) = await said(client, CheckpointChosen, 1)
    assert isolated.cause == chosen.cause == verdict.id
    assert {node.name: node.mark is not None for node in await LocalCluster(tmp_path).nodes()} == {
        "n1": True,
        "n2": False,
    }
    async with services(nats_url, pool, tmp_path, "two"):
        order = ReleaseNode(**isolations.release("n1").model_dump() | {"pool": pool, "time": datetime.now(UTC)})
        await client.say(order)
        (released,) = await said(client, NodeReleased, 1)
        told = await said(client, NotificationDelivered, 3)
    assert released.cause == order.id
    titles = [one.title for one in told if isinstance(one, NotificationDelivered)]
    assert sorted(titles) == ["Cause in job j: device_hardware", "Node n1 isolated", "Node n1 released"]
    lines = (tmp_path / "notices.jsonl").read_text("utf-8").splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == 3  # one that the restart met half done comes again
    assert len(await said(client, NodeIsolated, 1)) == len(await said(client, CheckpointChosen, 1)) == 1
