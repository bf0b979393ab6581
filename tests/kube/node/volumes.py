"""The volumes of a pod as folders, filled as a kubelet fills them, and where a container sees them."""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..server.objects import Obj
from .environment import Find, Missing, expanded, field_of, hostname_of, resource_of
from .processes import Bind

Token = Callable[[Obj, Obj], str]
"""Gives the token that a pod's volume asks for, by the pod and the volume's source."""


@dataclass(frozen=True)
class Places:
    """Where a pod's own folders are, and those of claims, which outlive pods and are seen from all nodes."""

    pod: Path
    claims: Path


@dataclass(frozen=True)
class Sources:
    """Where the content of volumes comes from."""

    find: Find
    token: Token


def fill(pod: Obj, places: Places, sources: Sources) -> dict[str, Path]:
    """Make the pod's volumes, or bring them up to date, and return their paths by name. Raises Missing."""
    return {volume["name"]: _fill_one(volume, pod, places, sources) for volume in pod["spec"].get("volumes") or ()}


def binds(container: Obj, pod: Obj, volumes: Mapping[str, Path], hosts: Path, env: Mapping[str, str]) -> list[Bind]:
    """Return what the container sees of the volumes, and its /etc/hosts."""
    found = [Bind(str(hosts), "/etc/hosts")]
    for mount in container.get("volumeMounts") or ():
        source = volumes[mount["name"]]
        below = mount.get("subPath") or expanded(mount.get("subPathExpr") or "", env)
        if below:
            source /= below
            if not source.exists():
                source.mkdir(parents=True)
        found.append(Bind(str(source), mount["mountPath"], bool(mount.get("readOnly"))))
    return found


def write_hosts(pod: Obj, ip: str, path: Path) -> None:
    """Write the pod's /etc/hosts."""
    lines = ["# Kubernetes-managed hosts file.", "127.0.0.1\tlocalhost"]
    names = {ip: hostname_of(pod)}
    for alias in pod["spec"].get("hostAliases") or ():
        names[alias["ip"]] = "\t".join(alias["hostnames"])
    path.write_text("\n".join([*lines, *(f"{ip}\t{name}" for ip, name in names.items())]) + "\n", encoding="utf-8")


def _fill_one(volume: Obj, pod: Obj, places: Places, sources: Sources) -> Path:
    path: Path
    if host := volume.get("hostPath"):
        path = Path(host["path"])
        if host.get("type") == "DirectoryOrCreate":
            path.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            raise Missing(f"hostPath type check failed: {path} does not exist")
        return path
    if claim := volume.get("persistentVolumeClaim"):
        path = places.claims / str(pod["metadata"]["namespace"]) / str(claim["claimName"])
        path.mkdir(parents=True, exist_ok=True)
        return path
    path = places.pod / "volumes" / str(volume["name"])
    path.mkdir(parents=True, exist_ok=True)
    for source in (volume.get("projected") or {}).get("sources") or (volume,):
        for name, text in _files(source, pod, sources):
            _write(path / name, text)
    return path


def _files(source: Obj, pod: Obj, sources: Sources) -> Iterator[tuple[str, str]]:
    if wanted := source.get("configMap"):
        yield from _keys("configmap", wanted, wanted.get("name", ""), sources.find)
    if wanted := source.get("secret"):
        yield from _keys("secret", wanted, wanted.get("secretName") or wanted.get("name", ""), sources.find)
    if wanted := source.get("downwardAPI"):
        for item in wanted.get("items") or ():
            yield item["path"], _downward(item, pod)
    if wanted := source.get("serviceAccountToken"):
        yield wanted["path"], sources.token(pod, wanted)


def _keys(kind: str, wanted: Obj, name: str, find: Find) -> Iterator[tuple[str, str]]:
    values = find(kind, name)
    if values is None:
        if wanted.get("optional"):
            return
        raise Missing(f'{kind} "{name}" not found')
    items = wanted.get("items") or [{"key": key, "path": key} for key in values]
    for item in items:
        if item["key"] not in values:
            raise Missing(f"references non-existent {kind} key: {item['key']}")
        yield item["path"], values[item["key"]]


def _downward(item: Obj, pod: Obj) -> str:
    if ref := item.get("fieldRef"):
        return field_of(pod, ref["fieldPath"])
    ref = item["resourceFieldRef"]
    container = next(one for one in pod["spec"]["containers"] if one["name"] == ref["containerName"])
    return resource_of(container, ref)


def _write(path: Path, text: str) -> None:
    """Put the text there in one go, so that no reader sees half of it."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def decoded(secret: Obj) -> dict[str, str]:
    """Return a Secret's values as text."""
    coded = {key: base64.b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}
    return coded | (secret.get("stringData") or {})
