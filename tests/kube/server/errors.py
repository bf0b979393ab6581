"""Refusals as the real API server words them: each is an exception that carries the Status object to send."""

from collections.abc import Sequence
from dataclasses import dataclass

from .kinds import Kind
from .objects import Obj


class ApiError(Exception):
    """A refusal; ``status`` is the whole v1 Status."""

    def __init__(self, code: int, reason: str, message: str, details: Obj | None = None) -> None:
        self.code = code
        self.reason = reason
        self.plain = False
        status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
        if reason:
            status["reason"] = reason
        if details is not None:
            status["details"] = details
        self.status = {**status, "code": code}
        super().__init__(f"{code} {reason}: {message}")

    @property
    def message(self) -> str:
        """Return the sentence for people."""
        message: str = self.status["message"]
        return message

    @property
    def retry_after(self) -> int | None:
        """Return the seconds for the Retry-After header, if any."""
        seconds: int | None = self.status.get("details", {}).get("retryAfterSeconds")
        return seconds


@dataclass(frozen=True)
class Cause:
    """One field's fault in an Invalid; ``reason`` is FieldValueInvalid, FieldValueForbidden, FieldValueRequired ..."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def body(self) -> Obj:
        """Return the cause as details carry it."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


def not_found(kind: Kind, name: str) -> ApiError:
    """404 for an object that is not there."""
    return ApiError(404, "NotFound", f'{kind.resource} "{name}" not found', _details(kind, name))


def no_such_path() -> ApiError:
    """404 for a path that no resource serves, such as that of a custom kind whose CRD is absent."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(kind: Kind, name: str) -> ApiError:
    """409 for a create under a name that is taken."""
    return ApiError(409, "AlreadyExists", f'{kind.resource} "{name}" already exists', _details(kind, name))


def conflict(kind: Kind, name: str) -> ApiError:
    """409 for a write that carries an older resourceVersion."""
    text = "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {text}'
    return ApiError(409, "Conflict", message, _details(kind, name))


def precondition(kind: Kind, name: str, *, what: str, asked: str, found: str) -> ApiError:
    """409 for a delete whose uid or resourceVersion precondition fails."""
    then = "have been deleted and then recreated" if what == "UID" else "have been modified"
    told = f"the {what} in the precondition ({asked}) does not match the {what} in record ({found})"
    message = f'Operation cannot be fulfilled on {kind.qualified} "{name}": {told}. The object might {then}'
    return ApiError(409, "Conflict", message, _details(kind, name) | {"kind": kind.kind})


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 for an object that validation refuses."""
    faults = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    told = f"[{', '.join(faults)}]" if len(faults) > 1 else faults[0]
    details = _details(kind, name) | {"kind": kind.kind, "causes": [cause.body() for cause in causes]}
    return ApiError(422, "Invalid", f'{kind.qualified} "{name}" is invalid: {told}', details)


def forbidden(kind: Kind, name: str, why: str) -> ApiError:
    """403 by an admission check."""
    message = f'{kind.resource} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(kind, name))


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def expired(asked: int, oldest: int) -> ApiError:
    """410 for a version that the watch history no longer holds."""
    return ApiError(410, "Expired", f"too old resource version: {asked} ({oldest})")


def throttled(retry_after: int = 1) -> ApiError:
    """429 of priority and fairness: plain text, not a Status, with Retry-After."""
    refusal = ApiError(429, "TooManyRequests", "Too many requests, please try again later.")
    refusal.status["details"] = {"retryAfterSeconds": retry_after}
    refusal.plain = True
    return refusal


def unavailable() -> ApiError:
    """503 of a server that starts or loses its store."""
    return ApiError(503, "ServiceUnavailable", "the server is currently unable to handle the request")


def _details(kind: Kind, name: str) -> Obj:
    group = {"group": kind.group} if kind.group else {}
    return {"name": name, **group, "kind": kind.plural}
