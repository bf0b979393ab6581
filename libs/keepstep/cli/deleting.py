"""``keepstep job delete`` on a Kubernetes: an order over the bus, then the job's object goes by the person's own right.

No service may delete jobs: whoever made one by ``keepstep job create`` or kubectl may, or knows who does.
"""

from contextlib import suppress
from pathlib import Path

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_errors import Missing, Refused
from keepstep.adapters.kube_objects import ObjectRef
from keepstep.adapters.kube_plan import Propagation
from keepstep.adapters.kube_subjects import Subjects
from keepstep.cli.errors import Failed
from keepstep.cli.injecting import reached
from keepstep.cli.jobs import newest
from keepstep.cli.known import ask, known_jobs
from keepstep.cli.say import order
from keepstep.contracts.orders import DeleteJob
from keepstep.contracts.topology import JobRef
from keepstep.runtime.settings import Settings


async def delete_job(data: Path, name: str, cluster: str) -> str:
    """Have the job stopped where it has not ended, delete its object, and return what was done. Raises Failed.

    The order comes first: what goes after it was asked for by a person, and is no loss.
    """
    job = newest(await known_jobs(data, name), name)
    if not job.ended:
        await ask(data, name, lambda pool, ref: order(DeleteJob, pool, job=ref), to="delete")
    gone = await _delete_object(job.ref, cluster)
    return f"job {job.ref.name} {job.ref.uid} " + ("has no object any more" if gone is None else f"is deleted: {gone}")


async def _delete_object(job: JobRef, cluster: str) -> ObjectRef | None:
    """Delete exactly the object that is this job, and return it; None where there is none."""
    async with reached(cluster) as client:
        try:
            found = await Subjects(client, SystemClock(), namespaces=Settings().namespaces).job(job)
            if found is None:
                return None
            with suppress(Missing):
                await client.delete(found, why="a person deletes the job", propagation=Propagation.BACKGROUND)
        except Refused as refused:
            remedy = "KEEPSTEP_NAMESPACES names those that you may look in; else ask whoever may for kubectl delete"
            raise Failed(f"job {job.name} is asked to stop, and its object stays: {refused}; {remedy}") from refused
    return found
