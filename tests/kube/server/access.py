"""Who asks and whether they may: bearer tokens and RBAC over the Role objects of the store."""

from collections.abc import Iterator
from dataclasses import dataclass

from . import kinds
from .errors import ApiError
from .objects import Obj
from .store import Store

MASTERS = "system:masters"


@dataclass(frozen=True)
class User:
    """Who a token stands for."""

    name: str
    groups: frozenset[str] = frozenset()


ANONYMOUS = User("system:anonymous", frozenset({"system:unauthenticated"}))
ADMIN = User("kubernetes-admin", frozenset({MASTERS, "system:authenticated"}))


def service_account(namespace: str, name: str) -> User:
    """Return the user that a service account's token stands for."""
    groups = {"system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{namespace}"}
    return User(f"system:serviceaccount:{namespace}:{name}", frozenset(groups))


@dataclass(frozen=True)
class Ask:
    """What is wanted; ``resource`` may be plural/subresource, ``path`` is set for what is no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str | None = None
    name: str = ""
    path: str = ""


class Access:
    """Knows the tokens and reads the roles."""

    def __init__(self, store: Store, *, enforced: bool) -> None:
        self._store = store
        self.enforced = enforced
        self.admin_token = "admin"  # noqa: S105 - a test's
        self._tokens: dict[str, User] = {self.admin_token: ADMIN}
        self.allowed: set[tuple[str, str, str]] = set()
        """Group, resource and verb of what was asked for and allowed."""

    def token(self, namespace: str, name: str) -> str:
        """Return a token of a service account."""
        token = f"sa-{namespace}-{name}"
        self._tokens[token] = service_account(namespace, name)
        return token

    def revoke(self, token: str) -> None:
        """Let the token be unknown from now on."""
        self._tokens.pop(token, None)

    def user(self, authorization: str | None) -> User:
        """Return who asks. Raises ApiError 401 for a token that nobody has."""
        if not authorization:
            return ANONYMOUS if self.enforced else ADMIN
        found = self._tokens.get(authorization.removeprefix("Bearer ").strip())
        if found is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return found

    def check(self, user: User, ask: Ask) -> None:
        """Raise ApiError 403 unless a role allows it."""
        if not self.allows(user, ask):
            raise _refusal(user, ask)
        self.allowed.add((ask.group, ask.resource, ask.verb))

    def allows(self, user: User, ask: Ask) -> bool:
        """Tell whether some rule allows it."""
        if not self.enforced or MASTERS in user.groups:
            return True
        return any(_covers(rule, ask) for rule in self._rules(user, ask.namespace))

    def _rules(self, user: User, namespace: str | None) -> Iterator[Obj]:
        for binding in self._store.scan(kinds.CLUSTER_ROLE_BINDING):
            if _binds(binding, user):
                yield from self._role_rules(binding["roleRef"], "")
        if namespace is None:
            return
        for binding in self._store.scan(kinds.ROLE_BINDING, namespace):
            if _binds(binding, user):
                yield from self._role_rules(binding["roleRef"], namespace)

    def _role_rules(self, ref: Obj, namespace: str) -> Iterator[Obj]:
        kind = kinds.CLUSTER_ROLE if ref["kind"] == "ClusterRole" else kinds.ROLE
        role = self._store.find(kind, ref["name"], "" if kind is kinds.CLUSTER_ROLE else namespace)
        yield from (role or {}).get("rules") or ()


def _binds(binding: Obj, user: User) -> bool:
    for subject in binding.get("subjects") or ():
        match subject["kind"]:
            case "ServiceAccount":
                namespace = subject.get("namespace") or binding["metadata"].get("namespace", "")
                if user.name == f"system:serviceaccount:{namespace}:{subject['name']}":
                    return True
            case "User":
                if user.name == subject["name"]:
                    return True
            case "Group":
                if subject["name"] in user.groups:
                    return True
    return False


def _covers(rule: Obj, ask: Ask) -> bool:
    if not _has(rule.get("verbs"), ask.verb):
        return False
    if ask.path:
        paths = rule.get("nonResourceURLs") or []
        return any(one in {"*", ask.path} or (one[-1] == "*" and ask.path.startswith(one[:-1])) for one in paths)
    names = rule.get("resourceNames")
    if not _has(rule.get("apiGroups"), ask.group) or (names and ask.name not in names):
        return False
    subresource = ask.resource.partition("/")[2]
    resources = rule.get("resources") or []
    return _has(resources, ask.resource) or bool(subresource and f"*/{subresource}" in resources)


def _has(values: list[str] | None, value: str) -> bool:
    return bool(values) and (value in values or "*" in values) if values is not None else False


def _refusal(user: User, ask: Ask) -> ApiError:
    if ask.path:
        message = f'forbidden: User "{user.name}" cannot {ask.verb} path "{ask.path}"'
        return ApiError(403, "Forbidden", message, {})
    plural = ask.resource.partition("/")[0]
    resource = f"{plural}.{ask.group}" if ask.group else plural
    named = f'{resource} "{ask.name}"' if ask.name else resource
    where = "at the cluster scope" if ask.namespace is None else f'in the namespace "{ask.namespace}"'
    what = f'cannot {ask.verb} resource "{ask.resource}" in API group "{ask.group}" {where}'
    details: Obj = {"kind": plural} | ({"name": ask.name} if ask.name else {})
    details |= {"group": ask.group} if ask.group else {}
    return ApiError(403, "Forbidden", f'{named} is forbidden: User "{user.name}" {what}', details)
