"""A pod's agent is held to its own task, whatever it tries; on a cluster's bus, let in by the gate."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import nats
import pytest
from nats.aio.msg import Msg

from keepstep.contracts.ids import JobUid, Pool
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.subjects import AGENT, PEOPLE, former_subject, kind_pattern
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names
from keepstep.runtime.rights import DEFAULT, inbox
from keepstep.runtime.rights_of_pods import API, CALLOUT, OF_NODES, Caller, cluster_rights, pod_inbox
from tests.agent.makers import entry, head
from tests.rights.board import JOB, LEASES, PLANS, PODS, TASK, state
from tests.rights.gated import Gated, patiently
from tests.rights.voice import EVERYTHING, Voice, words

Speaks = Callable[[dict[str, Any]], Awaitable[Voice]]


@pytest.fixture
async def pod(on: Gated) -> dict[str, Any]:
    """Return a pod that is bound to the task of the tests."""
    made = on.pod("bert-0")
    await on.bind(made, JOB, TASK)
    return made


@pytest.fixture
async def speaks(on: Gated) -> AsyncIterator[Speaks]:
    async with AsyncExitStack() as open_ones:

        async def speak(pod: dict[str, Any]) -> Voice:
            voice, uid = Voice(), pod["metadata"]["uid"]
            voice.connection = await nats.connect(
                on.bus.address,
                user=Caller(DEFAULT, uid).user,
                password=on.token(pod),
                error_cb=voice.failed,
                inbox_prefix=pod_inbox(uid),
            )
            open_ones.push_async_callback(voice.connection.close)
            return voice

        yield speak


OF_TASK = words()[AGENT] - {
    kind_pattern(DEFAULT, kind.__name__, speaker=AGENT, key=JOB, place=TASK) for kind in OF_NODES
}


async def test_an_agent_says_the_words_of_its_task_and_nobody_else_s(speaks: Speaks, pod: dict[str, Any]) -> None:
    voice = await speaks(pod)
    beats = [names.telemetry_subject(DEFAULT, task) for task in (TASK, "task-2", "*")]
    assert await voice.tries(*sorted(EVERYTHING)) == sorted(EVERYTHING - OF_TASK)
    for other in (words("task-2"), words(job="job-2"), words(pool=Pool("blue"))):
        assert await voice.tries(*other[AGENT]) == sorted(other[AGENT])
    assert await voice.tries(*beats[:2]) == [beats[1]]
    former = sorted({former_subject(subject) for subject in EVERYTHING})
    assert await voice.tries(*former) == former


async def test_an_agent_without_a_task_says_nothing(on: Gated, speaks: Speaks) -> None:
    voice = await speaks(on.pod("waits"))
    everything = [*sorted(EVERYTHING), names.telemetry_subject(DEFAULT, TASK)]
    assert await voice.tries(*everything) == sorted(everything)


async def test_an_agent_finds_its_task_and_plan_and_speaks_into_the_stream(on: Gated, pod: dict[str, Any]) -> None:
    agent = await on.knocks(pod, on.token(pod))
    await planned(on)
    assert (await anext(agent.bindings.watch(pod["metadata"]["uid"]))).task.uid == TASK
    plan: PlanHead = await anext(agent.plans.watch(JOB))
    mine: PlanEntry | None = await agent.plans.entry(JOB, TASK)
    assert (plan.generation, mine is not None and mine.generation) == (1, 1)
    [subject, *_] = sorted(OF_TASK)
    stored = await agent.js.publish(subject, b"{}")
    assert (stored.stream, stored.seq) == (names.stream_name(DEFAULT), 1)
    await agent.close()


async def test_an_agent_manages_nothing_and_sees_no_other_s_keys(speaks: Speaks, pod: dict[str, Any]) -> None:
    voice, stream = await speaks(pod), f"KV_{PLANS}"
    own = f"{API}.CONSUMER.CREATE.{stream}.reader.$KV.{PLANS}.{JOB}"
    asked = [
        f"CONSUMER.CREATE.{stream}",
        f"CONSUMER.CREATE.{stream}.reader",
        f"CONSUMER.CREATE.{stream}.reader.$KV.{PLANS}.job-2",
        f"CONSUMER.CREATE.{stream}.reader.$KV.{PLANS}.{JOB}.task-2",
        f"CONSUMER.DURABLE.CREATE.{stream}.reader",
        f"CONSUMER.DELETE.{stream}.reader",
        f"CONSUMER.LIST.{stream}",
        f"CONSUMER.MSG.NEXT.{stream}.reader",
        f"CONSUMER.CREATE.{names.stream_name(DEFAULT)}.reader.>",
        f"DIRECT.GET.{stream}",
        f"DIRECT.GET.{stream}.$KV.{PLANS}.job-2",
        f"DIRECT.GET.KV_{PODS}.$KV.{PODS}.another",
        f"DIRECT.GET.{names.stream_name(DEFAULT)}",
        f"STREAM.MSG.GET.{stream}",
        *(f"STREAM.{verb}.{stream}" for verb in ("INFO", "CREATE", "UPDATE", "DELETE", "PURGE", "SNAPSHOT")),
        "STREAM.LIST",
        "STREAM.NAMES",
        "INFO",
        "META.LEADER.STEPDOWN",
        "ACCOUNT.PURGE.keepstep",
    ]
    time = f"{API}.STREAM.INFO.{stream}"
    everywhere = [one for api in (API, "$JS.API") for each in asked if (one := f"{api}.{each}") != time]
    keys = [f"$KV.{bucket}.{key}" for bucket in (PLANS, PODS, LEASES) for key in (JOB, "detector")]
    server = [CALLOUT, "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$JS.ACK.x", "$JS.FC.x"]
    assert await voice.tries(own, *everywhere, *keys, *server) == sorted([*everywhere, *keys, *server])


async def test_an_agent_hears_nobody_but_its_own_answers(speaks: Speaks, pod: dict[str, Any]) -> None:
    voice = await speaks(pod)
    spied = [f"{inbox(other.user)}.>" for other in cluster_rights(DEFAULT)]
    spied += ["_INBOX.>", "_INBOX_pod.>", "_INBOX_pod.*.>", ">", CALLOUT, f"{pod_inbox('another')}.>"]
    spied += [names.stream_subjects(DEFAULT), names.telemetry_subject(DEFAULT, "*"), f"$KV.{PLANS}.>"]
    for subject in spied:
        await voice.connection.subscribe(subject)
    assert await voice.refusals(spied) == sorted(spied)


async def test_an_answer_of_the_bus_cannot_be_sent_out_of_the_agents_account(
    on: Gated, speaks: Speaks, pod: dict[str, Any]
) -> None:
    """The server asks nobody where its answer goes: in the bus's own account one agent took every lease by it."""
    voice = await speaks(pod)
    await planned(on)
    before = await state(on)
    asked = {
        min(OF_TASK): b"{}",
        f"{API}.DIRECT.GET.KV_{PLANS}.$KV.{PLANS}.{JOB}": b"",
        f"{API}.DIRECT.GET.KV_{PLANS}.$KV.{PLANS}.{JOB}.{TASK}": b"",
        f"{API}.CONSUMER.CREATE.KV_{PLANS}.reader.$KV.{PLANS}.{JOB}": b"garbled",
    }
    there = [
        f"$KV.{PLANS}.job-2",
        f"$KV.{PODS}.another",
        f"$KV.{LEASES}.{Service.DETECTOR}",
        kind_pattern(DEFAULT, "JobFailed", speaker=Service.SCHEDULER_ADAPTER, key="job-2"),
        kind_pattern(DEFAULT, "StopJob", speaker=PEOPLE, key="job-2"),
        names.deadletter_subject(DEFAULT, Service.DETECTOR),
    ]
    for subject, body in asked.items():
        for place in there:
            await voice.connection.publish(subject, body, reply=place)
    await voice.connection.flush()
    agent = await on.knocks(pod, on.token(pod))
    assert (await agent.js.publish(sorted(OF_TASK)[1], b"{}")).seq == len(there) + 1, "its own words alone"
    await agent.close()
    after = await state(on)
    assert after.pop(names.stream_name(DEFAULT)) == before.pop(names.stream_name(DEFAULT)) + len(there) + 1
    assert after == before


