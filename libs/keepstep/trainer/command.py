"""What a container's command asks to train: read the same way when a job is admitted and when its pod runs.

``python``, ``python -m``, ``torchrun``, ``python -m torch.distributed.run`` and ``accelerate launch`` become what
the launcher runs in their place. Whatever is not understood to the last option is None: half of a command obeyed is a
training run that nobody asked for.
"""

from __future__ import annotations

import argparse
import os
import re
from typing import Any, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple

from keepstep.trainer.task import Kind, Run

_PYTHON = re.compile(r"^python(\d+(\.\d+)?)?$")
ALONE = ("-u", "-B")
"""Interpreter options that a rank has anyway, or that change nothing; any other makes the command unknown."""
TORCHRUN_MODULES = ("torch.distributed.run", "torch.distributed.launch")
ACCELERATE_MODULES = ("accelerate.commands.launch",)
BY_DEVICES = ("auto", "gpu", "cpu", "npu", "xpu")
"""What --nproc-per-node says instead of a number: as many as the task has devices."""


def _words(names: str) -> Tuple[str, ...]:
    return tuple(names.split())


class Asked(NamedTuple):
    """What a command asks for."""

    run: Run
    wrapper: str
    """``python``, ``torchrun`` or ``accelerate``."""
    nodes: Optional[int] = None
    """How many tasks; None where the command leaves that to whoever makes them."""


def recognise(argv: Sequence[str], environ: Mapping[str, str]) -> Optional[Asked]:
    """Return what the command asks for, or None if it is of no known form; ``environ`` holds PET_ defaults."""
    words = list(argv)
    program = os.path.basename(words[0]) if words else ""
    try:
        if _PYTHON.match(program):
            return _python(words[1:], environ)
        if program == "torchrun":
            return _torchrun(words[1:], environ)
        if program == "accelerate" and words[1:2] == ["launch"]:
            return _accelerate(words[2:])
    except _Unknown:
        return None
    return None


class _Unknown(Exception):
    """The command uses something that is not understood."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Unknown(message)


def _python(words: List[str], environ: Mapping[str, str]) -> Optional[Asked]:
    while words and words[0] in ALONE:
        words = words[1:]
    if words[:1] == ["-m"] and len(words) > 1:
        name, rest = words[1], words[2:]
        if name in TORCHRUN_MODULES:
            return _torchrun(rest, environ, legacy=name.endswith("launch"))
        if name in ACCELERATE_MODULES:
            return _accelerate(rest)
        return Asked(Run(Kind.MODULE, name, tuple(rest), None), "python")
    if words and words[0].endswith(".py"):
        return Asked(Run(Kind.SCRIPT, words[0], tuple(words[1:]), None), "python")
    return None


_TORCHRUN_FLAGS = ("standalone", "virtual-local-rank")
_TORCHRUN_VALUES = _words(
    "rdzv-backend rdzv-endpoint rdzv-id rdzv-conf max-restarts monitor-interval start-method event-log-handler role"
    " log-dir local-ranks-filter duplicate-stdout-filters duplicate-stderr-filters node-rank master-addr master-port"
    " local-addr logs-specs numa-binding signals-to-handle shutdown-timeout"
)
"""Options about rendezvous, restarts and logs: these are the launcher's and the agent's here, and are passed over."""
_CHANGES_THE_SCRIPT = ("run-path", "virtual-local-rank", "numa-binding")


def _torchrun(words: List[str], environ: Mapping[str, str], *, legacy: bool = False) -> Asked:
    parser = _Parser(add_help=False)
    for name in (*_TORCHRUN_FLAGS, "no-python", "run-path", "use-env"):
        parser.add_argument(*_spellings(name), action="store_true")
    parser.add_argument("-m", "--module", action="store_true")
    for name in (*_TORCHRUN_VALUES, "nnodes", "nproc-per-node"):
        parser.add_argument(*_spellings(name))
    parser.add_argument("-r", "--redirects")
    parser.add_argument("-t", "--tee")
    options = _parsed(parser, words)
    if legacy and not options["use_env"]:
        raise _Unknown("it gives each rank an argument of its own")
    for name in _CHANGES_THE_SCRIPT:
        if options[name.replace("-", "_")]:
            raise _Unknown(name)
    count = options["nproc_per_node"] or environ.get("PET_NPROC_PER_NODE") or "1"
    nproc = None if count in BY_DEVICES else _number(count)
    nodes = "1" if options["standalone"] else options["nnodes"] or environ.get("PET_NNODES")
    env = {} if nproc == 1 or "OMP_NUM_THREADS" in environ else {"OMP_NUM_THREADS": "1"}
    run = _script(options, module=options["module"], nproc=nproc, env=env)
    return Asked(run, "torchrun", _at_most(nodes))


_ACCELERATE_VALUES = _words(
    "num-machines machine-rank main-process-ip main-process-port rdzv-backend rdzv-conf max-restarts monitor-interval"
    " role log-dir tee gpu-ids num-processes mixed-precision num-cpu-threads-per-process gradient-accumulation-steps"
)


def _accelerate(words: List[str]) -> Asked:
    """Plain data-parallel launches only: what needs DeepSpeed, FSDP or a configuration file is left to accelerate."""
    parser = _Parser(add_help=False)
    for name in ("multi-gpu", "same-network", "no-python"):
        parser.add_argument(*_spellings(name), action="store_true")
    parser.add_argument("-m", "--module", action="store_true")
    for name in _ACCELERATE_VALUES:
        parser.add_argument(*_spellings(name))
    options = _parsed(parser, words)
    nodes = _number(options["num_machines"] or "1")
    total = None if options["num_processes"] is None else _number(options["num_processes"])
    if total is not None and (total < nodes or total % nodes):
        raise _Unknown("%d processes on %d machines" % (total, nodes))
    env = {"ACCELERATE_MIXED_PRECISION": options["mixed_precision"] or "no", "ACCELERATE_DYNAMO_BACKEND": "NO"}
    if options["gradient_accumulation_steps"]:
        env["ACCELERATE_GRADIENT_ACCUMULATION_STEPS"] = options["gradient_accumulation_steps"]
    if options["num_cpu_threads_per_process"]:
        env["OMP_NUM_THREADS"] = options["num_cpu_threads_per_process"]
    nproc = None if total is None else total // nodes
    run = _script(options, module=options["module"], nproc=nproc, env=env)
    return Asked(run, "accelerate", nodes if options["num_machines"] else None)


def _spellings(name: str) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(("--" + name, "--" + name.replace("-", "_"))))


def _parsed(parser: _Parser, words: List[str]) -> Dict[str, Any]:
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return vars(parser.parse_args(words))


def _script(options: Dict[str, Any], *, module: bool, nproc: Optional[int], env: Mapping[str, str]) -> Run:
    target, rest = options["script"], tuple(options["arguments"])
    if options["no_python"]:
        return Run(Kind.COMMAND, "", (target, *rest), nproc, dict(env))
    return Run(Kind.MODULE if module else Kind.SCRIPT, target, rest, nproc, dict(env))


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise _Unknown("%r is no number of processes" % text)
    return int(text)


def _at_most(nodes: Optional[str]) -> Optional[int]:
    """Return the upper bound of ``N`` or ``MIN:MAX``: a job of a cluster has all its tasks or none."""
    return None if not nodes else _number(nodes.rpartition(":")[2])
