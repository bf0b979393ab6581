"""Sends one request of a trace to the store, past HTTP."""

from dataclasses import dataclass, field
from urllib.parse import parse_qs

from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.errors import ApiError
from ..server.eviction import evict
from ..server.kinds import Kind
from ..server.objects import Obj
from ..server.patches import PatchType
from ..server.store import Store
from .trace import Action

KINDS: dict[str, Kind] = {
    "pod": kinds.POD,
    "node": kinds.NODE,
    "pdb": kinds.PDB,
    "job": kinds.JOB,
    "jobset": kinds.JOB_SET,
    "trainjob": kinds.TRAIN_JOB,
    "pytorchjob": kinds.PYTORCH_JOB,
    "vcjob": kinds.VOLCANO_JOB,
    "command": kinds.VOLCANO_COMMAND,
}


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    code: int
    status: Obj = field(default_factory=dict)
    retry_after: int | None = None


def needs_http(action: Action) -> bool:
    """Tell whether the request is about what the HTTP layer does: lists, watches, media types, strict fields."""
    query = parse_qs(action.query)
    odd = action.content_type not in {"", *PatchType}
    nameless = action.content_type == PatchType.APPLY and "fieldManager" not in query
    return action.verb in {"list", "watch"} or odd or nameless or "fieldValidation" in query


def send(store: Store, action: Action, name: str, namespace: str, body: Obj | list[Obj] | None) -> Answer:
    """Do what the action says."""
    try:
        _do(store, action, name, namespace, body)
    except ApiError as refused:
        return Answer(refused.code, refused.status, refused.retry_after)
    return Answer(201 if action.verb == "create" else 200)


def _do(store: Store, action: Action, name: str, namespace: str, body: Obj | list[Obj] | None) -> None:
    kind = KINDS[action.kind]
    where = namespace if kind.namespaced else ""
    fields = body if isinstance(body, dict) else {}
    match action.verb:
        case "create" if action.sub == "eviction":
            evict(store, name, where, fields)
        case "create":
            store.create(kind, fields, where, manager="script")
        case "patch":
            _patch(store, action, name, where, body)
        case "update":
            store.update(kind, fields, where, manager="script")
        case "delete" if not name:
            labels = parse_qs(action.query)["labelSelector"][0]
            for found in store.list(kind, where, labels=labels):
                store.delete(kind, found["metadata"]["name"], where, DeleteOptions.read(fields))
        case "delete":
            store.delete(kind, name, where, DeleteOptions.read(fields))
        case "get":
            store.get(kind, name, where)
        case other:
            raise ValueError(f"{other!r} is no verb for the store")


def _patch(store: Store, action: Action, name: str, where: str, body: Obj | list[Obj] | None) -> None:
    query = {key: values[0] for key, values in parse_qs(action.query).items()}
    store.patch(
        KINDS[action.kind],
        name,
        body,
        where,
        how=PatchType(action.content_type or PatchType.MERGE),
        subresource=action.sub,
        manager=query.get("fieldManager", "script"),
        force=query.get("force") == "true",
        dry_run="dryRun" in query,
    )
