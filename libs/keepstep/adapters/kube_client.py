"""Reads and writes objects of an API server; every write goes through one choke point and is told to an audit.

One kind of change: a merge patch under the resourceVersion that was read, tried again on conflict. Deletions carry the
uid. So a write never hits an object made anew under the name, and never undoes what somebody else wrote meanwhile.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

import httpx2
import orjson

from keepstep.adapters.kube_connect import NO_CREDENTIALS
from keepstep.adapters.kube_errors import Busy, Replaced, Unsent, refusal
from keepstep.adapters.kube_json import JsonObject, table, text
from keepstep.adapters.kube_objects import ObjectRef
from keepstep.adapters.kube_paths import path_of, resource_of
from keepstep.adapters.kube_plan import Propagation
from keepstep.adapters.kube_resources import Resource
from keepstep.ports.errors import Conflict, KeepstepError

MANAGER = "keepstep"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_REVIEW = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
EDIT_TRIES = 5
"""Somebody writes a node's status every few seconds; five losses in a row are no accident."""
SILENCE_S = 90.0
"""Bookmarks come every minute: a watch that is silent for longer hangs on a dead connection."""

Params = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Write:
    """A write as the audit sees it; ``refused`` is "" when the server took it."""

    verb: str
    path: str
    why: str
    refused: str = ""


Audit = Callable[[Write], None]


_METADATA = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"}
"""A server that cannot leave out the rest sends it (Kubernetes API concepts, "Alternate representations")."""


