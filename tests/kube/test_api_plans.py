"""The writes of a plan over HTTP: an API server takes each, and what the plan meant is what then stands there."""

from collections.abc import Sequence
from typing import Any, assert_never

import pytest

from keepstep.adapters import kube_kinds
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kind import Below
from keepstep.adapters.kube_node import node_of
from keepstep.adapters.kube_objects import reference
from keepstep.adapters.kube_plan import Apply, Await, Create, Delete, Evict, Ground, RestartPlan, Step, Verb
from keepstep.adapters.kube_plan import Patch as Merge
from keepstep.adapters.kube_pod import pod_of
from keepstep.adapters.kube_view import QUEUE_LABEL
from keepstep.contracts.taxonomy import Level
from tests.kube.admin import Obj
from tests.kube.api import Api, eventually
from tests.kube.jobs import RUNNING, planned
from tests.kube.objects import merged, stripped
from tests.kube.server import kinds
from tests.kube.shown import STORED

pytestmark = pytest.mark.any_api

V, P, T, S, J = JobKind.VOLCANO, JobKind.PYTORCHJOB, JobKind.TRAINJOB, JobKind.JOBSET, JobKind.JOB
NATIVE = ("selector", "template")
"""Fields of a recorded batch/v1 Job that the server fills in and refuses from others."""


class Run:
    """A job of one kind in the cluster."""

    def __init__(self, there: Api, kind: JobKind, job: Obj) -> None:
        self.there, self.kind, self.name = there, kind, job["metadata"]["name"]

    async def job(self) -> Obj:
        return await self.there.admin.get(STORED[self.kind], self.name, self.there.namespace)

    async def pods(self) -> list[Obj]:
        return await self.there.admin.items(kinds.POD, self.there.namespace)

    async def plan(self, level: Level, *, lost: Sequence[str] = (), jobs: Sequence[Obj] = ()) -> RestartPlan:
        pods = [pod_of(one) for one in await self.pods()]
        nodes = map(node_of, await self.there.admin.items(kinds.NODE, **self.there.nodes))
        view = kube_kinds.KINDS[self.kind].rules.read(await self.job(), Below(jobs=jobs))
        gone = [pod for pod in pods if pod.name in lost]
        ground = Ground({node.name: node for node in nodes})
        return planned(kube_kinds.restart_plan(view, level, pods=pods, lost=gone, ground=ground))

    async def write(self, step: Step) -> None:
        client = self.there.client
        match step:
            case Merge(target=target, body=body, why=why):
                await client.edit(target, lambda _: body, why=why)
            case Apply(target=target, body=body, why=why):
                await client.apply(target, body, why=why)
            case Create(namespace=namespace, body=body, why=why):
                await client.create(namespace, body, why=why)
            case Delete(target=target, why=why, force=force, propagation=propagation):
                await client.delete(target, why=why, force=force, propagation=propagation)
            case Evict(target=target, why=why):
                await client.evict(target, why=why)
            case Await():
                await eventually(self.empty)
            case other:
                assert_never(other)

    async def empty(self) -> bool:
        return not await self.pods()


async def running(there: Api, kind: JobKind, **patch: Any) -> Run:
    """Create a job as it was recorded while it ran."""
    body = merged(stripped(RUNNING[kind], there.namespace), patch)
    if kind is J:
        spec = body["spec"]
        inner = {**spec["template"]["spec"], "automountServiceAccountToken": False}
        body["spec"] = {name: said for name, said in spec.items() if name not in NATIVE} | {"template": {"spec": inner}}
    return Run(there, kind, await there.create(STORED[kind], body))


def suspended(kind: JobKind, job: Obj) -> object:
    spec = job["spec"]
    return spec["runPolicy"]["suspend"] if kind is P else spec["suspend"]


@pytest.mark.parametrize("kind", [P, T, S, J])
async def test_a_suspension_is_taken_and_lifted_and_nothing_else_is_changed(there: Api, kind: JobKind) -> None:
    run = await running(there, kind, **({"spec": {"runPolicy": {"suspend": False}}} if kind is P else {}))
    before = await run.job()
    if kind is J and "suspend" not in before["spec"]:
        pytest.skip("Jobs of this API server cannot be suspended")
    said = []
    for step in (await run.plan(Level.JOB)).steps:
        await run.write(step)
        said.append(suspended(kind, await run.job()))
    assert (said[0], said[-1]) == (True, False)
    after = await run.job()
    assert merged(after["spec"], {"suspend": None}) == merged(before["spec"], {"suspend": None})
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_command_is_taken_with_its_owner(there: Api) -> None:
    run = await running(there, V)
    plan = await run.plan(Level.JOB)
    assert plan.verb in (Verb.COMMAND, Verb.DELETE_PODS)
    for step in plan.steps:
        await run.write(step)
    assert [write.refused for write in there.writes] == [""] * len(plan.steps)


async def test_only_the_lost_pod_is_deleted(there: Api) -> None:
    run = await running(there, V)
    await there.pod("a")
    kept = await there.pod("b")
    plan = await run.plan(Level.POD, lost=["a"])
    for step in plan.steps:
        await run.write(step)
    left = {one["metadata"]["name"]: one["metadata"]["uid"] for one in await run.pods()}
    assert "a" not in left
    assert left["b"] == kept["metadata"]["uid"]


async def test_child_jobs_go_with_their_pods_where_a_queue_owns_suspend(there: Api) -> None:
    run = await running(there, S, metadata={"labels": {QUEUE_LABEL: "team-a"}}, spec={"suspend": True})
    child = (await running(there, J, metadata={"name": "child"})).name
    job = await there.admin.get(kinds.JOB, child, there.namespace)
    await there.admin.patch(STORED[S], run.name, {"spec": {"suspend": False}}, there.namespace)
    plan = await run.plan(Level.JOB, jobs=[job])
    assert plan.verb is Verb.DELETE_JOBS
    (step,) = plan.steps
    await run.write(step)

    async def gone() -> bool:
        found = await there.admin.items(kinds.JOB, there.namespace)
        return reference(job) not in map(reference, found)

    await eventually(gone)
