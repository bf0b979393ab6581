"""The caches carry 10,000 nodes and 50,000 pods within 1 GiB; what they cost in time is benchmarks/kube_scale.py's."""

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLEET = ["--nodes", "10000", "--pods", "50000", "--updates", "200"]


@pytest.mark.slow
@pytest.mark.timeout(360)
async def test_ten_thousand_nodes_fit_into_a_small_service(tmp_path: Path) -> None:
    config = tmp_path / "config"
    arguments = ["-m", "tests.kube.server", *FLEET, "--kubeconfig", str(config)]
    server = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    try:
        assert server.stdout is not None
        async with asyncio.timeout(120):
            assert await server.stdout.readline()
        load = ["-m", "tests.kube.cache_load", str(config)]
        caches = await asyncio.create_subprocess_exec(sys.executable, *load, cwd=ROOT, stdout=PIPE)
        try:
            async with asyncio.timeout(180):
                said, _ = await caches.communicate()
        finally:
            with contextlib.suppress(ProcessLookupError):
                caches.kill()
            await caches.wait()
        took = json.loads(said)
    finally:
        server.kill()
        await server.wait()
    assert (took["pods"], took["nodes"]) == (50_000, 10_000)
    assert took["peak_mib"] < 1024, took
    assert took["changes_per_s"] > 0, took
