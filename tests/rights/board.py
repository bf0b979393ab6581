"""What the bus of these tests holds: its buckets, a job and its task, and how far each has got."""

from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.runtime import names
from keepstep.runtime.rights import DEFAULT
from tests.rights.gated import Gated

PLANS, PODS, LEASES = (bucket(DEFAULT) for bucket in (names.plans_bucket, names.pods_bucket, names.leases_bucket))
JOB, TASK = JobUid("job-1"), TaskUid("task-1")


async def state(on: Gated) -> dict[str, int]:
    """Return the last sequence of each stream and bucket."""
    streams = [names.stream_name(DEFAULT), names.deadletter_stream(DEFAULT)]
    streams += [f"KV_{bucket}" for bucket in (PLANS, PODS, LEASES)]
    client = on.adapter
    return {name: (await client.js.stream_info(name)).state.last_seq for name in streams}
