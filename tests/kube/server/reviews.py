"""Questions in the form of creations: may I, may he, and whose token is this. Nothing is stored."""

import base64
import json
import time
from dataclasses import dataclass
from uuid import uuid4

from . import kinds
from .access import Access, Ask, User, service_account
from .objects import Obj
from .store import Store

OWN_AUDIENCE = "https://kubernetes.default.svc"
_SELF = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_GROUP = {_ACCESS: "authorization.k8s.io", _TOKENS: "authentication.k8s.io"}


@dataclass(frozen=True)
class PodToken:
    """A token that was made for one pod, as the kubelet asks for it."""

    namespace: str
    account: str
    pod: str
    uid: str
    audience: str
    until: float


class Reviews:
    """Answers for one server."""

    def __init__(self, store: Store, access: Access) -> None:
        self._store, self._access = store, access
        self._tokens: dict[str, PodToken] = {}

    def pod_token(self, pod: Obj, *, audience: str = OWN_AUDIENCE, seconds: float = 3600.0) -> str:
        """Return a token bound to a pod, for an audience: dies with the pod, and after its time."""
        meta = pod["metadata"]
        account = str(pod["spec"].get("serviceAccountName") or "default")
        until = time.time() + seconds
        made = PodToken(meta["namespace"], account, meta["name"], meta["uid"], audience, until)
        parts: tuple[Obj, ...] = ({"alg": "RS256"}, {"aud": [audience], "exp": int(until)}, {"n": uuid4().hex * 8})
        token = ".".join(_encoded(part) for part in parts)
        self._tokens[token] = made
        return token

    def answer(self, path: str, user: User, body: Obj) -> Obj | None:
        """Return the answer, None for what is no such question. Raises ApiError 403 for who may not ask it."""
        if path == _SELF:
            return self._reviewed("SelfSubjectAccessReview", body, self._allows(user, body.get("spec") or {}))
        if path not in _GROUP:
            return None
        self._access.check(user, Ask("create", _GROUP[path], path.rpartition("/")[2]))
        spec = body.get("spec") or {}
        if path == _ACCESS:
            about = User(spec.get("user", ""), frozenset(spec.get("groups") or ()))
            return self._reviewed("SubjectAccessReview", body, self._allows(about, spec))
        head = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}}
        return head | {"spec": spec, "status": self._whose(spec)}

    def _whose(self, spec: Obj) -> Obj:
        held = self._tokens.get(spec.get("token", ""))
        wanted = spec.get("audiences") or [OWN_AUDIENCE]
        if held is None or held.audience not in wanted:
            return {"user": {}, "error": "[invalid bearer token, Token has been invalidated]"}
        if held.until <= time.time():
            return {"user": {}, "error": "[invalid bearer token, service account token has expired]"}
        pod = self._store.find(kinds.POD, held.pod, held.namespace)
        if pod is None or pod["metadata"]["uid"] != held.uid:
            return {"user": {}, "error": "[invalid bearer token, service account token has been invalidated]"}
        user = service_account(held.namespace, held.account)
        extra = {
            "authentication.kubernetes.io/pod-name": [held.pod],
            "authentication.kubernetes.io/pod-uid": [held.uid],
        }
        if node := pod["spec"].get("nodeName"):
            extra["authentication.kubernetes.io/node-name"] = [node]
        told = {"username": user.name, "uid": "", "groups": sorted(user.groups), "extra": extra}
        return {"authenticated": True, "user": told, "audiences": [held.audience]}

    def _allows(self, user: User, spec: Obj) -> bool:
        if path := (spec.get("nonResourceAttributes") or {}).get("path"):
            return self._access.allows(user, Ask(spec["nonResourceAttributes"]["verb"], path=path))
        wanted = spec.get("resourceAttributes") or {}
        resource, subresource = wanted.get("resource", ""), wanted.get("subresource")
        ask = Ask(
            wanted.get("verb", ""),
            wanted.get("group", ""),
            f"{resource}/{subresource}" if subresource else resource,
            wanted.get("namespace") or None,
            wanted.get("name", ""),
        )
        return self._access.allows(user, ask)

    def _reviewed(self, kind: str, body: Obj, allowed: bool) -> Obj:
        head = {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
        return head | {"spec": body.get("spec") or {}, "status": {"allowed": allowed}}


def _encoded(part: Obj) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
