"""Each request of the API traces, and each refusal of the job kinds, asked of the double over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kube.double import NODE, TRACES, Double, actions, shape
from tests.kube.server import kinds
from tests.kube.server.deletion import DeleteOptions
from tests.kube.server.objects import Obj
from tests.kube.server.store import Store

SAMPLES = Path(__file__).parent / "samples"


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
