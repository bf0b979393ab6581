"""The double carries a cluster of 10,000 nodes and 50,000 pods under 200 changes per second."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import orjson
import pytest

NODES, PODS, PER_SECOND = 10_000, 50_000, 200
CHANGES = 800
LIMIT_S = 120.0
"""Eight seconds of changes at the nominal rate, on a machine that has everything else to do as well."""
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    arguments = ["--nodes", str(NODES), "--pods", str(PODS), "--updates", str(PER_SECOND)]
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.kube.server", *arguments, cwd=ROOT, stdin=PIPE, stdout=PIPE
    )
    try:
        async with asyncio.timeout(LIMIT_S):
            said = json.loads(await first_line(server))
        async with httpx.AsyncClient(base_url=said["url"], trust_env=False, timeout=30) as client:
            yield client
    finally:
        if server.stdin is not None:
            server.stdin.close()
        async with asyncio.timeout(20):
            await server.wait()


async def first_line(server: Process) -> bytes:
    assert server.stdout is not None
    return await server.stdout.readline()


async def listed(http: httpx.AsyncClient, path: str) -> tuple[int, str]:
    """Page through a list and return how many there are and their version."""
    count, token = 0, ""
    while True:
        page = orjson.loads((await http.get(path, params={"limit": 500, "continue": token})).content)
        count += len(page["items"])
        token = page["metadata"].get("continue", "")
        if not token:
            return count, page["metadata"]["resourceVersion"]


async def watched(http: httpx.AsyncClient, path: str, version: str, *, changes: int) -> int:
    """Read so many changes of a watch and return how many there were before it ended."""
    seen = 0
    query = {"watch": "true", "resourceVersion": version}
    async with http.stream("GET", path, params=query) as reply:
        async for line in reply.aiter_lines():
            assert orjson.loads(line)["type"] == "MODIFIED"
            seen += 1
            if seen == changes:
                break
    return seen


@pytest.mark.slow
@pytest.mark.timeout(360)
async def test_a_big_cluster_is_listed_and_every_change_of_it_is_watched(http: httpx.AsyncClient) -> None:
    async with asyncio.timeout(LIMIT_S):
        (nodes, node_version), (pods, pod_version) = [await listed(http, f"/api/v1/{one}") for one in ("nodes", "pods")]
        assert (nodes, pods) == (NODES, PODS)
        seen = await asyncio.gather(
            watched(http, "/api/v1/nodes", node_version, changes=CHANGES),
            watched(http, "/api/v1/pods", pod_version, changes=CHANGES),
        )
    assert list(seen) == [CHANGES, CHANGES]
