"""Turns a command line into a JobSpec, or refuses it with the remedy."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from keepstep.asking.mistakes import explain
from keepstep.asking.paths import is_file, resolved
from keepstep.asking.refused import Refused
from keepstep.contracts.policy import Policy
from keepstep.contracts.topology import LARGEST_SPEC, Command, JobSpec, Module, Script

RESERVED = frozenset(
    ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
)
"""What every rank is told of its place; a value from outside would make ranks wait for each other for ever."""

OBEYS_FAULTS = "KEEPSTEP_FAULTS"
"""With 1 its ranks commit the faults that ``keepstep fault inject`` asks of them; the one name of ours that is open."""


def entrypoint(argv: Sequence[str], *, cwd: Path) -> Script | Module | Command:
    """Return what ``argv`` asks to run: a .py file, ``-m module`` or any command (whose starts are always cold)."""
    match argv:
        case []:
            raise Refused("nothing to run: put the script after --, as in: keepstep run -- train.py --epochs 3")
        case ["-m"]:
            raise Refused("-m needs the name of a module, as in: keepstep run -- -m my.train")
        case ["-m", name, *args]:
            return Module(name=name, args=tuple(args))
        case [path, *args] if path.endswith(".py"):
            script = resolved(cwd / path)
            if not is_file(script):
                raise Refused(f"script {path} is not there (looked for {script})")
            return Script(path=str(script), args=tuple(args))
        case [program, *_]:
            if shutil.which(program, path=None) is None and not is_file(cwd / program):
                raise Refused(f"command {program} was not found on PATH; a Python script's name ends in .py")
            return Command(argv=tuple(argv))
        case _:
            raise Refused(f"cannot run {argv!r}")


def job_name(entry: Script | Module | Command) -> str:
    """Return a name for the job drawn from what it runs: lower case, digits and dashes."""
    match entry:
        case Script():
            stem = Path(entry.path).stem
        case Module():
            stem = entry.name.rpartition(".")[2]
        case Command():
            stem = Path(entry.argv[0]).stem
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:40].strip("-") or "job"


def specify(
    argv: Sequence[str],
    *,
    name: str | None,
    nodes: int,
    nproc: int,
    policy: Policy,
    checkpoint_dir: Path | None = None,
    resume_arg: str | None = None,
    env: Sequence[str] = (),
    cwd: Path | None = None,
) -> JobSpec:
    """Return the job; raises Refused where a value is out of range, naming the option."""
    here = cwd or Path.cwd()
    if any("\0" in text for text in (*argv, *env, str(here), str(checkpoint_dir), resume_arg or "")):
        raise Refused("an argument, --env or a folder's name holds a NUL byte, which no program can be given")
    entry = entrypoint(argv, cwd=here)
    try:
        spec = JobSpec(
            name=job_name(entry) if name is None else name,
            entrypoint=entry,
            nodes=nodes,
            nproc=nproc,
            cwd=str(resolved(here)),
            env=environment(env),
            checkpoint_dir=None if checkpoint_dir is None else str(resolved(here / checkpoint_dir)),
            resume_arg=resume_arg,
            policy=policy,
        )
    except ValidationError as error:
        raise Refused(explain(error, JobSpec)) from error
    return _written(spec)


def _written(spec: JobSpec) -> JobSpec:
    """Return the job if it can be written down; raises Refused for bytes that are no text, or for too many."""
    try:
        size = len(spec.model_dump_json())
    except PydanticSerializationError as error:
        raise Refused("the script, an argument, --env or the folder's name is not UTF-8: write it in a file") from error
    if size > LARGEST_SPEC:
        raise Refused(f"the job has {size} bytes, at most {LARGEST_SPEC} are taken: shorten --env, arguments or policy")
    return spec


def environment(pairs: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE options; raises Refused with all that are none and all names that are keepstep's to set."""
    mistakes = [wrong for pair in pairs if (wrong := _wrong(pair))]
    if mistakes:
        raise Refused(*mistakes)
    return dict(pair.split("=", 1) for pair in pairs)


def _wrong(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    if not name or not equals:
        return f"--env {pair}: write NAME=VALUE"
    if name in RESERVED or (name.startswith("KEEPSTEP_") and name != OBEYS_FAULTS):
        return f"--env {name}: keepstep sets {name} for every rank itself; choose another name"
    return ""
