"""Plans carried out against the controllers: what each predicted of uids, nodes and budget is what comes about."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, assert_never

import pytest

from keepstep.adapters import kube_kinds
from keepstep.adapters.kube_job import IndexedView
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_node import USABLE
from keepstep.adapters.kube_observe import Hold, Progress, Seen, observed
from keepstep.adapters.kube_plan import Apply, Await, Create, Delete, Evict, Ground, Patch, RestartPlan, Step, Verb
from keepstep.adapters.kube_pod import Pod, PodPhase
from keepstep.adapters.kube_view import QUEUE_LABEL, JobView
from keepstep.adapters.kube_volcano_view import VolcanoView
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Level
from tests.kube import shown
from tests.kube.controllers.plane import Chance
from tests.kube.jobs import planned
from tests.kube.replay.bench import Bench
from tests.kube.server import kinds
from tests.kube.server.deletion import DeleteOptions
from tests.kube.server.eviction import evict
from tests.kube.server.kinds import Kind
from tests.kube.server.patches import PatchType
from tests.kube.shown import STORED

V, P, T, S, J = JobKind.VOLCANO, JobKind.PYTORCHJOB, JobKind.TRAINJOB, JobKind.JOBSET, JobKind.JOB
GPU = {"limits": {"nvidia.com/gpu": "8"}}
POD = {"containers": [{"name": "pytorch", "image": "train:1", "resources": GPU}], "restartPolicy": "Never"}
ROUNDED = timedelta(seconds=1)
"""Objects carry instants in whole seconds, and delays count from them."""
INDEXED = {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": {"spec": POD}}


def spec_of(kind: JobKind, restart: str) -> dict[str, Any]:
    """Return the spec of a job of two pods; ``restart`` is a PyTorchJob's restartPolicy."""
    replica = {"replicas": 1, "restartPolicy": restart, "template": {"spec": POD}}
    match kind:
        case JobKind.VOLCANO:
            return {"minAvailable": 2, "tasks": [{"name": "worker", "replicas": 2, "template": {"spec": POD}}]}
        case JobKind.PYTORCHJOB:
            return {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}}
        case JobKind.TRAINJOB:
            trainer = {"numNodes": 2, "image": "train:1", "resourcesPerNode": GPU}
            return {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}
        case JobKind.JOBSET:
            return {"replicatedJobs": [{"name": "w", "template": {"spec": INDEXED}}]}
        case JobKind.JOB:
            return INDEXED
        case other:
            assert_never(other)


class Run:
    """A running job of two pods on a cluster of four nodes, in virtual time."""

    def __init__(
        self, kind: JobKind, restart: str = "Never", *, labels: Mapping[str, str] | None = None, **spec: Any
    ) -> None:
        self.kind = kind
        self.bench = Bench("ns", {f"n{number}": False for number in range(4)}, Chance(), timedelta(milliseconds=5))
        job = {"metadata": {"name": "j", "labels": labels or {}}, "spec": {**spec_of(kind, restart), **spec}}
        self.bench.store.create(STORED[kind], job, "ns")
        assert self.bench.advance_until(lambda: sum(one.phase is PodPhase.RUNNING for one in self.pods()) == 2, 60)
        self.bench.advance(timedelta(seconds=3))

    def pods(self) -> list[Pod]:
        return shown.pods(self.bench.store, "ns")

    def view(self) -> JobView:
        return shown.view(self.bench.store, self.kind, "ns")

    def ground(self, **known: frozenset[NodeName]) -> Ground:
        return Ground(shown.nodes(self.bench.store), **known)

    def plan(self, level: Level, lost: Sequence[Pod], **known: frozenset[NodeName]) -> RestartPlan:
        ground = self.ground(**known)
        return planned(kube_kinds.restart_plan(self.view(), level, pods=self.pods(), lost=lost, ground=ground))

    def carry_out(self, plan: RestartPlan) -> Progress:
        """Write the steps, then let time pass until the restart is over."""
        since = self.bench.now
        for step in plan.steps:
            self._step(step)
        self.bench.advance_until(lambda: self.seen(plan, since).seen in (Seen.DONE, Seen.FAILED), 400)
        return self.seen(plan, since)

    def seen(self, plan: RestartPlan, since: datetime) -> Progress:
        return observed(plan, self.view(), self.pods(), since=since, now=self.bench.now)

    def _step(self, step: Step) -> None:
        store = self.bench.store
        match step:
            case Patch(target=target, body=body):
                store.patch(stored(target.api, target.kind), target.name, dict(body), target.namespace)
            case Apply(target=target, body=body):
                kind, how = stored(target.api, target.kind), PatchType.APPLY
                store.patch(kind, target.name, dict(body), target.namespace, how=how, manager="keepstep")
            case Create(namespace=namespace, body=body):
                store.create(kinds.VOLCANO_COMMAND, dict(body), namespace)
            case Delete(target=target, force=force, propagation=propagation):
                options = DeleteOptions(grace=0 if force else None, uid=target.uid, propagation=propagation)
                store.delete(stored(target.api, target.kind), target.name, target.namespace, options)
            case Evict(target=target):
                by_uid = {"preconditions": {"uid": target.uid}}
                evict(
                    store, target.name, target.namespace, {"metadata": {"name": target.name}, "deleteOptions": by_uid}
                )
            case Await():
                assert self.bench.advance_until(lambda: not self.pods(), 60), step.why
            case other:
                assert_never(other)


def stored(api: str, kind: str) -> Kind:
    return next(one for one in kinds.KINDS if (one.api_version, one.kind) == (api, kind))


