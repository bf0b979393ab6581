"""What an API server's refusal means for the caller: try again, look again, or never.

Transient
|-- Busy             5xx, no answer, 401 while a token is rotated: it may have been done
|   `-- Unsent       429, no connection: it surely was not
|-- Blocked          429 of the eviction API: a disruption budget
|-- Expired          410: the version is forgotten, list again
`-- Conflict         409: somebody else wrote first
Permanent
|-- Missing          404
|   `-- Replaced     409 of a precondition: the name is another object's now
`-- Refused          400, 403, 409 of a name that is taken, 422: says field and rule
"""

from collections.abc import Mapping
from datetime import timedelta

import orjson

from keepstep.adapters.kube_json import JsonObject, number, rows, text
from keepstep.ports.errors import Conflict, KeepstepError, Permanent, Transient

_ANOTHER = ("UID in the precondition", "UID in precondition")
"""As the registry says it before a deletion, and as the storage does when the name changed hands during one."""
LONGEST_WAIT = timedelta(seconds=60)
"""Of what a Retry-After asks; a proxy that says an hour would leave jobs down for one."""
WORDS = 600
"""A refusal of a pod template quotes the template; its head says what is wrong."""


class Busy(Transient):
    """The server cannot answer now."""


class Unsent(Busy):
    """The server did not take the request: whatever it asked for was surely not done."""


class Blocked(Transient):
    """A disruption budget keeps the pod from being evicted."""


class Expired(Transient):
    """The resourceVersion or continue token is too old."""


class Missing(Permanent):
    """There is no such object or resource."""


class Replaced(Missing):
    """The object is gone and its name was given anew, mostly to its successor."""


class Refused(Permanent):
    """The server will never take this request."""


def refusal(asked: str, code: int, body: bytes, headers: Mapping[str, str]) -> KeepstepError:
    """Return the error for an answer of 400 and above. Matches on the code: Volcano's webhook gives no reason."""
    status = _status(body)
    message = text(status, "message")[:WORDS] or f"HTTP {code}"
    said = f"{asked}: {message}"
    if code in (401, 429) or code >= 500:
        throttled = Blocked if _budget(status, message) else Unsent
        return (throttled if code == 429 else Busy)(said, retry_after=_wait(status, headers))
    if code == 410:
        return Expired(said)
    if code == 404:
        return Missing(said)
    if code == 409 and any(words in message for words in _ANOTHER):
        return Replaced(said)
    if code == 409 and text(status, "reason") != "AlreadyExists":
        return Conflict(said)
    denied = code == 403 and "webhook" not in message
    return Refused(f"{said}; keepstep doctor lists the permissions that are missing" if denied else said)


def _budget(status: JsonObject, message: str) -> bool:
    """Return whether a disruption budget speaks, spent or not yet computed."""
    causes = {text(cause, "reason") for cause in rows(status, "details", "causes")}
    return "DisruptionBudget" in causes or "disruption budget" in message


def _status(body: bytes) -> JsonObject:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {"message": body.decode(errors="replace")}
    return found if isinstance(found, dict) else {}


def _wait(status: JsonObject, headers: Mapping[str, str]) -> timedelta:
    """Return what the server asks for, within reason; a disruption budget that is simply spent names no time."""
    said = headers.get("retry-after", "")
    seconds = int(said) if said.isdecimal() else number(status, "details", "retryAfterSeconds", default=1)
    return min(timedelta(seconds=seconds), LONGEST_WAIT)