async def test_a_consumer_that_delivers_elsewhere_says_nothing_there(
    on: Gated, speaks: Speaks, pod: dict[str, Any]
) -> None:
    voice = await speaks(pod)
    await planned(on)
    before = await state(on)
    for number, place in enumerate((f"$KV.{LEASES}.detector", "keepstep.default.StopJob.j.people")):
        config = {"name": f"r{number}", "deliver_subject": place, "deliver_policy": "all", "ack_policy": "none"}
        config["filter_subject"] = f"$KV.{PLANS}.{JOB}"
        body = json.dumps({"stream_name": f"KV_{PLANS}", "config": config}).encode()
        made = await voice.connection.request(f"{API}.CONSUMER.CREATE.KV_{PLANS}.r{number}.$KV.{PLANS}.{JOB}", body)
        assert b'"error"' not in made.data, made.data
    assert await state(on) == before


async def test_a_reader_that_asks_for_more_than_its_request_names_gets_nothing(
    on: Gated, speaks: Speaks, pod: dict[str, Any]
) -> None:
    """The right is to a subject that names the key; what the body asks for has to be the same."""
    voice = await speaks(pod)
    await planned(on)
    await patiently(lambda: on.adapter.plans.publish(head(1).model_copy(update={"job": JobUid("job-2")}), []))
    heard: list[bytes] = []
    uid = pod["metadata"]["uid"]

    async def hear(message: Msg) -> None:
        heard.append(message.data)

    await voice.connection.subscribe(f"{pod_inbox(uid)}.heard", cb=hear)
    own = f"$KV.{PLANS}.{JOB}"
    wished: list[dict[str, Any]] = [
        {"filter_subject": f"$KV.{PLANS}.job-2"},
        {"filter_subject": f"$KV.{PLANS}.>"},
        {"filter_subject": own, "filter_subjects": [own, f"$KV.{PLANS}.job-2"]},
        {"filter_subjects": [f"$KV.{PLANS}.job-2"]},
        {"filter_subjects": [own, f"$KV.{PLANS}.job-2"]},
        {},
    ]
    for number, more in enumerate(wished):
        config = {"name": f"r{number}", "deliver_subject": f"{pod_inbox(uid)}.heard", "deliver_policy": "all"}
        body = json.dumps({"stream_name": f"KV_{PLANS}", "config": {**config, "ack_policy": "none", **more}}).encode()
        made = await voice.connection.request(f"{API}.CONSUMER.CREATE.KV_{PLANS}.r{number}.{own}", body)
        assert b'"error"' in made.data, (more, made.data)
    await voice.connection.flush()
    assert heard == []
    direct = await voice.connection.request(f"{API}.DIRECT.GET.KV_{PLANS}.{own}", b'{"last_by_subj":"$KV.x.job-2"}')
    assert b"job-2" not in direct.data


async def test_an_agent_joins_no_queue_of_the_bus(speaks: Speaks, pod: dict[str, Any]) -> None:
    """A member of a queue takes what was meant for another: the gate's knocks, a service's deliveries."""
    voice = await speaks(pod)
    queues = [CALLOUT, names.telemetry_subject(DEFAULT, "*"), "_INBOX_pod.>", f"_INBOX_pod.*.{TASK}", ">", "*.>"]
    for subject in queues:
        await voice.connection.subscribe(subject, queue="gate")
    assert await voice.refusals(queues) == sorted(queues)


async def planned(on: Gated) -> None:
    """Put a plan on the board."""
    mine = entry(1).model_copy(update={"job": JOB, "task": TASK})
    await patiently(lambda: on.adapter.plans.publish(head(1).model_copy(update={"job": JOB}), [mine]))
