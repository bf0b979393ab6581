"""The Secrets that are made work: a real server with the shipped rights and TLS lets each user in, and nobody else."""

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from keepstep.cli.cluster_secrets import documents
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Permanent, Transient
from keepstep.runtime.callout import Grant, Knock, Turned
from keepstep.runtime.client import Client
from keepstep.runtime.gatehouse import gatehouse
from keepstep.runtime.login import Login
from keepstep.runtime.rights import DEFAULT
from keepstep.runtime.rights_of_pods import GATE, Caller, agent_rights
from keepstep.runtime.settings import Settings
from tests.rights.guarded import running
from tests.rights.manifests import BASE

SOON = timedelta(seconds=1)
TLS = {"ca.crt": b"c", "tls.crt": b"t", "tls.key": b"k"}


def made(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "keepstep.cli.cluster_secrets", str(folder)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": ":".join(sys.path)}
    )


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("secrets")
    done = made(folder)
    assert done.returncode == 0, done.stderr
    path = folder / "secrets.yaml"
    assert path.stat().st_mode & 0o077 == 0
    found: list[dict[str, Any]] = [json.loads(text) for text in path.read_text(encoding="utf-8").split("---\n")]
    held = {
        one["metadata"]["name"]: {key: base64.b64decode(value) for key, value in one["data"].items()}
        for one in found
        if one["kind"] == "Secret"
    }
    assert not [value for each in held.values() for value in each.values() if value.decode() in done.stdout]
    assert made(folder).returncode == 1, "passwords that may be in use are never replaced"
    return held


@pytest.fixture
async def port(tmp_path: Path, secrets: dict[str, dict[str, bytes]]) -> AsyncIterator[int]:
    for name, value in secrets["bus-tls"].items():
        (tmp_path / name).write_bytes(value)
    shipped = (BASE.parent / "components/single/nats.conf").read_text(encoding="utf-8")
    config = shipped.replace('"/tls/', f'"{tmp_path}/').replace('"/data"', f'"{tmp_path}/store"')
    config = config.replace("0.0.0.0:4222", "127.0.0.1:-1").replace("0.0.0.0:8222", "127.0.0.1:-1")
    (tmp_path / "users.conf").write_text((BASE / "users.conf").read_text(encoding="utf-8"), encoding="utf-8")
    environment = {"POD_NAME": "nats-0"} | {name: word.decode() for name, word in secrets["bus-users"].items()}
    async with running(tmp_path, f"ports_file_dir: {tmp_path}\n{config}", environment) as announced:
        yield announced


async def test_a_service_speaks_over_tls_with_its_own_password(
    port: int, secrets: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    word = secrets[f"bus-{Service.DETECTOR}"]["password"].decode()
    url = f"tls://detector:{word}@localhost:{port}?ca={tmp_path}/ca.crt"
    client = await Client.open(url, DEFAULT, name="test", within=timedelta(seconds=10))
    await client.provision()
    assert await client.last_sequence() == 0
    await client.close()


async def test_a_ca_that_cannot_be_read_is_told(port: int) -> None:
    with pytest.raises(Permanent, match=r"/nowhere/ca\.crt cannot be read"):
        await Client.open(f"tls://detector:x@localhost:{port}?ca=/nowhere/ca.crt", DEFAULT, name="test", within=SOON)


async def test_an_agent_needs_no_file_and_no_password_where_the_gate_that_has_the_key_lets_it_in(
    port: int, secrets: dict[str, dict[str, bytes]]
) -> None:
    def reachable(user: str) -> str:
        return secrets[f"bus-{user}"]["url"].decode().replace("nats.keepstep.svc:4222", f"localhost:{port}")

    caller = Caller(DEFAULT, "pod-1")

    async def judge(knock: Knock) -> Grant | Turned:
        if (knock.user, knock.proof) != (caller.user, "token"):
            return Turned("nobody's")
        return Grant(agent_rights(DEFAULT, pod="pod-1"), datetime.now(UTC) + timedelta(minutes=1))

    settings = Settings(nats_url=SecretStr(reachable(GATE)))
    async with gatehouse(settings, SecretStr(secrets["gate"]["seed"].decode())) as house:
        serving = asyncio.create_task(house.serve(judge, now=lambda: datetime.now(UTC)))
        login = Login.of(caller, lambda: "token")
        knocking = Client.knock(reachable("agent"), DEFAULT, name="test", login=login)
        client = await asyncio.wait_for(knocking, 60)
        assert client.link.connected
        await client.close()
        serving.cancel()
        await asyncio.wait({serving})


async def test_a_server_whose_certificate_nobody_vouches_for_is_not_believed(
    port: int, secrets: dict[str, dict[str, bytes]]
) -> None:
    word = secrets["bus-detector"]["password"].decode()
    with pytest.raises(Transient, match="certificate"):
        await Client.open(f"tls://detector:{word}@localhost:{port}", DEFAULT, name="test", within=SOON)


def test_each_pool_has_users_of_its_own() -> None:
    names = {one["metadata"]["name"] for one in documents(TLS, DEFAULT, Pool("blue"))}  # type: ignore[index]  # a manifest; its metadata is a table
    assert {"bus-detector", "bus-detector.blue", "bus-gate", "bus-people.blue"} <= names
    assert not {"bus-agent.blue", "bus-gate.blue"} & names