class KubeClient:
    """One server, one identity. All methods raise the errors of ``kube_errors``."""

    def __init__(self, http: httpx2.AsyncClient, *, audit: Audit) -> None:
        self._http, self._audit = http, audit

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def get(self, ref: ObjectRef) -> JsonObject:
        """Return the object of this name; look at its uid, it may be another."""
        return _parsed(await self._send("GET", path_of(ref)))

    async def document(self, path: str) -> JsonObject:
        """Return what stands at a path that is no object of ours: version, discovery."""
        return _parsed(await self._send("GET", path))

    async def may(self, verb: str, group: str, resource: str, *, namespace: str = "") -> bool:
        """Return whether this identity may do that in the namespace, or in every one; asking changes nothing."""
        plural, _, sub = resource.partition("/")
        asked = {"verb": verb, "group": group, "resource": plural, "subresource": sub, "namespace": namespace}
        asked = {name: value for name, value in asked.items() if value or name == "group"}
        answer = await self.ask(_REVIEWS, {**_REVIEW, "spec": {"resourceAttributes": asked}})
        return table(answer, "status").get("allowed") is True

    async def ask(self, path: str, body: JsonObject) -> JsonObject:
        """Return the answer to a question that has the form of a creation: a review, which changes nothing."""
        headers = {"Content-Type": "application/json"}
        return _parsed(await self._send("POST", path, body=orjson.dumps(body), headers=headers))

    async def clock(self) -> datetime:
        """Return the server's time of day, to the second. Raises Busy when it does not say."""
        try:
            reply = await self._http.request("GET", "/version")
            return parsedate_to_datetime(reply.headers.get("date", ""))
        except (httpx2.TransportError, ValueError) as error:
            raise Busy(f"GET /version: no time in the answer ({error or type(error).__name__})") from error

    async def page(
        self, resource: Resource, params: Params, *, namespace: str = "", only_metadata: bool = False
    ) -> JsonObject:
        """Return one page of a list; ``only_metadata`` leaves out all else: a tenth of a pod, most of it unsent."""
        headers = _METADATA if only_metadata else None
        return _parsed(await self._send("GET", resource.path(namespace), params=params, headers=headers))

    @asynccontextmanager
    async def watch(
        self, resource: Resource, params: Params, *, namespace: str = ""
    ) -> AsyncIterator[AsyncIterator[JsonObject]]:
        """Open a watch; yields its events. Raises Busy when the connection breaks or falls silent for 90 s."""
        asked = resource.path(namespace)
        timeout = httpx2.Timeout(SILENCE_S, connect=5.0)
        try:
            async with self._http.stream("GET", asked, params={"watch": "true", **params}, timeout=timeout) as reply:
                if reply.status_code >= 400:
                    raise refusal(f"GET {asked}", reply.status_code, await reply.aread(), reply.headers)
                yield _lines(reply)
        except NO_CREDENTIALS as error:
            raise Busy(f"watch of {asked}: no credentials ({error})") from error
        except httpx2.TransportError as error:
            raise Busy(f"watch of {asked} broke: {error or type(error).__name__}") from error

    async def edit(self, ref: ObjectRef, change: Callable[[JsonObject], JsonObject | None], *, why: str) -> JsonObject:
        """Merge what ``change`` makes of the object into it and return the object as it is then.

        ``change`` returns None to leave it; it is asked again after a conflict. A ``ref`` with a uid edits that object
        only: raises Replaced when the name belongs to another now.
        """
        for _ in range(EDIT_TRIES):
            found = await self.get(ref)
            _same(ref, found)
            body = change(found)
            if body is None:
                return found
            try:
                return await self._patch(ref, _versioned(body, found), why=why)
            except Conflict as lost:
                last = lost
        raise last

    async def apply(self, ref: ObjectRef, body: JsonObject, *, why: str) -> JsonObject:
        """Own these fields by server-side apply; raises Conflict while another manager owns one with another value."""
        kind = {"Content-Type": "application/apply-patch+yaml"}
        sent = self._write("PATCH", path_of(ref), body, why=why, headers=kind, params={"fieldManager": MANAGER})
        return _parsed(await sent)

    async def create(self, namespace: str, body: JsonObject, *, why: str) -> JsonObject:
        """Create an object; raises Refused when one of its name exists."""
        path = resource_of(text(body, "apiVersion"), text(body, "kind")).path(namespace)
        return _parsed(await self._write("POST", path, body, why=why, params={"fieldManager": MANAGER}))

    async def delete(
        self, ref: ObjectRef, *, why: str, force: bool = False, propagation: Propagation | None = None
    ) -> None:
        """Delete exactly this object, by uid; raises Missing when it is gone, of which Replaced is a case."""
        body: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": ref.uid}}
        if force:
            body["gracePeriodSeconds"] = 0
        if propagation is not None:
            body["propagationPolicy"] = propagation
        await self._write("DELETE", path_of(ref), body, why=why)

    async def evict(self, ref: ObjectRef, *, why: str) -> None:
        """Ask for a pod's eviction; raises Blocked while a disruption budget forbids it."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": ref.name, "namespace": ref.namespace},
            "deleteOptions": {"preconditions": {"uid": ref.uid}},
        }
        await self._write("POST", path_of(ref, "eviction"), body, why=why)

    async def _patch(self, ref: ObjectRef, body: JsonObject, *, why: str) -> JsonObject:
        headers = {"Content-Type": "application/merge-patch+json"}
        params = {"fieldManager": MANAGER}
        return _parsed(await self._write("PATCH", path_of(ref), body, why=why, headers=headers, params=params))

    async def _write(
        self,
        method: str,
        path: str,
        body: JsonObject,
        *,
        why: str,
        headers: Params | None = None,
        params: Params | None = None,
    ) -> bytes:
        """Send a write and tell the audit, whatever the answer: the one place that changes a cluster."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        try:
            answer = await self._send(method, path, params=params, body=orjson.dumps(body), headers=sent)
        except KeepstepError as error:
            self._audit(Write(method, path, why, refused=str(error)))
            raise
        self._audit(Write(method, path, why))
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: bytes | None = None,
        headers: Params | None = None,
    ) -> bytes:
        try:
            reply = await self._http.request(method, path, params=params, content=body, headers=headers)
        except NO_CREDENTIALS as error:
            raise Busy(f"{method} {path}: no credentials ({error})") from error
        except httpx2.ConnectError as error:
            raise Unsent(f"{method} {path}: no connection ({error or type(error).__name__})") from error
        except httpx2.TransportError as error:
            raise Busy(f"{method} {path}: no answer ({error or type(error).__name__})") from error
        if reply.status_code >= 400:
            raise refusal(f"{method} {path}", reply.status_code, reply.content, reply.headers)
        return reply.content


async def _lines(reply: httpx2.Response) -> AsyncIterator[JsonObject]:
    rest = b""
    async for chunk in reply.aiter_bytes():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield _parsed(line)


def _parsed(body: bytes) -> JsonObject:
    found = orjson.loads(body)
    return found if isinstance(found, dict) else {}


def _same(ref: ObjectRef, found: JsonObject) -> None:
    uid = text(found, "metadata", "uid")
    if ref.uid and uid != ref.uid:
        raise Replaced(f"{ref} has uid {uid} now, not {ref.uid}: it was made anew")


def _versioned(body: JsonObject, found: JsonObject) -> JsonObject:
    """Return the patch under the version that was read."""
    meta = body.get("metadata")
    own = dict(meta) if isinstance(meta, Mapping) else {}
    return {**body, "metadata": {**own, "resourceVersion": text(found, "metadata", "resourceVersion")}}
