"""Serves a big cluster with keepstep's jobs from a process of its own, and loses nodes when it is told to.

Prints one JSON line when it serves. Each line it reads, ``{"lose": 200, "how": "unreachable"}``, is a burst: the nodes
are lost as the node lifecycle controller loses them, at once and not one after another. It answers when all of it was
there to be seen, none of it before, and which nodes. ``deleted`` takes the node objects away as well;
``out-of-service`` vouches for their being off: then the controllers that evict and collect pods do the rest in their
own time. It ends when its standard input is closed.
"""

import argparse
import asyncio
import gc
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from keepstep.runtime.settled import settle

from ..controllers.cluster import Cluster
from ..controllers.collector import PodCollector
from ..controllers.loop import Loop
from ..controllers.nodes import OUT_OF_SERVICE, TICK, NodeLifecycle
from ..controllers.taints import TaintEviction
from ..server import kinds
from ..server.fleet import heartbeats
from ..server.http import ApiServer
from ..server.objects import Obj
from ..server.rules import RULES
from ..server.serving import serving
from ..server.store import Store
from .layout import Layout
from .planted import plant

_TICK_SECONDS = 0.02
_MOMENT_SECONDS = 0.1
_OFF = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}


class Losing:
    """The controllers that have to do with lost nodes, and the hand that loses them."""

    def __init__(self, store: Store, layout: Layout) -> None:
        self._store, self._layout = store, layout
        cluster = Cluster(store)
        self._nodes, collector = NodeLifecycle(cluster), PodCollector(cluster)
        self.loop = Loop(cluster, [self._nodes, TaintEviction(cluster), collector])
        self.loop.start((collector, TICK))

    def lose(self, count: int, how: str) -> list[str]:
        """Lose so many nodes at once and return which."""
        names = list(self._layout.lost(count))
        for name in names:
            for _ in self._nodes.mark_lost(name):
                pass
        for name in names:
            match how:
                case "deleted":
                    self._store.delete(kinds.NODE, name)
                case "out-of-service":
                    self._store.edit(kinds.NODE, name, "", _vouch)
        return names


def _vouch(node: Obj) -> None:
    node["spec"].setdefault("taints", []).append(_OFF)


async def _serve(arguments: argparse.Namespace) -> None:
    layout = Layout(arguments.nodes, arguments.jobs)
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    plant(store, layout, storm=arguments.storm)
    losing = Losing(store, layout)
    settle()
    gc.collect()
    async with serving(ApiServer(store)) as server:
        server.kubeconfig(arguments.kubeconfig)
        _answer({"pods": store.count(kinds.POD), "nodes": store.count(kinds.NODE)})
        beating = Beating(store, arguments.updates)
        tasks = [asyncio.create_task(losing.loop.run()), asyncio.create_task(beating.run())]
        async for line in await _lines():
            asked = json.loads(line)
            names = losing.lose(asked["lose"], asked["how"])
            _answer({"lost_at": time.time(), "nodes": names, "per_s": beating.rate})
        for task in tasks:
            task.cancel()


async def _lines() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def _answer(said: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


class Beating:
    """Changes objects at an even rate; what it is held up for longer than a moment is left out."""

    def __init__(self, store: Store, per_second: float) -> None:
        self._beats, self._per_second = heartbeats(store), per_second
        self._began, self._done = time.monotonic(), 0

    @property
    def rate(self) -> float:
        """Changes per second so far."""
        return self._done / (time.monotonic() - self._began)

    async def run(self) -> None:
        """Beat until cancelled."""
        at, owed = time.monotonic(), 0.0
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = time.monotonic()
            owed = min(owed + (now - at) * self._per_second, _MOMENT_SECONDS * self._per_second)
            at = now
            while owed >= 1:
                next(self._beats)
                self._done, owed = self._done + 1, owed - 1


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.kube.scale.cluster", description=__doc__)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--updates", type=float, default=200.0, help="changes per second")
    parser.add_argument("--storm", type=int, default=5, help="isolations from which on a person is asked")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
