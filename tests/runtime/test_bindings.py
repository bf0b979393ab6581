"""Which task each pod is: written by one service, read by the agent of that pod."""

import asyncio

from keepstep.contracts.ids import JobUid, Pool, TaskUid
from keepstep.contracts.topology import JobRef, JobSpec, Script, TaskLaunch, TaskRef
from keepstep.runtime.client import Client
from keepstep.runtime.names import pods_bucket
from tests.runtime.stages import until

POD = "0b7c2d5e-1c1f-4f4e-9d6a-2b1a9b3c4d5e"


def launch(pool: Pool, uid: str) -> TaskLaunch:
    return TaskLaunch(
        pool=pool,
        job=JobRef(name="bert", uid=JobUid("job-1")),
        task=TaskRef(name="worker-1", uid=TaskUid(uid), index=1),
        spec=JobSpec(name="bert", entrypoint=Script(path="train.py")),
    )


async def test_a_pod_has_no_task_before_it_is_bound_and_none_after_it_is_gone(client: Client, pool: Pool) -> None:
    assert await client.bindings.bound(POD) is None
    assert await client.bindings.pods() == frozenset()
    await client.bindings.bind(POD, launch(pool, "t.1"))
    assert await client.bindings.bound(POD) == launch(pool, "t.1")
    assert await client.bindings.pods() == {POD}
    for _ in range(2):
        await client.bindings.unbind(POD)
    assert await client.bindings.bound(POD) is None
    assert await client.bindings.pods() == frozenset()


async def test_an_agent_that_waits_hears_of_its_pod_alone_and_of_each_new_task(client: Client, pool: Pool) -> None:
    seen: list[TaskUid] = []

    async def watch() -> None:
        async for found in client.bindings.watch(POD):
            seen.append(found.task.uid)  # noqa: PERF401 - it never ends

    watching = asyncio.create_task(watch())
    await client.bindings.bind("another-pod", launch(pool, "other"))
    await client.bindings.bind(POD, launch(pool, "t.1"))
    await until(lambda: seen == ["t.1"])
    await client.bindings.bind(POD, launch(pool, "t.2"))
    await until(lambda: seen == ["t.1", "t.2"])
    watching.cancel()


async def test_a_garbled_binding_is_no_task_and_gives_way_to_the_next(client: Client, pool: Pool) -> None:
    await client.js.publish(f"$KV.{pods_bucket(pool)}.{POD}", b'{"task": 3}')
    assert await client.bindings.bound(POD) is None
    await client.bindings.bind(POD, launch(pool, "t.1"))
    assert await client.bindings.bound(POD) == launch(pool, "t.1")
