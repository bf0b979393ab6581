"""A spare interpreter: imports at low priority, waits for its plan, then becomes the rank.

It holds two descriptors: a control socket (it writes ``r`` when ready, reads one byte when its plan is there) and the
unnamed file that the plan is written to. No device is touched before the plan has come.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
from typing import Any, Dict, Sequence

from keepstep.trainer import hook, hugepages, preload, runner, system
from keepstep.trainer.task import Kind


def main(arguments: Sequence[str]) -> None:
    """Live a spare's life; ``arguments`` are what it is, control, plan, the modules to import, and what is shown."""
    control, plan_file = (int(text) for text in arguments[1:3])

    def wanted() -> bool:
        return bool(select.select([control], [], [], 0)[0])

    if preload.load(arguments[3 : arguments.index(preload.SHOWN)], wanted):
        hugepages.collapse(wanted)
        with contextlib.suppress(BrokenPipeError):  # the plan is there already and the launcher has closed its end
            os.write(control, b"r")
    if not os.read(control, 1):
        return
    with os.fdopen(plan_file, "rb") as file:
        file.seek(0)
        plan = json.loads(file.read())
    os.close(control)
    _become(plan)
    runner.run(Kind(plan["kind"]), plan["target"], plan["argv"])


def _become(plan: Dict[str, Any]) -> None:
    """Take the rank's output files, folder and environment, and the hook that watches it."""
    system.set_priority(os.getpid(), plan["nice"])
    system.rename(preload.SPARE, "[rank %s]" % plan["env"].get("RANK", "?"))
    sys.stdout.flush()
    sys.stderr.flush()
    for descriptor, path in ((1, plan["out"]), (2, plan["err"])):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(plan["env"])
    os.chdir(plan["cwd"])
    hook.install()
