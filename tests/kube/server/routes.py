"""Reads request paths: which resource, in which namespace, which object and which part of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from .kinds import Kind


@dataclass(frozen=True)
class Target:
    """What a path means; ``name`` "" is the whole collection, ``namespace`` None every namespace."""

    kind: Kind
    namespace: str | None
    name: str
    subresource: str

    @property
    def within(self) -> str:
        """Return the namespace as the store takes it: "" for cluster-wide objects."""
        return self.namespace or ""

    @property
    def resource(self) -> str:
        """Return plural or plural/subresource as roles name it."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


class Routes:
    """The paths of the kinds that are served."""

    def __init__(self, served: Iterable[Kind]) -> None:
        self.served = tuple(served)
        self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in self.served}

    def read(self, path: str) -> Target | None:
        """Return what the path means, None if nothing is served there."""
        parts = [part for part in path.split("/") if part]
        if parts[:1] == ["api"] and len(parts) >= 3:
            group, version, rest = "", parts[1], parts[2:]
        elif parts[:1] == ["apis"] and len(parts) >= 4:
            group, version, rest = parts[1], parts[2], parts[3:]
        else:
            return None
        namespace = None
        if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in {"status", "finalize"}:
            namespace, rest = rest[1], rest[2:]
        kind = self._kinds.get((group, version, rest[0]))
        if kind is None or len(rest) > 3 or (namespace is not None and not kind.namespaced):
            return None
        name = rest[1] if len(rest) > 1 else ""
        subresource = rest[2] if len(rest) > 2 else ""
        if kind.namespaced and namespace is None and name:
            return None
        if subresource and subresource not in kind.subresources and not (subresource == "status" and kind.status):
            return None
        return Target(kind, namespace, name, subresource)
