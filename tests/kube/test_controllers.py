"""What no trace shows of the controllers: success, preemption, nodes that come back, rates, real time."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tests.kube.on_bench import a_bench, a_job, a_pod, a_volcano_job, job_of, pods_of, running, tell_all

from .controllers.cluster import Cluster
from .controllers.nodes import NodeTimes
from .controllers.plane import Pace, Plane
from .controllers.pods import condition, holds, node_of, phase
from .kubelet import VirtualKubelet
from .replay.bench import node
from .server import kinds
from .server.errors import ApiError
from .server.eviction import evict
from .server.kinds import Kind
from .server.objects import Obj
from .server.rules import RULES
from .server.store import Store


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        (kinds.JOB, "Complete"),
        (kinds.PYTORCH_JOB, "Succeeded"),
        (kinds.JOB_SET, "Completed"),
        (kinds.TRAIN_JOB, "Complete"),
    ],
)
def test_a_job_whose_pods_all_succeed_has_succeeded(kind: Kind, end: str) -> None:
    bench = a_bench()
    bench.store.create(kind, job_of(kind), "ns")
    assert running(bench, 2)
    tell_all(bench, pods_of(bench), "exit-code", "0")
    assert bench.advance_until(lambda: holds(bench.store.get(kind, "j", "ns"), end), 10)


def test_a_pod_of_higher_priority_takes_the_place_of_a_lower_one() -> None:
    bench = a_bench(nodes=1)
    bench.store.create(kinds.POD, a_pod("low"), "ns")
    assert running(bench, 1)
    bench.store.create(kinds.POD, a_pod("high", priority=1000), "ns")
    bench.advance(timedelta(milliseconds=15))
    low = bench.store.get(kinds.POD, "low", "ns")
    assert (condition(low, "DisruptionTarget") or {})["reason"] == "PreemptionByScheduler"
    assert bench.advance_until(lambda: [pod["metadata"]["name"] for pod in pods_of(bench)] == ["high"], 5)
    assert bench.advance_until(lambda: node_of(bench.store.get(kinds.POD, "high", "ns")) == "n0", 5)


def test_a_pod_of_equal_priority_waits() -> None:
    bench = a_bench(nodes=1)
    bench.store.create(kinds.POD, a_pod("first", priority=5), "ns")
    assert running(bench, 1)
    bench.store.create(kinds.POD, a_pod("second", priority=5), "ns")
    bench.advance(timedelta(seconds=20))
    told = condition(bench.store.get(kinds.POD, "second", "ns"), "PodScheduled") or {}
    assert told["message"] == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    assert phase(bench.store.get(kinds.POD, "first", "ns")) == "Running"


def test_a_budget_lets_one_pod_go_and_keeps_the_last() -> None:
    bench = a_bench(nodes=2)
    for name in ("a", "b"):
        pod = a_pod(name)
        bench.store.create(kinds.POD, {**pod, "metadata": {"name": name, "labels": {"app": "x"}}}, "ns")
    assert running(bench, 2)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    bench.store.create(kinds.PDB, {"metadata": {"name": "pdb"}, "spec": spec}, "ns")
    bench.advance(timedelta(seconds=1))
    evict(bench.store, "a", "ns", {})
    with pytest.raises(ApiError, match="disruption budget"):
        evict(bench.store, "b", "ns", {})
    bench.advance(timedelta(seconds=5))
    status = bench.store.get(kinds.PDB, "pdb", "ns")["status"]
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (1, 0)
    assert "disruptedPods" not in status
    with pytest.raises(ApiError, match="disruption budget"):
        evict(bench.store, "b", "ns", {})


def test_an_ignored_disruption_spares_the_backoff_limit() -> None:
    bench = a_bench(nodes=3)
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    bench.store.create(kinds.JOB, a_job(backoffLimit=0, podFailurePolicy={"rules": [rule]}), "ns")
    assert running(bench, 2)
    gone = pods_of(bench)[0]["metadata"]
    evict(bench.store, gone["name"], "ns", {})
    bench.advance(timedelta(seconds=15))
    job = bench.store.get(kinds.JOB, "j", "ns")
    assert not holds(job, "Failed")
    assert job["status"].get("failed", 0) == 0
    assert [phase(pod) for pod in pods_of(bench) if pod["metadata"]["uid"] != gone["uid"]] == ["Running", "Running"]


def test_an_aborted_volcano_job_raises_its_version_by_itself() -> None:
    bench = a_bench()
    job = bench.store.create(kinds.VOLCANO_JOB, a_volcano_job(), "ns")
    assert running(bench, 2)
    target = {"apiVersion": job["apiVersion"], "kind": "Job", "name": "j", "uid": job["metadata"]["uid"]}
    command = {"metadata": {"generateName": "j-abort-"}, "target": target, "action": "AbortJob"}
    bench.store.create(kinds.VOLCANO_COMMAND, command, "ns")
    bench.advance(timedelta(seconds=3))
    status = bench.store.get(kinds.VOLCANO_JOB, "j", "ns")["status"]
    assert status["state"]["phase"] == "Aborted"
    assert status["version"] > 2
    assert status.get("retryCount", 0) == 0


def test_a_changed_runtime_reaches_a_train_job_only_while_it_is_suspended() -> None:
    bench = a_bench()
    bench.store.create(kinds.TRAIN_JOB, job_of(kinds.TRAIN_JOB), "ns")
    assert running(bench, 2)

    def tell(runtime: Obj) -> None:
        pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        pod["spec"]["nodeSelector"] = {"kubernetes.io/os": "linux"}

    def told() -> bool:
        roles = bench.store.get(kinds.JOB_SET, "j", "ns")["spec"]["replicatedJobs"]
        return "nodeSelector" in roles[0]["template"]["spec"]["template"]["spec"]

    bench.store.edit(kinds.CLUSTER_TRAINING_RUNTIME, "torch-distributed", "", tell)
    bench.store.patch(kinds.TRAIN_JOB, "j", {"metadata": {"annotations": {"look": "again"}}}, "ns")
    bench.advance(timedelta(seconds=5))
    assert not told()
    bench.store.patch(kinds.TRAIN_JOB, "j", {"spec": {"suspend": True}}, "ns")
    assert bench.advance_until(told, 5)


def test_a_pod_keeps_off_the_nodes_that_its_affinity_excludes() -> None:
    bench = a_bench(nodes=3)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n0", "n1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    bench.store.create(kinds.POD, a_pod("a", affinity={"nodeAffinity": required}), "ns")
    assert running(bench, 1)
    assert node_of(bench.store.get(kinds.POD, "a", "ns")) == "n2"


async def test_the_same_controllers_run_along_the_real_clock() -> None:
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    store.create(kinds.NAMESPACE, {"metadata": {"name": "ns"}})
    store.create(kinds.SERVICE_ACCOUNT, {"metadata": {"name": "default", "namespace": "ns"}})
    for number in range(2):
        store.create(kinds.NODE, node(f"n{number}", "ns", datetime.now(UTC)))
    cluster = Cluster(store)
    quick = timedelta(milliseconds=20)
    pace = Pace(NodeTimes(), session=quick, round_trip=timedelta(0), backoff=quick, batch=quick)
    plane = Plane(store, [VirtualKubelet(cluster)], pace=pace, cluster=cluster)
    changed = asyncio.Event()
    store.listen(lambda _: changed.set())
    running = asyncio.create_task(plane.run())
    store.create(kinds.VOLCANO_JOB, a_volcano_job(), "ns")
    async with asyncio.timeout(20):
        while store.get(kinds.VOLCANO_JOB, "j", "ns").get("status", {}).get("running") != 2:
            changed.clear()
            await changed.wait()
    running.cancel()
