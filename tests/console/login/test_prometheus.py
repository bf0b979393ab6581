"""Prometheus scrapes a console with a login as README says: by a viewer's token in a file."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pydantic import SecretStr

from keepstep.console.app import running
from keepstep.console.settings import ConsoleSettings
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Role
from keepstep.runtime.http import Answer
from tests.console.login.entrance import People, bearer

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "deploy/prometheus/one-machine.yml"
COUNTED = b'# TYPE keepstep_service_active gauge\nkeepstep_service_active{service="detector"} 1\n'


def beside(path: str) -> Answer:
    """What the services of `keepstep up` answer."""
    assert path == "/metrics"
    return Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", COUNTED)


def configured(folder: Path, *, token: str, port: int = 8700) -> Path:
    """Lay the example out in a folder with the token beside it, as its owner does."""
    shutil.copy(ROOT / "deploy/prometheus/alerts.yaml", folder)
    (folder / "prometheus.token").write_text(f"{token}\n", encoding="utf-8")
    told = EXAMPLE.read_text(encoding="utf-8").replace("127.0.0.1:8700", f"127.0.0.1:{port}")
    (folder / "prometheus.yml").write_text(told.replace("15s", "2s"), encoding="utf-8")
    return folder / "prometheus.yml"


@asynccontextmanager
async def scraping(config: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A real Prometheus with this configuration."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        "prometheus", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}",
        f"--storage.tsdb.path={config.parent / 'data'}",
    ]  # fmt: skip
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/api/v1") as web:
            yield web
    finally:
        process.terminate()
        await process.wait()


async def scraped(web: httpx.AsyncClient, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the one target once it stands as wanted: a scrape on a busy machine may come too late, and is repeated."""
    async with asyncio.timeout(90):
        while True:
            try:
                answer = (await web.get("/targets")).json()
            except (httpx.TransportError, ValueError):
                answer = {"data": {"activeTargets": []}}
            for target in answer["data"]["activeTargets"]:
                if wanted(target):
                    return dict(target)
            await asyncio.sleep(0.2)  # until Prometheus has started and scraped; it tells nobody


def settings(nats_url: str, pool: Pool, people: People) -> ConsoleSettings:
    return ConsoleSettings(nats_url=SecretStr(nats_url), pool=pool, console_port=0, console_tokens=people.path)


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed (Debian: prometheus)")
@pytest.mark.parametrize("right", [True, False], ids=["a viewer's token", "a wrong token"])
async def test_a_real_prometheus_scrapes_by_a_viewer_s_token(
    nats_url: str, pool: Pool, people: People, tmp_path: Path, right: bool
) -> None:
    async with running(settings(nats_url, pool, people), beside=beside) as address:
        token = people.of(Role.VIEWER) if right else "ks_nobody"
        config = configured(tmp_path, token=token, port=int(address.rpartition(":")[2]))
        async with scraping(config) as prometheus:
            if right:
                await scraped(prometheus, lambda target: target["health"] == "up")
                found = (await prometheus.get("/query", params={"query": "keepstep_service_active"})).json()
                assert [one["metric"]["service"] for one in found["data"]["result"]] == ["detector"]
            else:
                target = await scraped(prometheus, lambda target: "401" in target["lastError"])
                assert target["health"] == "down"


async def test_who_shows_no_token_is_told_how_prometheus_shows_one(nats_url: str, pool: Pool, people: People) -> None:
    async with running(settings(nats_url, pool, people), beside=beside) as address, httpx.AsyncClient() as web:
        refused = await web.get(f"{address}/metrics")
        assert (refused.status_code, "credentials_file" in refused.text) == (401, True)
        known = await web.get(f"{address}/metrics", headers=bearer(people.of(Role.VIEWER)))
        assert (known.status_code, known.content) == (200, COUNTED)


async def test_a_console_by_itself_counts_nothing_and_says_who_does(nats_url: str, pool: Pool, people: People) -> None:
    """It answered ``ok``, which Prometheus cannot read."""
    async with running(settings(nats_url, pool, people)) as address, httpx.AsyncClient() as web:
        answer = await web.get(f"{address}/metrics", headers=bearer(people.of(Role.VIEWER)))
        assert (answer.status_code, "ask each service" in answer.text) == (404, True)


def test_the_example_s_token_is_a_file_and_stands_in_readme() -> None:
    [job] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["scrape_configs"]
    assert job["authorization"] == {"credentials_file": "prometheus.token"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "deploy/prometheus/one-machine.yml" in readme
    assert "keepstep console token prometheus --role viewer" in readme


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian: prometheus)")
def test_promtool_takes_the_example(tmp_path: Path) -> None:
    config = configured(tmp_path, token="ks_x")  # noqa: S106 - nobody's
    done = subprocess.run(
        ["promtool", "check", "config", str(config)], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stdout + done.stderr
