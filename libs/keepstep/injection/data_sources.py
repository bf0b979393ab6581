"""Data sources of a job as volumes of its pods."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from keepstep.adapters.kube_json import JsonObject
from keepstep.asking.refused import Mistakes, Refused
from keepstep.contracts.kubernetes import DataSource, SourceType
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


_SOURCES: Mapping[SourceType, Callable[[str], JsonObject]] = {
    SourceType.PVC: _claim,
    SourceType.PFS: _claim,
    SourceType.CFS: _claim,
    SourceType.BOS: _claim,
    SourceType.HOSTPATH: _host,
    SourceType.NFS: _nfs,
}


def volumes(sources: Sequence[DataSource]) -> tuple[Volume, ...]:
    """Return a volume for each source; raises Refused with every name or path that cannot be one."""
    mistakes = Mistakes()
    found = [mistakes.of(partial(_volume, index, one), None) for index, one in enumerate(sources)]
    mistakes.refuse()
    return tuple(one for one in found if one is not None)


def _volume(index: int, source: DataSource) -> Volume:
    if not source.path.startswith("/"):
        raise Refused(f"--ds-mountpath {source.path}: write the absolute path in the pod")
    if not source.name:
        raise Refused(f"--ds-name: is empty; name what is mounted at {source.path}")
    return Volume(name=f"data-{index}", path=source.path, source=_SOURCES[source.type](source.name))
