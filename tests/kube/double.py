"""A server with a namespace and a node that is asked what a trace recorded, and how an answer is compared."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.kube.server import kinds
from tests.kube.server.objects import Obj
from tests.kube.server.store import Store

TRACES = Path(__file__).parent / "traces"
KINDS = {
    "pod": kinds.POD,
    "node": kinds.NODE,
    "job": kinds.JOB,
    "pdb": kinds.PDB,
    "jobset": kinds.JOB_SET,
    "trainjob": kinds.TRAIN_JOB,
    "pytorchjob": kinds.PYTORCH_JOB,
    "vcjob": kinds.VOLCANO_JOB,
    "command": kinds.VOLCANO_COMMAND,
}
NODE = "n0"


@dataclass(frozen=True)
class Double:
    """A server with a namespace and a node, and a client of it."""

    store: Store
    http: httpx.AsyncClient

    async def perform(self, action: Obj) -> httpx.Response:
        kind = KINDS[action["kind"]]
        base = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
        base += ("/namespaces/ns" if kind.namespaced else "") + f"/{kind.plural}"
        name = NODE if kind is kinds.NODE and action.get("name") else action.get("name")
        at_name = name and (action["verb"] != "create" or action.get("sub"))
        url = base + (f"/{name}" if at_name else "") + (f"/{action['sub']}" if action.get("sub") else "")
        method = {"create": "POST", "patch": "PATCH", "update": "PUT", "delete": "DELETE"}.get(action["verb"], "GET")
        body = orjson.dumps(self._body(action, kind)) if action.get("body") is not None else None
        media = {"content-type": action.get("ct", "application/json")}
        query = (action.get("q") or "").replace("timeoutSeconds=2", "timeoutSeconds=1")
        return await self.http.request(method, url + query, content=body, headers=media)

    def _body(self, action: Obj, kind: kinds.Kind) -> Any:
        """Put this server's name and uids in the place of the recorded ones."""
        body = action["body"]
        if not isinstance(body, dict):
            return body
        body = json.loads(json.dumps(body))
        if kind is kinds.NODE and "metadata" in body and "name" in body["metadata"]:
            body["metadata"]["name"] = NODE
        if body.get("metadata", {}).get("namespace"):
            body["metadata"]["namespace"] = "ns"
        wanted = body.get("deleteOptions", body).get("preconditions", {}).get("uid", "0000")
        found = self.store.find(kind, action.get("name") or "", "ns")
        if found is not None and not wanted.startswith("0000"):
            body.get("deleteOptions", body)["preconditions"]["uid"] = found["metadata"]["uid"]
        if action["verb"] == "update" and found is not None:
            body["metadata"]["uid"] = found["metadata"]["uid"]
        return body


def actions(scenario: str) -> list[Obj]:
    lines = map(json.loads, (TRACES / f"{scenario}.jsonl").read_text().splitlines())
    return [line for line in lines if line["type"] == "ACTION"]


def shape(action: Obj, reply: httpx.Response) -> None:
    """Compare code, reason, details and the part of the message that does not depend on names."""
    about = f"{action.get('note')} {action['verb']} {action['kind']} {action.get('body')}: {reply.text[:800]}"
    assert reply.status_code == action["code"], about
    assert reply.headers.get("warning") == action.get("warning"), about
    assert reply.headers.get("retry-after") == action.get("retryAfter"), about
    expected = action.get("status")
    if expected is None:
        return
    status = reply.json()
    assert status["kind"] == "Status"
    assert status["status"] == expected["status"]
    assert status.get("reason") == expected.get("reason"), about
    assert_details(status.get("details"), expected.get("details"), about)
    if "message" in expected:
        start, end = ends(expected["message"])
        told = status["message"].replace(" ", "")
        assert told.startswith(start), about
        assert told.endswith(end), about


def assert_details(found: Obj | None, expected: Obj | None, about: str) -> None:
    if expected is None:
        assert found is None, about
        return
    assert found is not None, about
    same = {key: value for key, value in expected.items() if key not in {"causes", "uid"}}
    assert {key: value for key, value in found.items() if key not in {"causes", "uid"}} == same, about
    causes = [(cause["reason"], cause.get("field")) for cause in expected.get("causes", [])]
    assert [(cause["reason"], cause.get("field")) for cause in found.get("causes", [])] == causes, about


VARIES = ("{", "[{", "match the UID", "match the ResourceVersion", "(", "pod updates may", "resource version")


def ends(message: str) -> tuple[str, str]:
    """Return what stands before the first part that varies, and after the last one where it is a fixed phrase."""
    cut = min((at for mark in VARIES if (at := message.find(mark)) > 0), default=len(message))
    end = message[-len(": field is immutable") :] if message.endswith(": field is immutable") else ""
    return message[:cut].replace(" ", ""), end.replace(" ", "")