@pytest.mark.parametrize("kind", JobKind)
def test_a_job_level_makes_every_pod_anew_at_the_cost_foretold(kind: JobKind) -> None:
    run = Run(kind)
    before, counter = run.pods(), run.view().counter
    plan = run.plan(Level.JOB, before[:1])
    end = run.carry_out(plan)
    assert end.seen is Seen.DONE, end
    after = run.pods()
    assert len(after) == 2
    assert not {pod.uid for pod in before} & {pod.uid for pod in after}
    assert sorted(pod.seat for pod in after) == sorted(pod.seat for pod in before)
    assert run.view().counter - counter == plan.cost.amount == end.spent


@pytest.mark.parametrize("kind", JobKind)
def test_a_pod_level_replaces_one_pod_keeps_the_other_and_costs_what_was_foretold(kind: JobKind) -> None:
    run = Run(kind, restart="ExitCode")
    lost, kept = run.pods()
    plan = run.plan(Level.POD, [lost])
    started = run.bench.now
    end = run.carry_out(plan)
    assert end.seen is Seen.DONE, end
    live = [pod for pod in run.pods() if pod.live]
    assert kept.uid in {pod.uid for pod in live}
    assert sorted(pod.seat for pod in live) == sorted((lost.seat, kept.seat))
    assert run.bench.now - started >= plan.cost.delay - ROUNDED
    run.bench.advance(timedelta(seconds=3))
    view = run.view()
    if isinstance(view, IndexedView):
        assert view.counter == plan.cost.amount == 1
    if isinstance(view, VolcanoView):
        assert view.counter == plan.cost.amount == 0


@pytest.mark.parametrize("kind", JobKind)
def test_a_job_whose_node_died_restarts_off_it_once_the_node_is_proved_dead(kind: JobKind) -> None:
    run = Run(kind)
    lost = run.pods()[0]
    assert lost.node is not None
    run.bench.kubelet.lose(lost.node)
    assert run.bench.advance_until(lambda: not run.ground().nodes[NodeName(str(lost.node))].ready, 120)
    run.bench.store.patch(kinds.NODE, lost.node, {"spec": {"unschedulable": True}})
    there = frozenset({lost.node})
    plan = run.plan(Level.JOB, [lost], avoid=there, proved=there)
    end = run.carry_out(plan)
    assert (end.seen, end.hold) == (Seen.DONE, Hold.NOTHING), end
    after = [pod for pod in run.pods() if pod.live]
    assert len(after) == 2
    assert lost.node not in {pod.node for pod in after}


@pytest.mark.parametrize(("kind", "verb"), [(P, Verb.DELETE_PODS), (T, Verb.DELETE_JOBS), (S, Verb.DELETE_JOBS)])
def test_under_kueue_all_pods_are_made_anew_without_touching_suspend(kind: JobKind, verb: Verb) -> None:
    run = Run(kind, restart="OnFailure", labels={QUEUE_LABEL: "team-a"})
    before = run.pods()
    plan = run.plan(Level.JOB, before)
    assert plan.verb is verb
    assert run.carry_out(plan).seen is Seen.DONE
    assert not {pod.uid for pod in before} & {pod.uid for pod in run.pods() if pod.live}
    assert not run.view().suspended


def test_the_last_retries_of_a_volcano_job_are_saved_by_deleting_its_pods() -> None:
    run = Run(V, maxRetry=1)
    before = run.pods()
    plan = run.plan(Level.JOB, before)
    assert plan.verb is Verb.DELETE_PODS
    assert run.carry_out(plan).seen is Seen.DONE
    assert run.view().counter == 0
    assert not {pod.uid for pod in before} & {pod.uid for pod in run.pods()}


def test_a_train_job_keeps_off_a_node_that_nobody_closed() -> None:
    run = Run(T)
    bad = run.pods()[0].node
    assert bad is not None
    for name in {"n0", "n1", "n2", "n3"} - {bad}:
        run.bench.store.patch(kinds.NODE, name, {"metadata": {"labels": {USABLE: "yes"}}})
    plan = run.plan(Level.JOB, run.pods(), avoid=frozenset({bad}))
    assert any(isinstance(step, Apply) for step in plan.steps)
    assert run.carry_out(plan).seen is Seen.DONE
    assert bad not in {pod.node for pod in run.pods()}


def test_an_eviction_that_the_job_ignores_costs_it_nothing() -> None:
    condition = {"type": "DisruptionTarget", "status": "True"}
    run = Run(J, podFailurePolicy={"rules": [{"action": "Ignore", "onPodConditions": [condition]}]}, backoffLimit=0)
    plan = run.plan(Level.POD, run.pods()[:1])
    assert plan.verb is Verb.EVICT_PODS
    assert run.carry_out(plan).seen is Seen.DONE
    run.bench.advance(timedelta(seconds=3))
    assert run.view().counter == 0


def test_the_refusal_of_a_pod_level_under_never_is_right() -> None:
    """What the plan refuses is what would have happened: the whole job fails."""
    run = Run(P)
    lost = run.pods()[0]
    refusal = kube_kinds.restart_plan(run.view(), Level.POD, pods=run.pods(), lost=[lost], ground=run.ground())
    assert not isinstance(refusal, RestartPlan)
    run.bench.store.delete(kinds.POD, lost.name, "ns")
    run.bench.advance(timedelta(seconds=2))
    assert kube_kinds.supports(run.view()).refusal(Level.JOB) is not None
