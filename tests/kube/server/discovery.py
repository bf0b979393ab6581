"""What is here: groups, versions, resources, and the server's own version."""

from collections.abc import Sequence

from .kinds import Kind
from .objects import Obj

VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.2",
    "gitCommit": "0" * 40,
    "gitTreeState": "clean",
    "buildDate": "2026-11-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_REVIEWS: Obj = {
    "name": "selfsubjectaccessreviews",
    "singularName": "selfsubjectaccessreview",
    "namespaced": False,
    "kind": "SelfSubjectAccessReview",
    "verbs": ["create"],
}


def answer(path: str, served: Sequence[Kind]) -> Obj | None:  # noqa: PLR0911 - one for each path
    """Return the discovery document of a path, None if there is none."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            names = dict.fromkeys(kind.group for kind in served if kind.group) | {"authorization.k8s.io": None}
            groups = [_group(name, served) for name in names]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["api", version]:
            return _resources("", version, served)
        case ["apis", "authorization.k8s.io", "v1"]:
            return _list("authorization.k8s.io/v1", [_REVIEWS])
        case ["apis", group]:
            return _group(group, served) if any(kind.group == group for kind in served) else None
        case ["apis", group, version]:
            return _resources(group, version, served)
        case _:
            return None


def _group(group: str, served: Sequence[Kind]) -> Obj:
    versions = list(dict.fromkeys(kind.version for kind in served if kind.group == group)) or ["v1"]
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": listed, "preferredVersion": listed[0]}


def _resources(group: str, version: str, served: Sequence[Kind]) -> Obj | None:
    found = [kind for kind in served if (kind.group, kind.version) == (group, version)]
    if not found:
        return None
    resources: list[Obj] = []
    for kind in found:
        resources.append(_resource(kind, kind.plural, _VERBS) | {"shortNames": list(kind.short)})
        if kind.status:
            resources.append(_resource(kind, f"{kind.plural}/status", ["get", "patch", "update"]))
        for subresource in kind.subresources:
            verbs = ["get"] if subresource == "log" else ["create"]
            resources.append(_resource(kind, f"{kind.plural}/{subresource}", verbs))
    return _list(found[0].api_version, resources)


def _list(group_version: str, resources: list[Obj]) -> Obj:
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}


def _resource(kind: Kind, name: str, verbs: list[str]) -> Obj:
    singular = "" if "/" in name else kind.kind.lower()
    head = {"name": name, "singularName": singular, "namespaced": kind.namespaced, "kind": kind.kind}
    return head | {"verbs": verbs}
