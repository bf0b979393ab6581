"""Who else is let in beside the agents of pods: systems outside, other pools, agents of nodes."""

from pathlib import Path

import nats

from keepstep.contracts.ids import NodeName, Pool
from keepstep.contracts.subjects import AGENT, kind_pattern
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.rights import DEFAULT, OUTSIDE, inbox, user_of
from keepstep.runtime.rights_of_pods import API, OF_NODES, Caller
from tests.rights.board import JOB, LEASES, PLANS, TASK, state
from tests.rights.gated import NODE, NODES, Gated, gated
from tests.rights.voice import Voice, words


async def test_a_system_outside_reports_faults_and_garbles_nothing(on: Gated) -> None:
    url = on.bus.url(OUTSIDE).get_secret_value()
    outside = await nats.connect(url, inbox_prefix=inbox(OUTSIDE))
    before = await state(on)
    subject = kind_pattern(DEFAULT, "PublicFaultReported", speaker=OUTSIDE, key="job-1")
    assert b'"seq":1' in (await outside.request(subject, b"{}")).data
    await outside.publish(subject, b"{}", reply=f"$KV.{LEASES}.{Service.DETECTOR}")
    await outside.flush()
    await outside.close()
    assert (await state(on))[f"KV_{LEASES}"] == before[f"KV_{LEASES}"]


async def test_two_pools_share_a_bus_and_nothing_else(tmp_path: Path) -> None:
    blue = Pool("blue")
    async with gated(tmp_path, DEFAULT, blue) as on:
        url = on.bus.url(user_of(Service.SCHEDULER_ADAPTER, blue)).get_secret_value()
        other = await Client.open(url, blue, name="blue")
        pod = on.pod("blue-0")
        await other.bindings.bind(pod["metadata"]["uid"], await on.bind(on.pod("x"), JOB, TASK))
        agent = await on.enters(Caller(blue, pod["metadata"]["uid"]), lambda: on.token(pod))
        assert (await anext(agent.bindings.watch(pod["metadata"]["uid"]))).task.uid == TASK
        foreign = min(words()[AGENT])
        voice = Voice()
        voice.connection = agent.connection
        agent.connection._error_cb = voice.failed
        assert await voice.tries(foreign) == [foreign]
        detector = await nats.connect(
            on.bus.url(user_of(Service.DETECTOR, blue)).get_secret_value(), error_cb=voice.failed
        )
        voice.connection = detector
        said = [kind_pattern(pool, "FaultDetected", speaker=Service.DETECTOR, key="j") for pool in (DEFAULT, blue)]
        assert await voice.tries(*said) == [said[0]]
        for client in (agent, other):
            await client.close()
        await detector.close()


async def test_a_node_s_agent_speaks_for_its_node_alone(on: Gated) -> None:
    pod = on.pod("node-agent-1", NODES)
    agent = await on.enters(Caller(DEFAULT, pod["metadata"]["uid"], NodeName(NODE)), lambda: on.token(pod))
    voice = Voice()
    voice.connection = agent.connection
    agent.connection._error_cb = voice.failed

    def said(key: str, place: str) -> set[str]:
        return {kind_pattern(DEFAULT, one.__name__, speaker=AGENT, key=key, place=place) for one in OF_NODES}

    assert await voice.tries(*said(NODE, NODE)) == []
    others = said("n2", NODE) | said(NODE, "n2") | said(JOB, NODE) | words(NODE, job=NODE)[AGENT] - said(NODE, NODE)
    others |= {f"{API}.DIRECT.GET.KV_{PLANS}.$KV.{PLANS}.{JOB}", names.telemetry_subject(DEFAULT, TASK)}
    assert await voice.tries(*others) == sorted(others)
    await agent.close()
