"""What a request asks, read from its body and query, and refused where it contradicts itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from .access import User
from .decoding import check_types
from .deletion import DeleteOptions
from .errors import ApiError, Cause, bad_request
from .objects import Obj
from .options import check_delete, whole_number
from .patches import PatchType
from .routes import Target
from .schema import drop_unknown


@dataclass(frozen=True)
class Asked:
    """A request that may proceed."""

    target: Target
    user: User
    query: Mapping[str, str]
    body: bytes = b""
    media: str = "application/json"
    agent: str = ""

    @property
    def dry_run(self) -> bool:
        """Return whether nothing shall be stored."""
        return self.query.get("dryRun") == "All"

    @property
    def manager(self) -> str:
        """Return the field manager: named, else after the client's program."""
        return self.query.get("fieldManager") or self.agent.partition("/")[0] or "unknown"


def read_body(body: bytes, media: str) -> Any:
    try:
        return yaml.safe_load(body) if media == "application/yaml" else orjson.loads(body)
    except (orjson.JSONDecodeError, yaml.YAMLError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error


def patch_type(media: str) -> PatchType:
    try:
        return PatchType(media)
    except ValueError as error:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {}) from error


def check_head(target: Target, obj: Obj) -> None:
    """Refuse another kind, values of a wrong type, and another namespace."""
    kind = target.kind
    check_types(kind, obj)
    named = obj.get("apiVersion", kind.api_version), obj.get("kind", kind.kind)
    if named != (kind.api_version, kind.kind):
        given = f"{named[0]}, Kind={named[1]}"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {given}")
    namespace = obj.setdefault("metadata", {}).get("namespace")
    if namespace and namespace != target.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_meant(target: Target, change: Any) -> None:
    """Refuse a patch that moves the object."""
    named = change.get("metadata") or {}
    if named.get("name", target.name) != target.name:
        check_name(target, change)
    if named.get("namespace", target.namespace) != target.namespace:
        told = f"the namespace of the object ({named['namespace']}) does not match the namespace on the request"
        raise bad_request(f"{told} ({target.namespace})")


def check_name(target: Target, obj: Obj) -> None:
    named = obj["metadata"].get("name", "")
    if named != target.name:
        raise bad_request(f"the name of the object ({named}) does not match the name on the URL ({target.name})")


def check_fields(asked: Asked, obj: Obj) -> list[str]:
    """Drop unknown fields; warn of them, or refuse (422) under fieldValidation=Strict."""
    unknown = drop_unknown(asked.target.kind, obj)
    told = [f'unknown field "{field}"' for field in unknown]
    match asked.query.get("fieldValidation", "Warn"):
        case "Strict" if told:
            text = f"strict decoding error: {', '.join(told)}"
            cause = Cause("patch", f'Invalid value: "{orjson.dumps(obj).decode()}": {text}')
            body = {"causes": [cause.body()]}
            raise ApiError(422, "Invalid", f' "" is invalid: {cause.field}: {cause.message}', body)
        case "Ignore":
            return []
        case _:
            return told


def delete_options(asked: Asked) -> DeleteOptions:
    """Read the body; the query counts only where there is none."""
    if asked.body:
        body: Obj = orjson.loads(asked.body)
        check_delete(body)
        return DeleteOptions.read(body)
    given: Obj = {}
    query = asked.query
    if "gracePeriodSeconds" in query:
        given["gracePeriodSeconds"] = whole_number(query, "gracePeriodSeconds")
    if "propagationPolicy" in query:
        given["propagationPolicy"] = query["propagationPolicy"]
    if asked.dry_run:
        given["dryRun"] = ["All"]
    check_delete(given)
    return DeleteOptions.read(given)
