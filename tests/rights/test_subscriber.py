"""An integrator's subscriber, as the README shows it: it logs in as people do, and reads models of the contracts."""

import asyncio
import os
import re
import sys
from pathlib import Path

from keepstep.contracts.events import IncidentClosed
from keepstep.contracts.ids import EventId, IncidentId, JobUid
from keepstep.contracts.taxonomy import Category, Outcome
from keepstep.contracts.topology import JobRef
from keepstep.runtime.client import Client
from keepstep.runtime.rights import DEFAULT, all_rights
from tests.contracts.examples import WHEN
from tests.rights.guarded import guarded

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/subscriber.py"
CLOSED = IncidentClosed(
    id=EventId("closed"), time=WHEN, pool=DEFAULT, job=JobRef(name="train", uid=JobUid("j1")),
    incident=IncidentId("i1"), outcome=Outcome.RESUMED, category=Category.HANG, because="all tasks step",
)  # fmt: skip


async def test_the_example_prints_an_incident_that_a_service_closes(tmp_path: Path) -> None:
    async with guarded(tmp_path, all_rights(DEFAULT)) as server:
        service = await Client.open(server.url("scheduler-adapter").get_secret_value(), DEFAULT, name="service")
        await service.provision()
        environment = os.environ | {"KEEPSTEP_NATS_URL": server.url("people").get_secret_value()}
        reading = await asyncio.create_subprocess_exec(
            sys.executable, str(EXAMPLE), env=environment, stdout=asyncio.subprocess.PIPE
        )
        try:
            await service.say(CLOSED)
            assert reading.stdout is not None
            line = await asyncio.wait_for(reading.stdout.readline(), 60)
        finally:
            reading.kill()
            await reading.wait()
            await service.close()
    assert line.decode().split()[0] == "1"
    assert "resumed all tasks step" in line.decode()


def test_the_readme_shows_the_example_as_it_is() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    example = EXAMPLE.read_text(encoding="utf-8")
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    assert len(lines) == 4
    assert [line for line in lines if line not in example] == []
