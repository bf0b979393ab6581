"""How one rank is brought to life: its environment, its log files, and the process that becomes it."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from typing import Callable, Dict, List, Optional, Tuple

from keepstep.trainer import progress, system, wire
from keepstep.trainer.gang import Rank
from keepstep.trainer.spares import Stock, before_exec
from keepstep.trainer.task import Kind, Task
from keepstep.trainer.wire import Line

_NOT_FOR_RANKS = ("KEEPSTEP_NATS_URL", system.RANK_NICE)
"""The bus is no business of the training script, and its address holds a token; how nice to be is the launcher's."""

_HOOKED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sitecustomize")
"""A folder with a sitecustomize.py; first on PYTHONPATH, it reaches every Python that a command starts."""


def base_environment(task: Task) -> Dict[str, str]:
    """Return what all ranks of the task have in common: the launcher's environment and the job's."""
    env = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_RANKS}
    env["PYTHONUNBUFFERED"] = "1"
    env.update(task.env)
    env["KEEPSTEP_TASK_DIR"] = task.directory
    env["KEEPSTEP_TASK_UID"] = task.uid
    if task.kind is Kind.COMMAND:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (_HOOKED, env.get("PYTHONPATH"))))
    return env


def start_rank(task: Task, stock: Stock, page: progress.Page, base: Dict[str, str], order: Line) -> Rank:
    """Start one rank as ordered; raises OSError if no process can be made."""
    generation, rank, slot = int(order["generation"]), int(order["rank"]), int(order["local_rank"])
    env = {**base, **order.get("env", {})}
    env.update(KEEPSTEP_GENERATION=str(generation), RANK=str(rank), LOCAL_RANK=str(slot))
    out, err = (wire.log_path(task.directory, generation, rank, stream) for stream in ("out", "err"))
    os.makedirs(os.path.dirname(out), exist_ok=True)
    for path in (out, err):
        with open(path, "ab"):
            pass
    resume = env.get("KEEPSTEP_RESUME_STEP", "")
    words = page.begin(slot, 0, generation, int(resume) if resume else progress.NO_STEP)
    argv = [*task.argv, *order.get("args", ())]
    if task.kind is Kind.COMMAND:
        group = stock.groups.make()
        pid = _spawn_command(argv, task.cwd, env, (out, err), before_exec(os.getpid(), group, stock.nice))
        # A hook in the command may have put its own process there by now.
        words[progress.PID] = words[progress.PID] or pid
        return Rank(order, generation, pid, group=group, leads_group=True)
    warm = stock.take(env)
    spare = warm or stock.cold(env)
    words[progress.PID] = spare.pid
    plan = {"kind": task.kind, "target": task.target, "argv": argv, "cwd": task.cwd, "env": env, "out": out, "err": err}
    spare.become({**plan, "nice": stock.nice})
    return Rank(order, generation, spare.pid, warm=warm is not None and warm.ready, group=spare.group)


def _spawn_command(
    argv: List[str], cwd: str, env: Dict[str, str], logs: Tuple[str, str], prepare: Callable[[], None]
) -> int:
    """Start a command and return its pid; one that cannot be executed exits with 127 and says why on stderr."""
    with open(logs[0], "ab") as output, open(logs[1], "ab") as errors:
        try:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                preexec_fn=prepare,  # noqa: PLW1509 - the launcher has one thread
            )
        except OSError as error:
            errors.write(("%s: %s\n" % (error.filename or argv[0], error.strerror)).encode())
            return _stand_in()
    # The launcher reaps by itself; the object must not try to as well.
    process.returncode = 0
    return process.pid


def _stand_in() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(127)
    return pid


def installed_version(distribution: str) -> Optional[str]:
    """Return the version of an installed distribution by the name of its folder, without importing anything."""
    for entry in sys.path:
        for folder in glob.glob(os.path.join(glob.escape(entry), distribution + "-*.dist-info")):
            return os.path.basename(folder)[len(distribution) + 1 : -len(".dist-info")]
    return None
