"""Moves what is not keepstep's off a node: by the eviction API, which asks disruption budgets; never by deletion.

Tasks of keepstep's jobs are left to the scheduler-adapter, who knows what a vanished pod costs each kind of job.
"""

from datetime import timedelta

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_cordon import driven_out
from keepstep.adapters.kube_errors import Blocked, Missing, Refused
from keepstep.adapters.kube_json import JsonObject, table, text
from keepstep.adapters.kube_listing import listed
from keepstep.adapters.kube_marks import JOB_LABEL
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid, controller, reference
from keepstep.adapters.kube_resources import PODS
from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import Stay
from keepstep.ports.errors import Transient

_MIRROR = "kubernetes.io/config.mirror"
_ENDED = ("Succeeded", "Failed")


class KubeEvictions:
    """Port Evictions over an API server; one list of the node's pods per asking."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def evict(self, node: NodeName, *, why: str) -> tuple[Stay, ...]:
        """Ask for the eviction of each pod that may leave; return those that are still there."""
        there = listed(self._client, PODS, {"fieldSelector": f"spec.nodeName={node}"})
        return tuple([await self._asked(pod, why=why) async for pod in there if may_leave(pod)])

    async def drive_out(self, node: NodeName, *, why: str) -> None:
        """Put the NoExecute taint beside the other, if the node is still isolated by keepstep."""
        await self._client.edit(ObjectRef("v1", "Node", "", node, ObjectUid("")), driven_out, why=why)

    async def _asked(self, pod: JsonObject, *, why: str) -> Stay:
        """Evict unless it is under way; the pod is still there either way until its processes have ended."""
        name = f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"
        if text(pod, "metadata", "deletionTimestamp"):
            return Stay(name, "ends")
        try:
            await self._client.evict(reference({"apiVersion": "v1", "kind": "Pod", **pod}), why=why)
        except Missing:
            return Stay(name, "ended meanwhile")
        except (Blocked, Refused) as refused:
            again = refused.retry_after if isinstance(refused, Transient) else timedelta(0)
            return Stay(name, str(refused), again)
        return Stay(name, "ends")


def may_leave(pod: JsonObject) -> bool:
    """Return whether the pod is somebody's who is to move: not ended, not the node's own, not keepstep's."""
    if text(pod, "status", "phase") in _ENDED or _MIRROR in table(pod, "metadata", "annotations"):
        return False
    owner = controller(pod)
    return JOB_LABEL not in table(pod, "metadata", "labels") and (owner is None or owner.kind != "DaemonSet")
