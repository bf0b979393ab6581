"""Data sources of a job, ``--ds-type --ds-name --ds-mountpath`` in step, as volumes of its pods."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from keepstep.adapters.kube_json import JsonObject
from keepstep.cli.errors import Refused
from keepstep.injection.making import Volume


def _claim(name: str) -> JsonObject:
    return {"persistentVolumeClaim": {"claimName": name}}


def _host(name: str) -> JsonObject:
    return {"hostPath": {"path": name}}


def _nfs(name: str) -> JsonObject:
    server, colon, path = name.partition(":")
    if not colon or not path.startswith("/"):
        raise Refused(f"--ds-name {name}: an nfs source is SERVER:/PATH")
    return {"nfs": {"server": server, "path": path}}


TYPES: Mapping[str, Callable[[str], JsonObject]] = {
    "pvc": _claim,
    "pfs": _claim,
    "cfs": _claim,
    "bos": _claim,
    "hostpath": _host,
    "nfs": _nfs,
}
"""Storage that a platform attaches to a pool is a claim of its name in the namespace."""


class Sources(NamedTuple):
    """The three options as they were given; the first of each makes the first source, and so on."""

    types: tuple[str, ...]
    names: tuple[str, ...]
    paths: tuple[str, ...]


def volumes(sources: Sources) -> tuple[Volume, ...]:
    """Return the volumes; raises Refused for an unknown type, or unless each source has all three options."""
    types, names, paths = sources
    if not len(types) == len(names) == len(paths):
        counts = f"{len(types)}, {len(names)} and {len(paths)} times"
        raise Refused(f"--ds-type, --ds-name and --ds-mountpath go together, and were given {counts}")
    return tuple(_volume(index, *each) for index, each in enumerate(zip(types, names, paths, strict=True)))


def _volume(index: int, kind: str, name: str, path: str) -> Volume:
    source = TYPES.get(kind.lower())
    if source is None:
        raise Refused(f"--ds-type {kind}: is none of {', '.join(TYPES)}")
    if not path.startswith("/"):
        raise Refused(f"--ds-mountpath {path}: write the absolute path in the pod")
    return Volume(name=f"data-{index}", path=path, source=source(name))
