"""``python -m keepstep.gate``."""

import asyncio
import signal
import sys
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from keepstep.adapters.kube_named import client_of
from keepstep.adapters.kube_tokens import KubeTokens
from keepstep.gate.app import Gate
from keepstep.gate.settings import Settings
from keepstep.ports.errors import Permanent
from keepstep.runtime.entry import main
from keepstep.runtime.gatehouse import gatehouse
from keepstep.runtime.settings import Settings as Shared


async def _run() -> None:
    settings, shared = Settings(), Shared()
    cluster = client_of(shared.cluster, audit=lambda _: None)
    if cluster is None:
        raise Permanent(f"KEEPSTEP_CLUSTER {shared.cluster!r} names no Kubernetes: write kubernetes[:<kubeconfig>]")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cluster.close)
        house = await stack.enter_async_context(gatehouse(shared, settings.seed))
        gate = Gate(settings, KubeTokens(cluster), house.bindings, now=_now, monotonic=time.monotonic)
        serving = asyncio.ensure_future(house.serve(gate.judge, now=_now))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        await asyncio.wait({serving})
        if not serving.cancelled():
            serving.result()


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    sys.exit(main("gate", _run))
