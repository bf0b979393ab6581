"""Orders whose job is an object of a Kubernetes: made once, and told what became of it, under the object's own uid."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from keepstep.asking.namespaces import elsewhere
from keepstep.contracts.events import JobCreated, JobFailed
from keepstep.contracts.ids import EventId, Pool, consequence_id
from keepstep.contracts.kubernetes import KubernetesJob
from keepstep.contracts.model import Frozen
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import LARGEST_SPEC, JobRef, JobSpec


@dataclass(frozen=True, slots=True)
class Ground:
    """A cluster whose pods are made by job controllers, and the namespaces in which orders make jobs there."""

    namespaces: tuple[str, ...] = ()


class Making(Frozen):
    """What is to become an object, until it is said what became of it."""

    order: EventId
    by: str
    spec: JobSpec
    work: KubernetesJob


class MakeJob(Frozen):
    """Have the cluster make the job of an order, unless the object of this very order is there."""

    kind: Literal["make"] = "make"
    pool: Pool
    job: JobRef
    making: Making

    @property
    def id(self) -> str:
        """One per order: an order that is delivered again makes no second job."""
        return f"make/{self.job.uid}"

    def created(self, now: datetime, job: JobRef, kind: str) -> JobCreated:
        """Return what is said of the object; the same whoever finds it made."""
        order = self.making.order
        return JobCreated(
            id=consequence_id("JobCreated", order, subject=job.uid),
            time=now,
            pool=self.pool,
            job=job,
            cause=order,
            ordered=self.job,
            kind=kind,
            by=self.making.by,
        )

    def refused(self, now: datetime, because: str) -> JobFailed:
        """Return what is said where the job cannot be had as it was ordered."""
        order = self.making.order
        return JobFailed(
            id=consequence_id("JobFailed", order, subject="make"),
            time=now,
            pool=self.pool,
            job=self.job,
            cause=order,
            category=Category.USER_CONFIG,
            because=because,
        )


def misplaced(order: CreateJob, ground: Ground | None) -> str:
    """Return why the order is none for this cluster, with the remedy, or ""; ``ground``: None for nodes of its own."""
    work = order.kubernetes
    if ground is None:
        return "" if work is None else "kubernetes: this pool runs jobs on nodes of its own; leave image and kind out"
    if work is None:
        return "kubernetes: jobs of this pool are objects of a cluster; name an image, and the command to run in it"
    size = len(work.model_dump_json())
    if size > LARGEST_SPEC:
        return f"kubernetes has {size} bytes, at most {LARGEST_SPEC} are taken: shorten the command"
    return elsewhere(work.namespace, ground.namespaces)
