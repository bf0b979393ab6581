"""Caches pods and nodes of a server for a while and prints what that took: run by a test in a process of its own."""

import argparse
import asyncio
import json
import resource
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from keepstep.adapters.kube_cache import Cache, Hooks
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_connect import connect
from keepstep.adapters.kube_node import node_of
from keepstep.adapters.kube_pod import pod_of
from keepstep.adapters.kube_resources import NODES, PODS
from keepstep.adapters.kube_shelf import Kept

T = TypeVar("T", bound=Kept)


async def measure(kubeconfig: Path, seconds: float) -> dict[str, float]:
    """Return sizes, peak memory in MiB, seconds to list, and the share of a core and changes per second afterwards."""
    changed: Counter[str] = Counter()
    hooks = Hooks(changed=lambda plural: changed.update([plural]))
    client = KubeClient(connect(kubeconfig), audit=lambda _: None)
    pods, nodes = Cache(client, PODS, pod_of, hooks=hooks), Cache(client, NODES, node_of, hooks=hooks)
    begun = time.monotonic()
    tasks = [asyncio.create_task(follow(pods)), asyncio.create_task(follow(nodes))]
    await asyncio.gather(pods.listed(), nodes.listed())
    listed = time.monotonic() - begun
    await asyncio.sleep(1)
    changed.clear()
    cpu, start = time.process_time(), time.monotonic()
    await asyncio.sleep(seconds)
    share, passed = time.process_time() - cpu, time.monotonic() - start
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await client.close()
    return {
        "pods": len(pods.items),
        "nodes": len(nodes.items),
        "listed_s": round(listed, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cpu_share": round(share / passed, 4),
        "changes_per_s": round(changed.total() / passed, 1),
    }


async def follow(cache: Cache[T]) -> None:
    """Consume all changes."""
    async for _ in cache.changes():
        pass


def main() -> None:
    """Read the arguments, measure, print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    sys.stdout.write(json.dumps(asyncio.run(measure(arguments.kubeconfig, arguments.seconds))) + "\n")


if __name__ == "__main__":
    main()
