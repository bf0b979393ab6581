"""What agents and the command line use: say, read, follow, plans, heartbeats."""

import asyncio
import subprocess
import sys

import pytest
from nats.js.api import DiscardPolicy

from keepstep.contracts.events import NodeReported
from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid, key_of, subject_token
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import PlanPhase
from keepstep.contracts.telemetry import Heartbeat
from keepstep.contracts.topology import JobRef, TaskRef
from keepstep.ports.errors import Transient
from keepstep.runtime.client import Client
from keepstep.runtime.names import deadletter_stream, plans_bucket, telemetry_subject
from keepstep.runtime.provision import DEAD_LETTER_BYTES
from keepstep.runtime.tail import Stored
from tests.runtime.stages import NOON, report, until

JOB = JobUid("job-1")


def head(generation: int, phase: PlanPhase = PlanPhase.RUN) -> PlanHead:
    return PlanHead(job=JOB, generation=generation, phase=phase, world_size=2)


def entry(task: str, generation: int) -> PlanEntry:
    return PlanEntry(job=JOB, task=TaskUid(task), node=NodeName("n1"), generation=generation, ranks=(0, 1))


def heartbeat(client: Client, sequence: int) -> Heartbeat:
    return Heartbeat(
        time=NOON,
        pool=client.pool,
        job=JobRef(name="j", uid=JOB),
        task=TaskRef(name="t", uid=TaskUid("t.1"), index=0),
        node=NodeName("n1"),
        generation=1,
        boot="b",
        sequence=sequence,
    )


async def test_saying_a_thing_twice_stores_it_once(client: Client, pool: Pool) -> None:
    for _ in range(2):
        await client.say(report(pool, "a"))
    assert [said.message async for said in client.read()] == [report(pool, "a")]


async def test_reading_an_empty_stream_ends(client: Client) -> None:
    assert [said async for said in client.read()] == []
    assert await client.last_sequence() == 0


async def test_reading_is_bounded_by_sequence_and_kind(client: Client, pool: Pool) -> None:
    for name in ("a", "b", "c", "d"):
        await client.say(report(pool, name))
    read = [said.message.id async for said in client.read(first=2, last=3) if said.message]
    assert read == ["b", "c"]
    assert [said async for said in client.read(kind="RankExited")] == []


async def test_the_latest_of_a_kind_about_a_key(client: Client, pool: Pool) -> None:
    assert await client.latest(NodeReported, "job-1") is None
    for name in ("a", "b"):
        await client.say(report(pool, name))
    await client.say(report(pool, "x", job="job-2"))
    assert await client.latest(NodeReported, "job-1") == report(pool, "b")


async def test_the_latest_is_found_also_under_the_former_subject(client: Client, pool: Pool) -> None:
    for name in ("a", "b"):
        former = f"keepstep.{subject_token(pool)}.NodeReported.job-1"
        await client.js.publish(former, report(pool, name).model_dump_json().encode())
        assert await client.latest(NodeReported, "job-1") == report(pool, name)
    await client.say(report(pool, "c"))
    assert await client.latest(NodeReported, "job-1") == report(pool, "c")


async def test_following_yields_the_old_and_then_the_new(client: Client, pool: Pool) -> None:
    seen: list[str] = []

    async def watch() -> None:
        async for said in client.follow():
            seen.append(said.message.id if said.message else "?")  # noqa: PERF401 - it never ends

    await client.say(report(pool, "a"))
    watching = asyncio.create_task(watch())
    await until(lambda: seen == ["a"])
    await client.say(report(pool, "b"))
    await client.js.publish(f"keepstep.{pool}.TeapotBoiled.x", b"{}")
    await until(lambda: seen == ["a", "b", "?"])
    watching.cancel()


async def test_who_follows_with_patience_lets_others_take_up_a_message_first(client: Client, pool: Pool) -> None:
    seen: list[tuple[str, float]] = []
    now = asyncio.get_running_loop().time

    async def watch(patience_s: float) -> None:
        async for said in client.follow(patience_s=patience_s):
            seen.append((said.message.id if said.message else "?", now()))  # noqa: PERF401 - it never ends

    await client.say(report(pool, "a"))
    watching = asyncio.create_task(watch(0.2))
    await until(lambda: len(seen) == 1)
    said_at = now()
    for name in ("b", "c"):
        await client.say(report(pool, name))
    await until(lambda: len(seen) == 3)
    watching.cancel()
    assert [name for name, _ in seen] == ["a", "b", "c"]
    assert seen[1][1] - said_at >= 0.2


async def test_a_message_is_buried_once_per_service(client: Client, pool: Pool) -> None:
    stored = Stored(7, NOON, f"keepstep.{pool}.X.y", {"ce-type": "keepstep.X.v1"}, b"body")
    for service in ("detector", "detector", "isolator"):
        await client.dead_letters.bury(service, stored, reason="because\nof that", incident=None)
    letters = await client.dead_letters.list()
    assert [(letter.service, letter.sequence, letter.reason) for letter in letters] == [
        ("detector", 7, "because of that"),
        ("isolator", 7, "because of that"),
    ]


async def test_dead_letters_have_a_bound_in_bytes_and_the_newest_stay(client: Client, pool: Pool) -> None:
    config = (await client.js.stream_info(deadletter_stream(pool))).config
    assert (config.max_bytes, config.discard) == (DEAD_LETTER_BYTES, DiscardPolicy.OLD)


