"""``python -m keepstep.agent --dir D``: the agent of the task whose directory is D."""

import argparse
import asyncio
import fcntl
import logging
import os
import signal
from pathlib import Path

from keepstep.adapters.clock import SystemClock
from keepstep.agent.app import Agent
from keepstep.agent.bus import LateBus
from keepstep.agent.settings import read_settings
from keepstep.contracts.topology import TaskLaunch

TERMINATED = 128 + signal.SIGTERM
FAILED = 1

_log = logging.getLogger(__name__)


def main() -> None:
    """Run until the plan ends the task (exit 0) or a signal ends the agent (exit 143, ranks untouched)."""
    parser = argparse.ArgumentParser(prog="keepstep.agent", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="the task's directory, which holds task.json")
    task_dir: Path = parser.parse_args().dir.absolute()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    loop = asyncio.new_event_loop()
    life = loop.create_task(_run(task_dir))
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


async def _run(task_dir: Path) -> int:
    settings = read_settings(os.environ)
    launch = TaskLaunch.read((task_dir / "task.json").read_bytes())
    lock = await _lock(task_dir / "agent")
    agent = Agent(launch, task_dir=task_dir, node=settings.node, address=settings.address, clock=SystemClock())
    name = f"agent {launch.task.name} of {launch.job.name}"
    bus = LateBus(settings.nats_url.get_secret_value(), launch.pool, name=name)
    async with asyncio.TaskGroup() as group:
        connecting = group.create_task(bus.connect())
        await agent.run(bus)
        connecting.cancel()
    os.close(lock)
    return 0


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
