"""Serves a big, living cluster from a process of its own: ``python -m tests.kube.server --nodes 10000 --pods 50000``.

Prints one JSON line (url, token) when it serves; ends with SIGTERM, or when its standard input is closed.
"""

import argparse
import asyncio
import gc
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from .fleet import fill, heartbeats
from .http import ApiServer
from .rules import RULES
from .serving import serving
from .store import Store

_TICK_SECONDS = 0.02


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.kube.server", description=__doc__)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--pods", type=int, default=0)
    parser.add_argument("--updates", type=float, default=0.0, help="changes per second")
    parser.add_argument("--rbac", action="store_true", help="refuse what no role allows")
    parser.add_argument("--bookmark-seconds", type=float, default=60.0)
    parser.add_argument("--kubeconfig", type=Path)
    asyncio.run(_serve(parser.parse_args()))


async def _serve(arguments: argparse.Namespace) -> None:
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    fill(store, nodes=arguments.nodes, pods=arguments.pods)
    gc.collect()
    gc.freeze()
    app = ApiServer(store, rbac=arguments.rbac, bookmark_seconds=arguments.bookmark_seconds)
    async with serving(app) as server:
        if arguments.kubeconfig:
            server.kubeconfig(arguments.kubeconfig)
        sys.stdout.write(json.dumps({"url": server.url, "token": app.access.admin_token}) + "\n")
        sys.stdout.flush()
        beating = asyncio.create_task(_beat(store, arguments.updates))
        await asyncio.to_thread(sys.stdin.read)
        beating.cancel()


async def _beat(store: Store, per_second: float) -> None:
    """Change objects at an even rate; what a busy moment held up is made up for."""
    beats, loop = heartbeats(store), asyncio.get_running_loop()
    start, done = loop.time(), 0
    while per_second:
        due = int((loop.time() - start) * per_second)
        for _ in range(due - done):
            next(beats)
        done = due
        await asyncio.sleep(_TICK_SECONDS)


if __name__ == "__main__":
    main()
