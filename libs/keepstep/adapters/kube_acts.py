"""What a restart does to the pods and child objects of a job, each looked at before it is written."""

from collections.abc import Awaitable
from contextlib import suppress
from typing import assert_never

from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_job_object import JobObject
from keepstep.adapters.kube_json import text
from keepstep.adapters.kube_listing import listed
from keepstep.adapters.kube_marks import JOB_LABEL
from keepstep.adapters.kube_objects import ObjectRef, PodUid
from keepstep.adapters.kube_plan import Apply, Awaited, Delete, Evict, pod_ref
from keepstep.adapters.kube_pod import Pod, pod_of
from keepstep.adapters.kube_resources import PODS
from keepstep.adapters.kube_sight import Sight
from keepstep.contracts.ids import JobUid


class Acts:
    """Acts on one cluster, on everything but the job object itself, where the restart is noted."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight

    async def do(self, step: Apply | Delete | Evict) -> None:
        """Write one step, unless what it is for is so already."""
        client = self._sight.client
        match step:
            case Apply(target=target, body=body, why=why):
                await client.apply(target, body, why=why)
            case Delete(target=target, why=why, force=force, propagation=propagation):
                if force or self._stands(target):
                    await _absent_is_fine(client.delete(target, why=why, force=force, propagation=propagation))
            case Evict(target=target, why=why):
                if self._stands(target):
                    await _absent_is_fine(client.evict(target, why=why))
            case other:
                assert_never(other)

    async def emptied(self, top: JobObject, what: Awaited) -> bool:
        """Return whether no pod is waited for; the server is asked before anything relies on it."""
        pods = self._sight.pods(JobUid(top.uid))
        if what.blocked(pods):
            for pod in pods:
                if pod.over and pod.deleted is None and what is Awaited.NOT_ONE:
                    await self.do(Delete(pod_ref(pod), "it ended, and would fail the job when it is resumed"))
            return False
        return not what.blocked(await self.pods(top))

    async def pods(self, top: JobObject) -> list[Pod]:
        """Return the job's pods as the server has them."""
        ref = top.ref
        params = {"labelSelector": f"{JOB_LABEL}={ref.name}"}
        there = [pod_of(item) async for item in listed(self._sight.client, PODS, params, namespace=ref.namespace)]
        return [pod for pod in there if self._sight.families.may_be_of(ref.uid, pod)]

    def _stands(self, target: ObjectRef) -> bool:
        """Return whether a pod or child Job exists and nobody has deleted it yet."""
        if target.kind == "Pod":
            pod = self._sight.pod(PodUid(target.uid))
            return pod is not None and pod.deleted is None
        job = self._sight.job(JobUid(target.uid))
        return job is not None and not text(job.source, "metadata", "deletionTimestamp")


async def _absent_is_fine(writing: Awaitable[None]) -> None:
    with suppress(Missing):
        await writing
