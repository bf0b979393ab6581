"""Injected manifests on the test cluster: the server takes them, and the controllers make pods that are keepstep's."""

from datetime import timedelta
from typing import Any

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_pod import pod_of
from tests.injection.manifests import injected, manifest
from tests.kube.controllers.plane import Chance
from tests.kube.objects import merged
from tests.kube.replay.bench import Bench
from tests.kube.server import kinds
from tests.kube.server.objects import copied

SEATS = {
    JobKind.VOLCANO: ["master-0", "worker-0", "worker-1", "worker-2"],
    JobKind.PYTORCHJOB: ["master-0", "worker-0", "worker-1", "worker-2"],
    JobKind.TRAINJOB: ["node-0-0", "node-0-1", "node-0-2", "node-0-3"],
    JobKind.JOBSET: ["node-0-0", "node-0-1", "node-1-0", "node-1-1"],
    JobKind.JOB: ["0", "1", "2", "3"],
}


def apply(bench: Bench, document: JsonObject) -> None:
    kind = kinds.BY_API[str(document["apiVersion"]), str(document["kind"])]
    bench.store.create(kind, copied(dict(document)), "ns")


def pods(bench: Bench) -> list[Any]:
    return list(bench.store.scan(kinds.POD, "ns"))


@pytest.mark.parametrize("kind", JobKind)
def test_the_controllers_of_every_kind_make_pods_that_are_keepsteps(kind: JobKind) -> None:
    bench = Bench("ns", {f"n{number}": False for number in range(4)}, Chance(), timedelta(milliseconds=5))
    job = manifest(kind, resources={"limits": {"nvidia.com/gpu": "8"}})
    for document in injected(merged(job, {"metadata": {"namespace": "ns"}})).documents:
        apply(bench, document)
    assert bench.advance_until(lambda: len(pods(bench)) == 4, 30)
    assert sorted(pod_of(pod).seat for pod in pods(bench)) == SEATS[kind]
    for pod in pods(bench):
        assert pod["metadata"]["labels"]["keepstep.io/job"] == "bert"
        assert pod["spec"]["restartPolicy"] == "Never"
        assert [one["name"] for one in pod["spec"]["initContainers"]] == ["keepstep-install", "keepstep-agent"]
        (trains,) = pod["spec"]["containers"]
        assert trains["command"][:3] == ["/bin/sh", "/keepstep/bin/keepstep-launch", "torchrun"]
        assert trains["image"] == "registry.example/train:1"
    assert bench.advance_until(lambda: all(pod["status"]["phase"] == "Running" for pod in pods(bench)), 30)
