"""What the API server refuses of a request's own options, before it looks at any object."""

from collections.abc import Mapping
from typing import Any

from .errors import ApiError, Cause, bad_request, invalid
from .kinds import Kind
from .objects import Obj

_POLICIES = ("Foreground", "Background", "Orphan", "nil")


def check_write(kind: str, query: Mapping[str, str]) -> None:
    """Refuse (422) what the options ``kind`` (CreateOptions, UpdateOptions, PatchOptions) do not know."""
    dry = query.get("dryRun")
    if dry not in (None, "", "All"):
        told = f'Unsupported value: []string{{"{dry}"}}: supported values: "All"'
        raise _refused(kind, Cause("dryRun", told, "FieldValueNotSupported"))


def check_patch(query: Mapping[str, str], body: Any, *, apply: bool) -> None:
    """Refuse an apply without a manager or with managedFields, and force in any other patch."""
    check_write("PatchOptions", query)
    if apply and not query.get("fieldManager"):
        told = "Required value: is required for apply patch"
        raise _refused("PatchOptions", Cause("fieldManager", told, "FieldValueRequired"))
    if not apply and query.get("force"):
        told = "Forbidden: may not be specified for non-apply patch"
        raise _refused("PatchOptions", Cause("force", told, "FieldValueForbidden"))
    if apply and (body.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")


def check_delete(body: Obj) -> None:
    """Refuse (422) a propagation that is none."""
    policy = body.get("propagationPolicy")
    if policy is not None and policy not in _POLICIES:
        listed = ", ".join(f'"{one}"' for one in _POLICIES)
        told = f'Unsupported value: "{policy}": supported values: {listed}'
        raise _refused("DeleteOptions", Cause("propagationPolicy", told, "FieldValueNotSupported"))


def whole_number(query: Mapping[str, str], name: str) -> int:
    """Return a number of the query, 0 for none. Raises ApiError 400."""
    said = query.get(name) or "0"
    if not said.lstrip("-").isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{said}": invalid syntax')
    return int(said)


def version_of(query: Mapping[str, str]) -> int:
    """Return the resourceVersion that is asked for, 0 for any. Raises ApiError 500, as the real server does."""
    said = query.get("resourceVersion") or "0"
    if not said.isdecimal():
        why = f'strconv.ParseUint: parsing "{said}": invalid syntax'
        raise ApiError(500, "", f'resourceVersion: Invalid value: "{said}": {why}')
    return int(said)


def _refused(options: str, cause: Cause) -> ApiError:
    refusal = invalid(Kind("meta.k8s.io", "v1", options, ""), "", [cause])
    del refusal.status["details"]["name"]
    return refusal
