"""What no trace shows of the controllers: success, preemption, nodes that come back, rates, real time."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from .controllers.cluster import Cluster
from .controllers.nodes import NodeTimes
from .controllers.plane import Chance, Pace, Plane
from .controllers.pods import condition, holds, node_of, phase, terminating
from .kubelet import VirtualKubelet
from .replay.bench import Bench, node
from .server import kinds
from .server.errors import ApiError
from .server.eviction import evict
from .server.kinds import Kind
from .server.objects import Obj
from .server.rules import RULES
from .server.store import Store

_LAG = timedelta(milliseconds=5)
_SPEC: Obj = {
    "containers": [{"name": "pytorch", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
    "restartPolicy": "Never",
}


def _bench(nodes: int = 4) -> Bench:
    return Bench("ns", {f"n{number}": False for number in range(nodes)}, Chance(), _LAG)


def _pods(bench: Bench) -> list[Obj]:
    return list(bench.store.scan(kinds.POD, "ns"))


def _pod(name: str, *, priority: int = 0, **spec: object) -> Obj:
    return {"metadata": {"name": name}, "spec": {**_SPEC, "priority": priority, **spec}}


def _job(**spec: object) -> Obj:
    shape = {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": {"spec": _SPEC}}
    return {"metadata": {"name": "j"}, "spec": {**shape, **spec}}


def _volcano_job(**spec: object) -> Obj:
    tasks = [{"name": "worker", "replicas": 2, "template": {"spec": _SPEC}}]
    return {"metadata": {"name": "j"}, "spec": {"minAvailable": 2, "tasks": tasks, **spec}}


def _kind(kind: Kind) -> Obj:
    """Return a job of the kind with two pods."""
    if kind is kinds.JOB:
        return _job()
    if kind is kinds.VOLCANO_JOB:
        return _volcano_job()
    if kind is kinds.PYTORCH_JOB:
        replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": _SPEC}}
        return {"metadata": {"name": "j"}, "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}}}
    if kind is kinds.JOB_SET:
        template = {"spec": _job()["spec"]}
        return {"metadata": {"name": "j"}, "spec": {"replicatedJobs": [{"name": "w", "template": template}]}}
    trainer = {"numNodes": 2, "image": "train:1", "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}
    return {"metadata": {"name": "j"}, "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}}


def _running(bench: Bench, count: int) -> bool:
    return bench.advance_until(lambda: sum(phase(pod) == "Running" for pod in _pods(bench)) >= count, 30)


def _tell_all(bench: Bench, pods: Sequence[Obj], what: str, value: str) -> None:
    for pod in pods:
        body = {"metadata": {"annotations": {f"fake.kubelet/{what}": value}}}
        bench.store.patch(kinds.POD, pod["metadata"]["name"], body, "ns")


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
    bench = _bench()
    bench.store.create(kind, _kind(kind), "ns")
    assert _running(bench, 2)
    _tell_all(bench, _pods(bench), "exit-code", "0")
    assert bench.advance_until(lambda: holds(bench.store.get(kind, "j", "ns"), end), 10)


def test_a_pod_of_higher_priority_takes_the_place_of_a_lower_one() -> None:
    bench = _bench(nodes=1)
    bench.store.create(kinds.POD, _pod("low"), "ns")
    assert _running(bench, 1)
    bench.store.create(kinds.POD, _pod("high", priority=1000), "ns")
    bench.advance(timedelta(milliseconds=15))
    low = bench.store.get(kinds.POD, "low", "ns")
    assert (condition(low, "DisruptionTarget") or {})["reason"] == "PreemptionByScheduler"
    assert bench.advance_until(lambda: [pod["metadata"]["name"] for pod in _pods(bench)] == ["high"], 5)
    assert bench.advance_until(lambda: node_of(bench.store.get(kinds.POD, "high", "ns")) == "n0", 5)


def test_a_pod_of_equal_priority_waits() -> None:
    bench = _bench(nodes=1)
    bench.store.create(kinds.POD, _pod("first", priority=5), "ns")
    assert _running(bench, 1)
    bench.store.create(kinds.POD, _pod("second", priority=5), "ns")
    bench.advance(timedelta(seconds=20))
    told = condition(bench.store.get(kinds.POD, "second", "ns"), "PodScheduled") or {}
    assert told["message"] == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    assert phase(bench.store.get(kinds.POD, "first", "ns")) == "Running"


def test_lost_nodes_get_their_noexecute_taint_one_per_ten_seconds() -> None:
    bench = _bench(nodes=3)
    for number in range(3):
        bench.kubelet.lose(f"n{number}")
    seen: list[float] = []

    def more() -> bool:
        found = bench.store.scan(kinds.NODE)
        taints = [taint for one in found for taint in one["spec"].get("taints") or ()]
        count: int = sum(taint["effect"] == "NoExecute" for taint in taints)
        return count > len(seen)

    for _ in range(3):
        assert bench.advance_until(more, 60)
        seen.append(bench.t)
    assert [round(later - before) for before, later in pairwise(seen)] == [10, 10]


def test_a_node_that_comes_back_is_free_of_taints_and_ends_what_it_was_told_to_end() -> None:
    bench = _bench(nodes=1)
    bench.store.create(kinds.POD, _pod("a"), "ns")
    assert _running(bench, 1)
    bench.kubelet.lose("n0")
    assert bench.advance_until(lambda: bool(bench.store.get(kinds.NODE, "n0")["spec"].get("taints")), 60)
    assert not holds(bench.store.get(kinds.POD, "a", "ns"), "Ready")
    bench.store.delete(kinds.POD, "a", "ns")
    bench.advance(timedelta(seconds=60))
    assert terminating(bench.store.get(kinds.POD, "a", "ns"))
    bench.kubelet.find_again("n0")
    assert bench.advance_until(lambda: not _pods(bench), 5)
    assert bench.advance_until(lambda: not bench.store.get(kinds.NODE, "n0")["spec"].get("taints"), 10)
    bench.advance(timedelta(seconds=60))
    assert holds(bench.store.get(kinds.NODE, "n0"), "Ready")


def test_a_pod_that_stayed_through_its_nodes_silence_is_ready_again() -> None:
    bench = _bench(nodes=1)
    bench.store.create(kinds.POD, _pod("a"), "ns")
    assert _running(bench, 1)
    bench.kubelet.lose("n0")
    assert bench.advance_until(lambda: not holds(bench.store.get(kinds.POD, "a", "ns"), "Ready"), 60)
    bench.kubelet.find_again("n0")
    assert bench.advance_until(lambda: holds(bench.store.get(kinds.POD, "a", "ns"), "Ready"), 5)


def test_a_budget_lets_one_pod_go_and_keeps_the_last() -> None:
    bench = _bench(nodes=2)
    for name in ("a", "b"):
        pod = _pod(name)
        bench.store.create(kinds.POD, {**pod, "metadata": {"name": name, "labels": {"app": "x"}}}, "ns")
    assert _running(bench, 2)
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
    bench = _bench(nodes=3)
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    bench.store.create(kinds.JOB, _job(backoffLimit=0, podFailurePolicy={"rules": [rule]}), "ns")
    assert _running(bench, 2)
    gone = _pods(bench)[0]["metadata"]
    evict(bench.store, gone["name"], "ns", {})
    bench.advance(timedelta(seconds=15))
    job = bench.store.get(kinds.JOB, "j", "ns")
    assert not holds(job, "Failed")
    assert job["status"].get("failed", 0) == 0
    assert [phase(pod) for pod in _pods(bench) if pod["metadata"]["uid"] != gone["uid"]] == ["Running", "Running"]


def test_an_aborted_volcano_job_raises_its_version_by_itself() -> None:
    bench = _bench()
    job = bench.store.create(kinds.VOLCANO_JOB, _volcano_job(), "ns")
    assert _running(bench, 2)
    target = {"apiVersion": job["apiVersion"], "kind": "Job", "name": "j", "uid": job["metadata"]["uid"]}
    command = {"metadata": {"generateName": "j-abort-"}, "target": target, "action": "AbortJob"}
    bench.store.create(kinds.VOLCANO_COMMAND, command, "ns")
    bench.advance(timedelta(seconds=3))
    status = bench.store.get(kinds.VOLCANO_JOB, "j", "ns")["status"]
    assert status["state"]["phase"] == "Aborted"
    assert status["version"] > 2
    assert status.get("retryCount", 0) == 0


def test_a_changed_runtime_reaches_a_train_job_only_while_it_is_suspended() -> None:
    bench = _bench()
    bench.store.create(kinds.TRAIN_JOB, _kind(kinds.TRAIN_JOB), "ns")
    assert _running(bench, 2)

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
    bench = _bench(nodes=3)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n0", "n1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    bench.store.create(kinds.POD, _pod("a", affinity={"nodeAffinity": required}), "ns")
    assert _running(bench, 1)
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
    store.create(kinds.VOLCANO_JOB, _volcano_job(), "ns")
    async with asyncio.timeout(20):
        while store.get(kinds.VOLCANO_JOB, "j", "ns").get("status", {}).get("running") != 2:
            changed.clear()
            await changed.wait()
    running.cancel()
