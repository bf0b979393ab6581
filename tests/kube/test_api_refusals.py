"""What an API server refuses: the same requests, codes and words of the double and of a real one.

A row names only the words that servers from 1.20 to 1.36 share.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.kube.admin import MERGE, Obj
from tests.kube.api import Api
from tests.kube.server import kinds

pytestmark = pytest.mark.any_api

CONTAINER: Obj = {"name": "m", "image": "i"}
V: Obj = {"name": "v", "emptyDir": {}}
MOUNT = {"name": "v", "mountPath": "/v"}
GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Row:
    """A body or a query, and how it is refused; ``said`` "" where versions word it differently."""

    of: str
    body: Any
    code: int
    said: str = ""
    query: tuple[tuple[str, str], ...] = ()


def pod(spec: Obj | None = None, **meta: Any) -> Obj:
    rest = {"containers": [CONTAINER], "schedulerName": "nobody", "automountServiceAccountToken": False}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **meta}, "spec": {**rest, **(spec or {})}}


def one(**container: Any) -> Obj:
    return pod({"containers": [{**CONTAINER, **container}], "volumes": [V]})


def job(spec: Obj | None = None, pods: Obj | None = None) -> Obj:
    inner = {"containers": [CONTAINER], "restartPolicy": "Never", **(pods or {})}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    return {**head, "spec": {"template": {"spec": inner}, **(spec or {})}}


def amounts(limits: Obj, requests: Obj | None = None) -> Obj:
    return one(resources={"limits": limits, **({"requests": requests} if requests else {})})


PODS = [
    Row("a policy that is none", pod({"restartPolicy": "Sometimes"}), 422, 'restartPolicy: Unsupported value: "Som'),
    Row("two namespaces of processes", pod({"shareProcessNamespace": True, "hostPID": True}), 422, "cannot both be en"),
    Row("a volume twice", pod({"volumes": [V, V]}), 422, 'spec.volumes[1].name: Duplicate value: "v"'),
    Row("a volume's name", pod({"volumes": [{"name": "V_", "emptyDir": {}}]}), 422, "spec.volumes[0].name: Invalid"),
    Row("a mount twice", one(volumeMounts=[MOUNT, MOUNT]), 422, 'mountPath: Invalid value: "/v": must be unique'),
    Row("a mount of nothing", one(volumeMounts=[{**MOUNT, "name": "w"}]), 422, 'volumeMounts[0].name: Not found: "w"'),
    Row("a mount at nothing", one(volumeMounts=[{"name": "v"}]), 422, "mountPath: Required value"),
    Row("a variable's name", one(env=[{"name": "a=b", "value": "x"}]), 422, 'env[0].name: Invalid value: "a=b"'),
    Row("a variable without one", one(env=[{"value": "x"}]), 422, "env[0].name: Required value"),
    Row(
        "a field that is not given",
        one(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nothing"}}}]),
        422,
        "field label not supported: spec.nothing",
    ),
    Row(
        "a value and a source",
        one(env=[{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
        422,
        "may not be specified when `value` is not empty",
    ),
    Row("a number for a variable", one(env=[{"name": "A", "value": 1}]), 400, "cannot be handled as a Pod"),
    Row("one name for two kinds", pod({"initContainers": [CONTAINER]}), 422, "initContainers[0].name: Duplicate va"),
    Row("half a GPU", amounts({GPU: "0.5"}), 422, "must be an integer"),
    Row("fewer GPUs asked for than allowed", amounts({GPU: "8"}, {GPU: "4"}), 422, f"must be equal to {GPU} limit"),
    Row("a toleration of all and one", pod({"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]}), 422),
    Row("a class that is not there", pod({"priorityClassName": "nope"}), 403, "no PriorityClass with name nope"),
    Row("an account that is not there", pod({"serviceAccountName": "nope"}), 403, "error looking up service account"),
    Row("a label that is a number", pod(labels={"a": 1}), 400, "cannot be handled as a Pod"),
    Row("a label's value", pod(labels={"a": "b c"}), 422, 'metadata.labels: Invalid value: "b c"'),
    Row(
        "two controllers",
        pod(
            ownerReferences=[
                {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
                for name in "ab"
            ]
        ),
        422,
        "Only one reference can have Controller set to true",
    ),
    Row("a dry run of some", pod(), 422, "dryRun: Unsupported value", query=(("dryRun", "Some"),)),
]
MAPS = [
    Row("a key", {"metadata": {"name": "c"}, "data": {"a b": "x"}}, 422, 'data[a b]: Invalid value: "a b"'),
    Row(
        "more than a mebibyte", {"metadata": {"name": "c"}, "data": {"a": "x" * 1_100_000}}, 422, "Too long: must have"
    ),
    Row("a number", {"metadata": {"name": "c"}, "data": {"a": 1}}, 400, "cannot be handled as a ConfigMap"),
]
JOBS = [
    Row("less than no pods", job({"parallelism": -1}), 422, "spec.parallelism: Invalid value: -1: must be greater"),
    Row("less than no failures", job({"backoffLimit": -1}), 422, "spec.backoffLimit: Invalid value: -1: must be gre"),
    Row("pods that always restart", job(pods={"restartPolicy": "Always"}), 422, 'valid values: "OnFailure", "Never"'),
    Row("no template", {**job(), "spec": {}}, 422, "spec.template.spec.containers: Required value"),
    Row("a volume twice", job(pods={"volumes": [V, V]}), 422, "spec.template.spec.volumes[1].name: Duplicate value"),
]
NODES = [
    Row(
        "a taint without a key",
        {"spec": {"taints": [{"effect": "NoSchedule"}]}},
        422,
        'taints[0].key: Invalid value: ""',
    ),
    Row("a taint's key", {"spec": {"taints": [{"key": "a b", "effect": "NoSchedule"}]}}, 422, "taints[0].key: Invalid"),
    Row(
        "a taint's value",
        {"spec": {"taints": [{"key": "a", "value": "x y", "effect": "NoSchedule"}]}},
        422,
        'taints[0].value: Invalid value: "x y"',
    ),
    Row("a taint without effect", {"spec": {"taints": [{"key": "a"}]}}, 422, "taints[0].effect: Required value"),
    Row("an effect that is none", {"spec": {"taints": [{"key": "a", "effect": "No"}]}}, 422, "taints[0].effect: Unsup"),
    Row("a taint twice", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}}, 422, "Duplicate value"),
]
PATCHES = [
    Row(
        "another name", {"metadata": {"name": "b"}}, 400, "the name of the object (b) does not match the name on the U"
    ),
    Row("another namespace", {"metadata": {"namespace": "b"}}, 400, "does not match the namespace"),
    Row("another object", {"metadata": {"uid": "other"}}, 422, "metadata.uid: Invalid value"),
    Row("an older version", {"metadata": {"resourceVersion": "1"}}, 409, "the object has been modified"),
    Row("labels that are a word", {"metadata": {"labels": "x"}}, 422, "patch: Invalid value"),
    Row("no object", [], 422, "patch: Invalid value"),
    Row(
        "force",
        {"metadata": {}},
        422,
        "force: Forbidden: may not be specified for non-apply patch",
        (("force", "true"),),
    ),
    Row("a deletion", {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}, 422, "metadata.deletionTimestamp"),
    Row("another policy", {"spec": {"restartPolicy": "Never"}}, 422, "pod updates may not change fields other than"),
    Row("a node", {"spec": {"nodeName": "n"}}, 422, "pod updates may not change fields other than"),
]
READS = [
    Row("labels that are none", None, 400, "unable to parse requirement", (("labelSelector", "x=("),)),
    Row(
        "a field that is not indexed",
        None,
        400,
        "field label not supported: spec.image",
        (("fieldSelector", "spec.image=x"),),
    ),
    Row("a limit that is none", None, 400, "", (("limit", "x"),)),
    Row("a version that is none", None, 500, "invalid syntax", (("resourceVersion", "x"),)),
    Row("a watch of no version", None, 500, "invalid syntax", (("resourceVersion", "x"), ("watch", "true"))),
    Row("a page that is none", None, 400, "continue key is not valid", (("limit", "1"), ("continue", "zz"))),
]


async def faults(there: Api, method: str, path: str, rows: list[Row], **headers: str) -> list[str]:
    """Ask all rows and return those that were answered otherwise."""
    found = []
    for row in rows:
        content = {} if row.body is None else {"json": row.body}
        reply = await there.admin.http.request(method, path, params=dict(row.query), headers=headers, **content)
        said = reply.text.replace('\\"', '"')
        if reply.status_code != row.code or row.said not in said:
            found.append(f"{row.of}: {reply.status_code} {said[:300]}")
    return found


async def test_pods_that_no_server_takes(there: Api) -> None:
    path = f"/api/v1/namespaces/{there.namespace}/pods"
    assert await faults(there, "POST", path, PODS) == []


async def test_config_maps_that_no_server_takes(there: Api) -> None:
    path = f"/api/v1/namespaces/{there.namespace}/configmaps"
    assert await faults(there, "POST", path, MAPS) == []


async def test_what_is_allowed_of_a_pod_that_exists(there: Api) -> None:
    """A merge patch replaces lists; what the server fills in by itself need not be sent again."""
    await there.pod("a")
    for spec in (
        {"containers": [{"name": "main", "image": "train:2"}]},
        {"tolerations": [{"key": "q", "operator": "Exists"}]},
    ):
        await there.admin.patch(kinds.POD, "a", {"spec": spec}, there.namespace)
    (pod,) = await there.admin.items(kinds.POD, there.namespace)
    assert pod["spec"]["containers"][0]["image"] == "train:2"
    assert len(pod["spec"]["tolerations"]) == 3


async def test_a_collection_is_neither_patched_nor_put(there: Api) -> None:
    path = f"/api/v1/namespaces/{there.namespace}/pods"
    for method in ("PUT", "PATCH"):
        headers = MERGE if method == "PATCH" else {}
        assert (await there.admin.http.request(method, path, json=one(), headers=headers)).status_code == 405


async def test_options_of_a_deletion_in_its_query_count_only_without_a_body(there: Api) -> None:
    path = f"/api/v1/namespaces/{there.namespace}/pods/a"
    await there.pod("a")
    await there.admin.http.request("DELETE", path, params={"dryRun": "All"})
    assert await there.admin.items(kinds.POD, there.namespace) != []
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    await there.admin.http.request("DELETE", path, params={"dryRun": "All"}, json=options)
    assert await there.admin.items(kinds.POD, there.namespace) == []


async def test_who_writes_is_called_after_their_program_unless_they_say_otherwise(there: Api) -> None:
    await there.pod("a")
    (found,) = await there.admin.items(kinds.POD, there.namespace)
    assert {entry["manager"] for entry in found["metadata"]["managedFields"]} == {"kubectl"}


async def test_jobs_that_no_server_takes(there: Api) -> None:
    path = f"/apis/batch/v1/namespaces/{there.namespace}/jobs"
    assert await faults(there, "POST", path, JOBS) == []


async def test_taints_that_no_server_takes(there: Api) -> None:
    node = await there.node("n1")
    path = f"/api/v1/nodes/{node['metadata']['name']}"
    assert await faults(there, "PATCH", path, NODES, **MERGE) == []


async def test_patches_that_no_server_takes(there: Api) -> None:
    await there.pod("a")
    path = f"/api/v1/namespaces/{there.namespace}/pods/a"
    assert await faults(there, "PATCH", path, PATCHES, **MERGE) == []
    (left,) = await there.admin.items(kinds.POD, there.namespace)
    assert "labels" not in left["metadata"]


async def test_reads_that_no_server_answers(there: Api) -> None:
    path = f"/api/v1/namespaces/{there.namespace}/pods"
    assert await faults(there, "GET", path, READS) == []
