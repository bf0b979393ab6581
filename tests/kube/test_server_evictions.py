"""Evictions over HTTP: refused and granted by budgets as recorded, told before the pod dies, counted once."""

from typing import Any

import pytest

from tests.kube.double import NODE, Double, actions, shape
from tests.kube.server import kinds
from tests.kube.server.objects import Obj
from tests.kube.server.store import Store


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