async def test_a_plan_is_on_the_board_with_its_entries(client: Client) -> None:
    assert await client.plans.read(JOB) is None
    assert await client.plans.entry(JOB, TaskUid("t.1")) is None
    await client.plans.publish(head(1), [entry("t.1", 1), entry("t.2", 1)])
    assert await client.plans.read(JOB) == head(1)
    assert await client.plans.entry(JOB, TaskUid("t.2")) == entry("t.2", 1)
    await client.plans.remove(JOB)
    assert await client.plans.read(JOB) is None
    assert await client.plans.entry(JOB, TaskUid("t.2")) is None
    await client.plans.publish(head(1))
    assert await client.plans.read(JOB) == head(1)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (head(1), head(2, PlanPhase.STOP)),
        (head(2, PlanPhase.STOP), head(2, PlanPhase.RUN)),
        (head(2, PlanPhase.RUN), head(2, PlanPhase.END)),
    ],
)
async def test_an_older_plan_never_replaces_a_newer_one(client: Client, older: PlanHead, newer: PlanHead) -> None:
    await client.plans.publish(older)
    await client.plans.publish(newer)
    await client.plans.publish(older, [entry("t.1", older.generation)])
    assert await client.plans.read(JOB) == newer
    assert await client.plans.entry(JOB, TaskUid("t.1")) is None


async def test_a_plan_that_stands_on_the_board_is_written_again_only_where_that_is_asked_for(client: Client) -> None:
    plan = head(1)
    await client.plans.publish(plan, [entry("t.1", 1)])
    await client.plans.publish(plan, [entry("t.2", 1)])
    assert await client.plans.entry(JOB, TaskUid("t.2")) is None
    await client.plans.publish(plan, [entry("t.2", 1)], again=True)
    assert await client.plans.entry(JOB, TaskUid("t.2")) == entry("t.2", 1)


ANOTHERS = head(9, PlanPhase.END).model_copy(update={"job": JobUid("job-2")}).model_dump_json().encode()


@pytest.mark.parametrize("garbage", [b"{no json", b"\xff", b'{"job": 1, "phase": "dance"}', ANOTHERS])
async def test_a_garbled_plan_is_no_plan_and_gives_way_to_the_next(client: Client, garbage: bytes) -> None:
    """Every agent of the job ended over it, again and again, and no plan could be put out any more."""
    seen: list[PlanHead] = []

    async def watch() -> None:
        async for found in client.plans.watch(JOB):
            seen.append(found)  # noqa: PERF401 - it never ends

    bucket = f"$KV.{plans_bucket(client.pool)}.{JOB}"
    await client.plans.publish(head(1), [entry("t.1", 1)])
    watching = asyncio.create_task(watch())
    await until(lambda: seen == [head(1)])
    for key in (bucket, f"{bucket}.{subject_token('t.1')}"):
        await client.js.publish(key, garbage)
    assert await client.plans.read(JOB) is None
    with pytest.raises(Transient, match="cannot be read and is awaited anew"):
        await client.plans.entry(JOB, TaskUid("t.1"))
    await client.plans.publish(head(2), [entry("t.1", 2)])
    await until(lambda: seen == [head(1), head(2)])
    assert await client.plans.entry(JOB, TaskUid("t.1")) == entry("t.1", 2)
    watching.cancel()


async def test_heartbeats_reach_who_listens_and_garbled_ones_nobody(client: Client, pool: Pool) -> None:
    heard: list[Heartbeat] = []
    listening = asyncio.create_task(client.telemetry.hear(heard.append))
    sequence = 0

    async def arrived() -> bool:
        nonlocal sequence
        sequence += 1
        await client.connection.publish(telemetry_subject(pool, "x"), b"{")
        await client.telemetry.beat(heartbeat(client, sequence))
        return bool(heard)

    await until(arrived)
    assert heard[0] == heartbeat(client, heard[0].sequence)
    assert client.telemetry.garbled >= 1
    assert client.telemetry.connected
    listening.cancel()


async def test_a_heartbeat_under_the_subject_of_another_is_nobodys(client: Client, pool: Pool) -> None:
    """An agent may beat for its own task; by the body alone it kept a dead one of another job alive."""
    heard: list[Heartbeat] = []
    listening = asyncio.create_task(client.telemetry.hear(heard.append))
    own = heartbeat(client, 1)
    lies = (own, own.model_copy(update={"pool": Pool("elsewhere")}))

    async def judged() -> bool:
        for lie, task in zip(lies, ("t.2", "t.1"), strict=True):
            await client.connection.publish(telemetry_subject(pool, task), lie.model_dump_json().encode())
        return client.telemetry.garbled >= 2

    await until(judged)
    assert heard == []
    listening.cancel()


@pytest.mark.parametrize("key", ["job-1", "ip-10-0-0-1.ec2.internal", "a_b", "ü x", "_"])
def test_a_token_turns_back_into_its_key(key: str) -> None:
    assert key_of(subject_token(key)) == key


def test_the_client_needs_the_base_install_only() -> None:
    heavy = "faststream prometheus_client structlog pydantic_settings redis"
    check = f"import sys, keepstep.runtime.client; print([m for m in '{heavy}'.split() if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", check], text=True).strip() == "[]"
