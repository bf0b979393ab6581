"""What a container's program is told: variables with their sources, and $(NAME) put in, as a kubelet does it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ..server.objects import Obj

_REFERENCE = re.compile(r"\$(\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")

Find = Callable[[str, str], Obj | None]
"""Finds a ConfigMap ("configmap", name) or Secret ("secret", name) of the pod's namespace, its values as text."""


class Missing(Exception):
    """Something that a container's variables or volumes need is not there."""


@dataclass(frozen=True)
class Image:
    """What an image brings: variables, and the program of a container that names none."""

    env: Mapping[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    workdir: str = "/"


def argv_of(container: Obj, image: Image, env: Mapping[str, str]) -> list[str]:
    """Return the command line. Raises Missing where neither container nor image has a program."""
    command, args = container.get("command"), container.get("args") or []
    words = [*(command or image.entrypoint), *args]
    if not words:
        raise Missing("no command specified")
    return [expanded(word, env) for word in words]


def env_of(container: Obj, pod: Obj, image: Image, find: Find) -> dict[str, str]:
    """Return the variables: the image's, envFrom's, env's, each seeing those before it. Raises Missing."""
    env = {**image.env, "HOSTNAME": hostname_of(pod)}
    for source in container.get("envFrom") or ():
        for kind, ref in (("configmap", source.get("configMapRef")), ("secret", source.get("secretRef"))):
            if ref is not None:
                values = _values(kind, ref, find)
                env |= {f"{source.get('prefix', '')}{key}": value for key, value in values.items()}
    for one in container.get("env") or ():
        value = one.get("value") or ""
        if "valueFrom" in one:
            value = _value_from(one["valueFrom"], container, pod, find)
        if value is not None:
            env[one["name"]] = expanded(value, env) if "valueFrom" not in one else value
    return env


def expanded(text: str, env: Mapping[str, str]) -> str:
    """Put variables in the place of $(NAME); unknown ones stay as they are, $$ is a dollar."""

    def put(found: re.Match[str]) -> str:
        return "$" if found[1] == "$" else env.get(found[2], found[0])

    return _REFERENCE.sub(put, text)


def hostname_of(pod: Obj) -> str:
    """Return the name that the pod's containers have."""
    name: str = pod["spec"].get("hostname") or pod["metadata"]["name"]
    return name[:63].rstrip("-.")


def field_of(pod: Obj, path: str) -> str:
    """Return what the downward API says for a field path. Raises Missing for an unknown one."""
    if found := _SUBSCRIPT.fullmatch(path):
        return str((pod["metadata"].get(found[1]) or {}).get(found[2], ""))
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    fields: dict[str, str | None] = {
        "metadata.name": meta["name"],
        "metadata.namespace": meta["namespace"],
        "metadata.uid": meta["uid"],
        "metadata.labels": "\n".join(_lines(meta.get("labels"))),
        "metadata.annotations": "\n".join(_lines(meta.get("annotations"))),
        "spec.nodeName": spec.get("nodeName"),
        "spec.serviceAccountName": spec.get("serviceAccountName"),
        "status.podIP": status.get("podIP"),
        "status.podIPs": ",".join(one["ip"] for one in status.get("podIPs") or ()),
        "status.hostIP": status.get("hostIP"),
    }
    if path not in fields:
        raise Missing(f"unsupported fieldPath: {path}")
    return fields[path] or ""


def resource_of(container: Obj, wanted: Obj) -> str:
    """Return what the downward API says for a container's resource, 0 where it has none."""
    which, _, name = wanted["resource"].partition(".")
    return str((container.get("resources") or {}).get(which, {}).get(name, 0))


def _lines(table: Mapping[str, str] | None) -> Iterator[str]:
    for key, value in sorted((table or {}).items()):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        yield f'{key}="{escaped}"'


def _value_from(source: Obj, container: Obj, pod: Obj, find: Find) -> str | None:
    if ref := source.get("fieldRef"):
        return field_of(pod, ref["fieldPath"])
    if ref := source.get("resourceFieldRef"):
        return resource_of(container, ref)
    kind, ref = ("configmap", source.get("configMapKeyRef")) if "configMapKeyRef" in source else ("secret", None)
    ref = ref or source["secretKeyRef"]
    values = _values(kind, ref, find)
    if ref["key"] in values:
        return values[ref["key"]]
    if ref.get("optional"):
        return None
    raise Missing(f"couldn't find key {ref['key']} in {_kind(kind)} {ref['name']}")


def _values(kind: str, ref: Obj, find: Find) -> Mapping[str, str]:
    found = find(kind, ref["name"])
    if found is None and not ref.get("optional"):
        raise Missing(f'{kind} "{ref["name"]}" not found')
    return found or {}


def _kind(kind: str) -> str:
    return {"configmap": "ConfigMap", "secret": "Secret"}[kind]
