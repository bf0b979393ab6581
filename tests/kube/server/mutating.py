"""Mutating admission webhooks: a real HTTPS call for each configuration that an object falls under."""

import base64
import ssl
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from . import kinds
from .access import User
from .errors import ApiError
from .objects import Obj, labels_of
from .patches import json_patched
from .routes import Target
from .selectors import matches
from .store import Store

_SECONDS = 10


@dataclass(frozen=True)
class Admission:
    """One request on its way in; ``operation`` is CREATE or UPDATE."""

    target: Target
    operation: str
    user: User
    obj: Obj
    old: Obj | None
    dry_run: bool


class Mutators:
    """Calls webhooks; ``services`` says where a service's (namespace, name) really listens in the test."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._count = 0
        self.services: dict[tuple[str, str], str] = {}
        self.called: list[str] = []

    def wants(self, target: Target, operation: str) -> bool:
        """Tell whether any webhook is there for the kind and operation."""
        return any(True for _ in self._hooks(target, operation))

    async def admit(self, asked: Admission) -> tuple[Obj, list[str]]:
        """Return the object as the webhooks change it, and their warnings. Raises ApiError where one refuses."""
        obj, warnings = asked.obj, list[str]()
        for hook in self._hooks(asked.target, asked.operation):
            if not self._selects(hook, asked, obj):
                continue
            self.called.append(hook["name"])
            try:
                answer = await self._call(hook, asked, obj)
            except (httpx.HTTPError, ssl.SSLError, orjson.JSONDecodeError, KeyError) as error:
                if hook.get("failurePolicy", "Fail") == "Ignore":
                    continue
                why = f'failed calling webhook "{hook["name"]}": failed to call webhook: {error}'
                raise ApiError(500, "InternalError", f"Internal error occurred: {why}", {}) from error
            warnings += answer.get("warnings") or []
            if not answer["allowed"]:
                raise _denied(hook["name"], answer.get("status") or {})
            if patch := answer.get("patch"):
                obj = json_patched(obj, orjson.loads(base64.b64decode(patch)))
        return obj, warnings

    def _hooks(self, target: Target, operation: str) -> Iterator[Obj]:
        if target.subresource:
            return
        for configuration in self._store.scan(kinds.MUTATING_WEBHOOK):
            for hook in configuration.get("webhooks") or ():
                if any(_fits(rule, target, operation) for rule in hook.get("rules") or ()):
                    yield hook

    def _selects(self, hook: Obj, asked: Admission, obj: Obj) -> bool:
        if not matches(hook.get("objectSelector") or {}, labels_of(obj)):
            return False
        selector = hook.get("namespaceSelector") or {}
        name = obj["metadata"].get("namespace") or asked.target.namespace
        if not selector or name is None:
            return True
        namespace = self._store.find(kinds.NAMESPACE, name) or {"metadata": {}}
        return matches(selector, labels_of(namespace) | {"kubernetes.io/metadata.name": name})

    async def _call(self, hook: Obj, asked: Admission, obj: Obj) -> Obj:
        client = hook["clientConfig"]
        url = client.get("url") or self._service_url(client["service"])
        context = ssl.create_default_context()
        if bundle := client.get("caBundle"):
            context.load_verify_locations(cadata=base64.b64decode(bundle).decode())
        review = self._review(asked, obj)
        seconds = hook.get("timeoutSeconds", _SECONDS)
        async with httpx.AsyncClient(verify=context, timeout=seconds, trust_env=False) as http:
            asked_for = {"sni_hostname": _host(client["service"])} if "service" in client else {}
            reply = await http.post(url, json=review, params={"timeout": f"{seconds}s"}, extensions=asked_for)
            reply.raise_for_status()
        answer: Obj = orjson.loads(reply.content)["response"]
        if answer["uid"] != review["request"]["uid"]:
            raise httpx.DecodingError(f'expected response.uid="{review["request"]["uid"]}"', request=reply.request)
        return answer

    def _service_url(self, service: Obj) -> str:
        base = self.services.get((service["namespace"], service["name"]))
        if base is None:
            raise httpx.ConnectError(f'service "{service["name"]}" not found')
        return f"{base}{service.get('path', '/')}"

    def _review(self, asked: Admission, obj: Obj) -> dict[str, Any]:
        self._count += 1
        kind = asked.target.kind
        gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        gvr = {"group": kind.group, "version": kind.version, "resource": kind.plural}
        request = {
            "uid": str(uuid.uuid5(uuid.NAMESPACE_OID, str(self._count))),
            "kind": gvk,
            "resource": gvr,
            "requestKind": gvk,
            "requestResource": gvr,
            "name": obj["metadata"].get("name", ""),
            "namespace": asked.target.within,
            "operation": asked.operation,
            "userInfo": {"username": asked.user.name, "groups": sorted(asked.user.groups)},
            "object": obj,
            "oldObject": asked.old,
            "dryRun": asked.dry_run,
            "options": {"kind": f"{asked.operation.title()}Options", "apiVersion": "meta.k8s.io/v1"},
        }
        return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def _host(service: Obj) -> str:
    """Return the name that a service's certificate must have, wherever it listens."""
    return f"{service['name']}.{service['namespace']}.svc"


def _fits(rule: Obj, target: Target, operation: str) -> bool:
    def has(field: str, value: str) -> bool:
        return bool({"*", value} & set(rule.get(field) or ()))

    kind = target.kind
    named = has("apiGroups", kind.group) and has("apiVersions", kind.version) and has("resources", kind.plural)
    return named and has("operations", operation)


def _denied(name: str, status: Obj) -> ApiError:
    told = status.get("message") or status.get("reason")
    message = f'admission webhook "{name}" denied the request' + (f": {told}" if told else " without explanation")
    return ApiError(max(status.get("code") or 400, 400), status.get("reason") or "", message, status.get("details"))
