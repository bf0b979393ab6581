"""What tests set up and look at in an API server, over HTTP as its administrator: the double and a real one alike."""

from dataclasses import dataclass
from typing import Any

import httpx2

from tests.kube.server.kinds import Kind

MERGE = {"Content-Type": "application/merge-patch+json"}
Obj = dict[str, Any]


@dataclass
class Admin:
    """Requests of the administrator; one that the server refuses is a mistake of the test and fails it."""

    http: httpx2.AsyncClient

    async def create(self, kind: Kind, body: Obj, namespace: str = "") -> Obj:
        """Create an object and return it."""
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        return await self._asked("POST", _path(kind, namespace), json=whole)

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Obj:
        """Return an object."""
        return await self._asked("GET", _path(kind, namespace, name))

    async def items(self, kind: Kind, namespace: str = "", **query: str) -> list[Obj]:
        """Return the objects of a kind, with the head that items of a list lack."""
        found = await self._asked("GET", _path(kind, namespace), params=query)
        return [{"apiVersion": kind.api_version, "kind": kind.kind, **one} for one in found["items"]]

    async def patch(self, kind: Kind, name: str, body: Obj, namespace: str = "", *, sub: str = "") -> Obj:
        """Merge into an object, or into its status."""
        return await self._asked("PATCH", _path(kind, namespace, name, sub), json=body, headers=MERGE)

    async def delete(self, kind: Kind, name: str, namespace: str = "", *, grace: int | None = None) -> None:
        """Delete an object."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions"} | (
            {} if grace is None else {"gracePeriodSeconds": grace}
        )
        await self._asked("DELETE", _path(kind, namespace, name), json=options)

    async def serves(self, kind: Kind, sub: str = "") -> bool:
        """Return whether the server has the kind, and its subresource, in this version."""
        root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
        reply = await self.http.get(root)
        name = f"{kind.plural}/{sub}" if sub else kind.plural
        return reply.status_code < 400 and any(one["name"] == name for one in reply.json()["resources"])

    async def minor(self) -> int:
        """Return the minor version: 36 of 1.36."""
        said: str = (await self._asked("GET", "/version"))["minor"]
        return int(said.rstrip("+"))

    async def _asked(self, method: str, path: str, **what: Any) -> Obj:
        headers = {"Content-Type": "application/json"}
        reply = await self.http.request(method, path, **{"headers": headers, **what})
        assert reply.status_code < 400, f"{method} {path}: {reply.text}"
        answer: Obj = reply.json()
        return answer


def _path(kind: Kind, namespace: str = "", name: str = "", sub: str = "") -> str:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    within = f"/namespaces/{namespace}" if kind.namespaced and namespace else ""
    return "/".join(part for part in (f"{root}{within}/{kind.plural}", name, sub) if part)
