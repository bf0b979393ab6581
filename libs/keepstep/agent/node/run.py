"""``python -m keepstep.agent --node``: the agent of the machine it runs on."""

import asyncio
import logging
from contextlib import AsyncExitStack

from keepstep.adapters.clock import SystemClock
from keepstep.agent.late_bus import LateBus, late_bus
from keepstep.agent.node.app import KernelLog, NodeAgent, boot_of
from keepstep.agent.node.kmsg import kernel_log
from keepstep.agent.node.memory import BOOT_ID
from keepstep.agent.node.settings import NodeSettings
from keepstep.runtime.http import Answer, serving
from keepstep.runtime.rights_of_pods import Caller

_log = logging.getLogger(__name__)


async def run_node(settings: NodeSettings) -> int:
    """Run until cancelled. Raises Permanent where the port is not to be had."""
    agent = NodeAgent(settings, boot=boot_of(BOOT_ID), clock=SystemClock(), log=_kernel_log(settings))
    caller = Caller(settings.pool, settings.pod_uid, settings.node)
    bus = late_bus(settings.nats_url, caller, settings.token_file, name=f"agent of node {settings.node}")
    async with AsyncExitStack() as stack:
        if settings.http_port:
            where = serving(settings.http_host, settings.http_port, lambda path: answer(path, agent, bus))
            await stack.enter_async_context(where)
        async with asyncio.TaskGroup() as group:
            group.create_task(bus.connect())
            group.create_task(agent.run(bus))
    return 0


def answer(path: str, agent: NodeAgent, bus: LateBus) -> Answer:
    """Return what a path answers: alive while looks come to an end, ready while the bus hears it."""
    match path:
        case "/healthz":
            return _answer(agent.alive, "looks")
        case "/readyz":
            return _answer(agent.alive and bus.connected, "looks and speaks")
        case _:
            return Answer("404 Not Found", "text/plain", b"try /healthz or /readyz\n")


def _answer(well: bool, what: str) -> Answer:
    status = "200 OK" if well else "503 Service Unavailable"
    return Answer(status, "text/plain", f"{what if well else 'does not'}\n".encode())


def _kernel_log(settings: NodeSettings) -> KernelLog | None:
    """Return the kernel's log; an agent that may not read it still has the rest to see."""
    try:
        return kernel_log(settings.kmsg)
    except OSError as error:
        _log.error("the kernel's log is not read: %s; give the container the capability SYSLOG, and user 0", error)
        return None
