"""Makes the job objects that people order: looks for the order's own object first, so that one order is one job."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from keepstep.adapters.kube_about import about
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_create import create_all
from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import text
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_marks import ORDER
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid, group, reference
from keepstep.asking.refused import Refused
from keepstep.contracts.ids import JobUid
from keepstep.contracts.topology import JobRef
from keepstep.injection.creating import kind_for
from keepstep.injection.ordering import BY_ORDER, ordered
from keepstep.injection.ours import Ours, is_native
from keepstep.injection.put import put
from keepstep.ports.errors import Permanent
from keepstep.scheduler_adapter.core.making import Making

_NOTES = ("metadata", "annotations")


@dataclass(frozen=True)
class Made:
    """The object of an order."""

    job: JobRef
    kind: str
    """As people know it: ``PyTorchJob default/llama``."""


class Orders:
    """Makes objects on one cluster; ``ours`` is what of keepstep enters their pods."""

    def __init__(self, client: KubeClient, ours: Ours) -> None:
        self._client, self._ours = client, ours

    async def make(self, making: Making) -> Made:
        """Make the job of an order, or find it made.

        Raises Refused or Permanent with field and remedy where it cannot be had, Transient.
        """
        there = await about(self._client)
        found = await self._found(making, there.kinds)
        if found is not None:
            return found
        kind = kind_for(making.work.kind, there.kinds)
        job = ordered(making.spec, making.work, kind, replace(self._ours, native=is_native(there.version))).job
        await self._check_free(making, kind)
        await self._check_right(making, kind)
        marked = put(job, (*_NOTES, ORDER), making.order)
        why = f"{making.by} ordered the job"
        return _made(await create_all(self._client, [marked], namespace=making.work.namespace, why=why))

    async def _found(self, making: Making, there: Iterable[JobKind]) -> Made | None:
        """Return the order's own object, None where there is none, of whatever kind it may have been made."""
        for kind in BY_ORDER:
            if kind in there and making.work.kind in (kind, None):
                ref = await self._named(making, kind)
                if ref is not None and ref[1] == making.order:
                    return _made(ref[0])
        return None

    async def _check_free(self, making: Making, kind: JobKind) -> None:
        named = await self._named(making, kind)
        if named is not None:
            raise Permanent(f"name: there is a {named[0]} already; choose another name, or delete it")

    async def _check_right(self, making: Making, kind: JobKind) -> None:
        of, namespace = KINDS[kind].resource, making.work.namespace
        if not await self._client.may("create", group(of.api), of.plural, namespace=namespace):
            remedy = f"kubectl apply -n {namespace} -k k8s/orders grants it"
            raise Refused(f"namespace {namespace}: keepstep has no right to create a {of.kind} there; {remedy}")

    async def _named(self, making: Making, kind: JobKind) -> tuple[ObjectRef, str] | None:
        """Return the object of this kind that bears the job's name, and which order made it."""
        of = KINDS[kind].resource
        ref = ObjectRef(of.api, of.kind, making.work.namespace, making.spec.name, ObjectUid(""))
        try:
            source = await self._client.get(ref)
        except Missing:
            return None
        return reference(source), text(source, *_NOTES, ORDER)


def _made(ref: ObjectRef) -> Made:
    return Made(JobRef(name=ref.name, uid=JobUid(ref.uid)), str(ref))
