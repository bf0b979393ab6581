"""AsyncAPI 3.0 and JSON Schemas drawn from the contracts, so that a change on the wire is a visible diff.

``python -m keepstep.cli.schemas DIR`` writes them; a test compares the folder ``schemas/`` with what the models say.
"""

import json
import sys
from pathlib import Path

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from keepstep.contracts import orders, subjects
from keepstep.contracts.message import Message, messages, type_name
from keepstep.contracts.policy import Policy
from keepstep.contracts.telemetry import Heartbeat
from keepstep.contracts.topology import JobSpec, TaskLaunch

Json = dict[str, object]

ORDERS: dict[str, tuple[str, ...]] = {
    "CreateJob": ("scheduler-adapter",),
    "StopJob": ("scheduler-adapter",),
    "DeleteJob": ("scheduler-adapter",),
    "IsolateNode": ("isolator",),
    "ReleaseNode": ("isolator",),
    "DrainNode": ("isolator", "scheduler-adapter"),
    "PauseActions": ("scheduler-adapter", "isolator"),
    "ResumeActions": ("scheduler-adapter", "isolator"),
    "AckIncident": ("diagnoser",),
}
"""Who hears which order; the docstrings of contracts.orders in a form a program can read."""

PLAIN: tuple[type[BaseModel], ...] = (Heartbeat, orders.PlanHead, orders.PlanEntry, Policy, JobSpec, TaskLaunch)
"""What travels or is written outside the stream: telemetry, the plan bucket, people's files."""


def speakers() -> dict[str, tuple[str, ...]]:
    """Return, per message name, who says it: its subject ends in that word."""
    return {name: subjects.speakers(model) for name, model in messages().items()}


def json_schemas() -> dict[str, Json]:
    """Return one self-contained JSON Schema per message and per plain model, by name."""
    models: tuple[type[BaseModel], ...] = (*messages().values(), *PLAIN)
    return {model.__name__: _schema(model) for model in models}


def _schema(model: type[BaseModel]) -> Json:
    schema: Json = model.model_json_schema(mode="serialization" if issubclass(model, Message) else "validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def asyncapi() -> Json:
    """Return the AsyncAPI 3.0 document: a channel per message, a ``send`` operation per speaker."""
    models = messages()
    _, shared = models_json_schema([(model, "serialization") for model in models.values()], ref_template=_REF)
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "keepstep", "version": "1.0.0", "description": _DESCRIPTION},
        "defaultContentType": "application/json",
        "channels": {name: _channel(name, model) for name, model in models.items()},
        "operations": {
            f"{speaker}.{name}": {"action": "send", "channel": {"$ref": f"#/channels/{name}"}}
            for name, who in speakers().items()
            for speaker in who
        },
        "components": {
            "messages": {name: _message(name, model) for name, model in models.items()},
            "schemas": shared.get("$defs", {}),
        },
    }


_REF = "#/components/schemas/{model}"
_DESCRIPTION = (
    "Every observation, fact and decision of keepstep, one JetStream stream per pool. "
    "The envelope is in each payload and in CloudEvents headers."
)


def _channel(name: str, model: type[Message]) -> Json:
    who = subjects.speakers(model)
    place = {"task": {"description": "The task that speaks, else the node, escaped to one token."}}
    return {
        "address": f"keepstep.{{pool}}.{name}.{{key}}.{{speaker}}" + (".{task}" if subjects.AGENT in who else ""),
        "description": _sentence(model),
        "messages": {name: {"$ref": f"#/components/messages/{name}"}},
        "parameters": {
            "pool": {"description": "The pool, escaped to one token."},
            "key": {"description": "The job's uid, else the node, else `pool`, escaped to one token."},
            "speaker": {"description": "Who says it; the bus takes it from nobody else.", "enum": list(who)},
            **(place if subjects.AGENT in who else {}),
        },
    }


def _message(name: str, model: type[Message]) -> Json:
    return {
        "name": type_name(model),
        "title": name,
        "summary": _sentence(model),
        "contentType": "application/json",
        "headers": {
            "type": "object",
            "required": ["ce-specversion", "ce-id", "ce-type", "ce-source", "ce-time"],
            "properties": {"ce-type": {"const": type_name(model)}, "ce-specversion": {"const": "1.0"}},
        },
        "payload": {"$ref": f"#/components/schemas/{name}"},
    }


def _sentence(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def files() -> dict[str, str]:
    """Return every generated file by its path below the schema folder."""
    drawn = {f"json/{name}.json": _text(schema) for name, schema in json_schemas().items()}
    return {"asyncapi.json": _text(asyncapi()), **drawn}


def _text(document: Json) -> str:
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Write the folder anew; files that no model stands behind are removed."""
    drawn = files()
    for path in folder.rglob("*.json"):
        if str(path.relative_to(folder)) not in drawn:
            path.unlink()
    for name, text in drawn.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
