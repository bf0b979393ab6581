"""Each request of the API traces, and each refusal of the job kinds, asked of the double over HTTP."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.kube.server import kinds
from tests.kube.server.deletion import DeleteOptions
from tests.kube.server.http import ApiServer
from tests.kube.server.objects import Obj
from tests.kube.server.rules import RULES
from tests.kube.server.serving import serving
from tests.kube.server.store import Store

TRACES = Path(__file__).parent / "traces"
SAMPLES = Path(__file__).parent / "samples"
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


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    store.create(kinds.NAMESPACE, {"metadata": {"name": "ns"}})
    store.create(kinds.NODE, {"metadata": {"name": NODE}, "spec": {}})
    store.create(kinds.NODE, {"metadata": {"name": "n1"}, "spec": {}})
    async with (
        serving(ApiServer(store, bookmark_seconds=0.4)) as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False) as http,
    ):
        yield Double(store, http)


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


def runs_on(store: Store, name: str) -> None:
    """Do what scheduler and kubelet do at the start of the API traces."""

    def placed(pod: Obj) -> None:
        pod["spec"]["nodeName"] = NODE
        pod["status"]["phase"] = "Running"

    store.edit(kinds.POD, name, "ns", placed, subresource="binding")


async def test_every_refusal_of_the_error_trace_has_its_shape(double: Double) -> None:
    for action in actions("api/errors"):
        if action["verb"] in {"watch", "list"}:
            continue
        if action["code"] == 404 and action.get("name") == "p" and double.store.find(kinds.POD, "p", "ns"):
            double.store.delete(kinds.POD, "p", "ns", DeleteOptions(grace=0))
        shape(action, await double.perform(action))
        if action["verb"] == "create" and action["code"] == 201:
            runs_on(double.store, "p")


async def test_the_taint_patches_of_the_error_trace_leave_one_taint(double: Double) -> None:
    for action in actions("api/errors"):
        if action["kind"] == "node" and action["verb"] == "patch":
            await double.perform(action)
    taints = double.store.get(kinds.NODE, NODE)["spec"]["taints"]
    assert taints == [{"key": "keepstep.example/fault", "value": "a", "effect": "NoExecute"}]


def compact(line: Obj) -> Obj:
    """Reduce a line of a stream or a list as the recorder did."""
    if "items" in line:
        meta = line["metadata"]
        more = "remainingItemCount" in meta
        return {"kind": line["kind"], "items": len(line["items"]), "more": more, "continue": "continue" in meta}
    obj = line.get("object", line)
    if obj["kind"] == "Status":
        return {"kind": "Status", "code": obj["code"], "reason": obj["reason"]}
    meta = obj["metadata"]
    return {"type": line["type"], "kind": obj["kind"], "annotations": meta.get("annotations", {})}


def expected(line: Obj) -> Obj:
    if "items" in line:
        more = "remainingItemCount" in line
        return {"kind": line["kind"], "items": line["items"], "more": more, "continue": line["continue"]}
    if line["kind"] == "Status":
        return {key: line[key] for key in ("kind", "code", "reason")}
    return {key: line[key] for key in ("type", "kind", "annotations")}


@pytest.mark.parametrize(
    "action", [one for one in actions("api/errors") if one["verb"] in {"watch", "list"}], ids=lambda one: one["note"]
)
async def test_lists_and_watches_answer_as_in_the_trace(double: Double, action: Obj) -> None:
    reply = await double.perform(action)
    assert reply.status_code == action["code"]
    lines = [compact(json.loads(line)) for line in reply.text.splitlines()]
    assert lines[: len(action["lines"])] == list(map(expected, action["lines"]))
    if not action["lines"]:
        assert not lines


async def test_a_finalizer_holds_as_in_the_trace(double: Double) -> None:
    trace = map(json.loads, (TRACES / "api/finalizer.jsonl").read_text().splitlines())
    wanted = [
        (line["type"], line["name"], line.get("grace"))
        for line in trace
        if line["type"] in {"ADDED", "MODIFIED", "DELETED"} and line["kind"] == "Pod" and not line.get("node")
        if not line.get("phase") or line["type"] == "ADDED"
    ]
    said: list[tuple[str, str, int | None]] = []

    def note(event: Any) -> None:
        meta, was = event.object["metadata"], (event.was or {"metadata": {}})["metadata"]
        grace, before = meta.get("deletionGracePeriodSeconds"), was.get("deletionGracePeriodSeconds")
        phase = event.object["status"].get("phase") != (event.was or {}).get("status", {}).get("phase")
        if event.kind is kinds.POD and (event.type != "MODIFIED" or not phase):
            said.append((event.type, meta["name"], None if grace == before else grace))

    double.store.listen(note)
    for action in actions("api/finalizer"):
        shape(action, await double.perform(action))
        if action["verb"] == "create":
            runs_on(double.store, action["body"]["metadata"]["name"])
        elif action["verb"] == "delete" and not action.get("body"):
            double.store.delete(kinds.POD, action["name"], "ns", DeleteOptions(grace=0))
    assert said == wanted


def fits(store: Store, action: Obj) -> None:
    """Do what the controllers did before the request: suspend and resume the owned JobSet, count its active jobs."""
    job_set = store.find(kinds.JOB_SET, "j", "ns")
    active = "still active" in (action.get("status") or {}).get("message", "")
    if job_set is None or not store.find(kinds.TRAIN_JOB, "j", "ns"):
        return
    job_set["status"] = {"replicatedJobsStatus": [{"name": "node", "active": int(active)}]}
    store.update(kinds.JOB_SET, job_set, subresource="status")


@pytest.mark.parametrize(
    "scenario",
    [
        "job/i-mutability",
        "jobset/i-mutability",
        "jobset/b-fail137-bl0-restartjob-rule",
        "pytorchjob/i-mutability-exitcode",
        "trainjob/i-mutability",
        "trainjob/d-suspend-patch-resume",
        "trainjob/d-ssa-own-manager",
        "volcano/i-mutability",
        "volcano/i-elastic",
    ],
)
async def test_what_a_job_kind_lets_change_is_what_the_real_one_lets(double: Double, scenario: str) -> None:
    seen = 0
    for action in actions(scenario):
        if action["kind"] not in {"job", "jobset", "trainjob", "pytorchjob", "vcjob"}:
            continue
        fits(double.store, action)
        shape(action, await double.perform(action))
        seen += 1
        if action["verb"] == "create" and action["kind"] == "trainjob":
            sample = json.loads((SAMPLES / "trainjob-jobset-running.json").read_text())
            sample["metadata"] = {"name": "j"}
            double.store.create(kinds.JOB_SET, sample, "ns")
    assert seen == sum(one["kind"] not in {"pod", "node", "command"} for one in actions(scenario))


@pytest.mark.parametrize("budget", ["job/g-evict-pdb", "job/g-evict-pdb-maxunavailable"])
async def test_an_eviction_is_refused_and_granted_as_in_the_trace(double: Double, budget: str) -> None:
    for action in actions(budget):
        if action["kind"] not in {"pod", "pdb"}:
            continue
        if action["kind"] == "pod" and action["name"] != "no-such-pod":
            pod_of_budget(double.store, action["name"])
        shape(action, await double.perform(action))
        if action["kind"] == "pdb" and action["verb"] == "create" and "minAvailable" in action["body"]["spec"]:
            computed = {"disruptionsAllowed": 0, "currentHealthy": 4, "desiredHealthy": 4, "expectedPods": 4}
            body = {"status": computed | {"observedGeneration": 1}}
            double.store.patch(kinds.PDB, "pdb", body, "ns", subresource="status")


def pod_of_budget(store: Store, name: str) -> None:
    if store.find(kinds.POD, name, "ns") is not None:
        return
    labels = {"batch.kubernetes.io/job-name": "j", "job-name": "j"}
    spec = {"nodeName": NODE, "containers": [{"name": "main", "image": "train:1"}]}
    store.create(kinds.POD, {"metadata": {"name": name, "labels": labels}, "spec": spec}, "ns")

    def ready(pod: Obj) -> None:
        pod["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    store.edit(kinds.POD, name, "ns", ready, subresource="status")


async def test_an_evicted_pod_tells_by_whom_before_it_dies(double: Double) -> None:
    pod_of_budget(double.store, "p")
    versions: list[tuple[bool, bool]] = []

    def note(event: Any) -> None:
        conditions = [one.get("reason") for one in event.object["status"].get("conditions", [])]
        dying = "deletionTimestamp" in event.object["metadata"]
        versions.append(("EvictionByEvictionAPI" in conditions, dying))

    double.store.listen(note)
    await double.http.post("/api/v1/namespaces/ns/pods/p/eviction", json={"metadata": {"name": "p"}})
    assert versions == [(True, False), (True, True)]


@pytest.mark.parametrize(("query", "left"), [("", 0), ("?dryRun=All", 1)])
async def test_an_eviction_takes_one_disruption_from_the_budget_unless_it_is_dry(
    double: Double, query: str, left: int
) -> None:
    pod_of_budget(double.store, "p")
    selector = {"matchLabels": {"job-name": "j"}}
    double.store.create(kinds.PDB, {"metadata": {"name": "b"}, "spec": {"minAvailable": 0, "selector": selector}}, "ns")
    computed = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0}
    double.store.patch(kinds.PDB, "b", {"status": computed}, "ns", subresource="status")
    reply = await double.http.post(f"/api/v1/namespaces/ns/pods/p/eviction{query}", json={"metadata": {"name": "p"}})
    assert (reply.status_code, reply.json()["status"]) == (201, "Success")
    assert double.store.get(kinds.PDB, "b", "ns")["status"]["disruptionsAllowed"] == left
    assert ("deletionTimestamp" in double.store.get(kinds.POD, "p", "ns")["metadata"]) is (left == 0)
