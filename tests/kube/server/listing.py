"""Lists: selectors, resourceVersion rules, pages that stay at one version."""

import base64
import binascii
import json
from collections import OrderedDict
from collections.abc import Mapping

from .errors import ApiError, bad_request
from .kinds import Kind
from .objects import Obj
from .options import version_of, whole_number
from .routes import Target
from .selectors import by_fields, by_labels
from .store import Store

_SNAPSHOTS = 16
PARTIAL = "as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
"""In the Accept header: metadata alone is wanted."""


class Lists:
    """Answers list requests; keeps the rest of a paged list as it was at the first page, for a bounded number."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: OrderedDict[str, tuple[int, list[Obj]]] = OrderedDict()
        self._count = 0

    def page(self, target: Target, query: Mapping[str, str]) -> Obj:
        """Return a list object. Raises ApiError (400, 410, 504)."""
        limit = whole_number(query, "limit")
        if token := query.get("continue"):
            version, objects = self._resume(token)
        else:
            version, objects = self._store.version, self._select(target, query)
            self._check_version(query)
        meta: Obj = {"resourceVersion": str(version)}
        if limit and len(objects) > limit:
            meta["continue"] = self._keep(version, objects[limit:])
            if not query.get("labelSelector") and not query.get("fieldSelector"):
                meta["remainingItemCount"] = len(objects) - limit
            objects = objects[:limit]
        return list_of(target.kind, objects, meta)

    def expire(self) -> None:
        """Forget all open pages, so that a continue is told 410."""
        self._open.clear()

    def _select(self, target: Target, query: Mapping[str, str]) -> list[Obj]:
        namespace = target.namespace if target.kind.namespaced else None
        objects = list(self._store.scan(target.kind, namespace))
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        if labels or fields:
            take, fit = by_labels(labels), by_fields(fields)
            objects = [obj for obj in objects if take(obj) and fit(obj)]
        return objects

    def _check_version(self, query: Mapping[str, str]) -> None:
        version_of(query)
        asked, match = query.get("resourceVersion") or "", query.get("resourceVersionMatch") or ""
        if match and not asked:
            raise ApiError(422, "Invalid", _FORBIDDEN_MATCH)
        if asked and int(asked) > self._store.version:
            message = f"Timeout: Too large resource version: {asked}, current: {self._store.version}"
            raise ApiError(504, "Timeout", message, {"retryAfterSeconds": 1})
        if match == "Exact" and asked and int(asked) < self._store.version:
            raise ApiError(410, "Expired", f"The resourceVersion for the provided list is too old: {asked}")

    def _keep(self, version: int, rest: list[Obj]) -> str:
        self._count += 1
        text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": f"{self._count}\0"})
        token = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        self._open[token] = version, rest
        while len(self._open) > _SNAPSHOTS:
            self._open.popitem(last=False)
        return token

    def _resume(self, token: str) -> tuple[int, list[Obj]]:
        found = self._open.get(token)
        if found is not None:
            return found
        try:
            json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except (binascii.Error, ValueError) as error:
            why = f"illegal base64 data at input byte {len(token) // 4 * 4}"
            raise bad_request(f"invalid continue token: continue key is not valid: {why}") from error
        raise ApiError(410, "Expired", _TOO_OLD)


def list_of(kind: Kind, objects: list[Obj], meta: Obj) -> Obj:
    """Return a list object; a native kind's items carry no apiVersion and kind of their own."""
    if not kind.crd:
        objects = [{key: value for key, value in obj.items() if key not in _HEAD} for obj in objects]
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta, "items": objects}


_HEAD = frozenset({"apiVersion", "kind"})
_FORBIDDEN_MATCH = (
    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
)
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list."
)


def metadata_of(page: Obj) -> Obj:
    """Return the page with nothing but the metadata of its objects."""
    kind = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    items = [{**kind, "metadata": one["metadata"]} for one in page["items"]]
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": kind["apiVersion"],
        "metadata": page["metadata"],
        "items": items,
    }
