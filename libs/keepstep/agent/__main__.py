"""``python -m keepstep.agent --dir D``: the agent of the task whose directory is D.

With ``--pod``, or where KEEPSTEP_POD_UID is set, the agent of a pod, which the bus tells which task it is; with
``--node`` the agent of the machine, which watches its kernel's log, disks, memory and clock.
"""

import argparse
import asyncio
import fcntl
import logging
import os
import signal
from pathlib import Path

from keepstep.agent.app import Agent
from keepstep.agent.devices import devices_of
from keepstep.agent.late_bus import late_bus
from keepstep.agent.pod import live, until_launcher_ends
from keepstep.agent.settings import AgentSettings, Sidecar, read_settings
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.clock import LocalClock
from keepstep.ports.errors import Permanent
from keepstep.runtime.bus_clock import bus_clock
from keepstep.runtime.rights_of_pods import Caller

TERMINATED = 128 + signal.SIGTERM
FAILED = 1

_log = logging.getLogger(__name__)


POD_FOLDER = Path("/keepstep/task")
"""Where a pod's containers share the task's directory."""


def main() -> None:
    """Run until the plan ends the task (exit 0) or a signal ends the agent (exit 143, ranks untouched)."""
    parser = argparse.ArgumentParser(prog="keepstep.agent", description=__doc__)
    parser.add_argument("--dir", type=Path, help=f"the task's directory; in a pod {POD_FOLDER}")
    parser.add_argument("--pod", action="store_true", help="the bus tells which task this pod is")
    parser.add_argument("--node", action="store_true", help="the agent of this machine, of no task")
    options = parser.parse_args()
    pod = options.pod or bool(os.environ.get("KEEPSTEP_POD_UID"))
    if options.dir is None and not pod and not options.node:
        parser.error("--dir: name the task's directory, which holds task.json")
    task_dir: Path = (options.dir or POD_FOLDER).absolute()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    loop = asyncio.new_event_loop()
    life = loop.create_task(_run_node() if options.node else _run_pod(task_dir) if pod else _run(task_dir))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, life.cancel)
    loop.run_until_complete(asyncio.wait([life]))
    # Not asyncio.run: it waits for threads, and one may hang in a look at dead storage.
    os._exit(_code(life))


def _code(life: "asyncio.Task[int]") -> int:
    if life.cancelled():
        return TERMINATED
    error = life.exception()
    if error is None:
        return life.result()
    _log.critical("the agent ends; its node starts it again", exc_info=error)
    return FAILED


async def _run_node() -> int:
    from keepstep.agent.node.run import run_node  # noqa: PLC0415 - no task's agent pays for it
    from keepstep.agent.node.settings import read_settings as read_node_settings  # noqa: PLC0415 - of the same

    return await run_node(read_node_settings(os.environ))


async def _run(task_dir: Path) -> int:
    settings = read_settings(os.environ)
    launch = TaskLaunch.read((task_dir / "task.json").read_bytes())
    lock = await _lock(task_dir / "agent")
    bus = late_bus(
        settings.nats_url, Caller(launch.pool, ""), None, name=f"agent {launch.task.name} of {launch.job.name}"
    )
    async with asyncio.TaskGroup() as group:
        connecting = group.create_task(bus.connect())
        async with bus_clock(bus.time) as clock:
            await _agent(launch, task_dir, settings, clock).run(bus)
        connecting.cancel()
    os.close(lock)
    return 0


async def _run_pod(task_dir: Path) -> int:
    settings = read_settings(os.environ)
    if not settings.pod_uid:
        raise Permanent("KEEPSTEP_POD_UID is not set: give it the pod's metadata.uid by the downward API")
    lock = await _lock(task_dir / "agent")
    caller = Caller(settings.pool, settings.pod_uid)
    bus = late_bus(settings.nats_url, caller, settings.token_file, name=f"agent of pod {settings.pod_uid}")

    async def run(launch: TaskLaunch) -> None:
        async with bus_clock(bus.time) as clock:
            await _agent(launch, task_dir, settings, clock).run(bus)

    ends = [live(task_dir, bus.bindings(settings.pod_uid), run)]
    if settings.sidecar is Sidecar.PLAIN:
        ends.append(until_launcher_ends(task_dir))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in (*ends, bus.connect())]
        await asyncio.wait(tasks[: len(ends)], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
    os.close(lock)
    return 0


def _agent(launch: TaskLaunch, task_dir: Path, settings: AgentSettings, clock: LocalClock) -> Agent:
    return Agent(
        launch,
        task_dir=task_dir,
        node=settings.node,
        address=settings.address,
        clock=clock,
        devices=devices_of(os.environ),
    )


async def _lock(folder: Path) -> int:
    """Return a descriptor that holds the task's agent lock, waiting while an older agent is on its way out."""
    descriptor = _open_lock(folder)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(0.05)
        else:
            return descriptor


def _open_lock(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


if __name__ == "__main__":
    main()
