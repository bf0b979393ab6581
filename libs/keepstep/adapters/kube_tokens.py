"""Whom an API server takes a pod's token for, and whether that one may join a pool: the gate's two questions."""

from dataclasses import dataclass
from datetime import UTC, datetime

from keepstep.adapters.claims import claims_of
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_json import JsonObject, table, text, words
from keepstep.adapters.kube_marks import AUDIENCE
from keepstep.adapters.kube_objects import MARK_PREFIX

GROUP, POOLS, JOIN, REPORT = MARK_PREFIX.rstrip("/"), "pools", "join", "report"
"""The rights to join a pool and to report of its nodes, in the words of RBAC: a namespace of jobs binds the one for
itself (k8s/jobs), that of the nodes' agents the other (k8s/nodes)."""
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_ACCOUNT = "system:serviceaccount:"
_POD, _NODE = "authentication.kubernetes.io/pod-uid", "authentication.kubernetes.io/node-name"


@dataclass(frozen=True, slots=True)
class Bearer:
    """The pod that a token was made for, as the API server says."""

    account: str
    """``namespace:name`` of the ServiceAccount."""
    pod: str
    node: str
    """Where the pod is; "" from servers before 1.30."""
    until: datetime
    user: JsonObject
    """The whole answer, for the question about rights."""

    @property
    def namespace(self) -> str:
        """Return where the pod is."""
        return self.account.partition(":")[0]


@dataclass(frozen=True, slots=True)
class NoBearer:
    """Why a token counts for nothing."""

    because: str


class KubeTokens:
    """Asks one API server. Both methods raise the errors of ``kube_errors``."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def bearer(self, token: str) -> Bearer | NoBearer:
        """Return which pod a token is, as of now: one of a pod that is gone, or for another audience, is none."""
        spec = {"token": token, "audiences": [AUDIENCE]}
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        return bearer_of(table(await self._client.ask(_TOKENS, asked), "status"), token)

    async def may(self, bearer: Bearer, verb: str, pool: str) -> bool:
        """Return whether the ServiceAccount may do that to the pool from its own namespace."""
        user = bearer.user
        spec = {
            "user": text(user, "username"),
            "uid": text(user, "uid"),
            "groups": list(words(user, "groups")),
            "extra": dict(table(user, "extra")),
            "resourceAttributes": {
                "namespace": bearer.namespace,
                "group": GROUP,
                "resource": POOLS,
                "verb": verb,
                "name": pool,
            },
        }
        asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        return table(await self._client.ask(_ACCESS, asked), "status").get("allowed") is True


def bearer_of(status: JsonObject, token: str) -> Bearer | NoBearer:
    """Return what a TokenReview says. The time of expiry is the token's own word, which the server has verified."""
    if status.get("authenticated") is not True:
        return NoBearer(f"the API server does not take the token: {text(status, 'error') or 'no reason given'}")
    if AUDIENCE not in words(status, "audiences"):
        return NoBearer(f"the token is not made for {AUDIENCE}")
    user = table(status, "user")
    name, pods = text(user, "username"), words(user, "extra", _POD)
    if not name.startswith(_ACCOUNT) or len(pods) != 1:
        return NoBearer(f"{name or 'nobody'} is no ServiceAccount in a pod")
    try:
        until = datetime.fromtimestamp(float(claims_of(token)["exp"]), UTC)
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return NoBearer("the token does not say how long it counts")
    nodes = words(user, "extra", _NODE)
    return Bearer(name.removeprefix(_ACCOUNT), pods[0], nodes[0] if nodes else "", until, user)
