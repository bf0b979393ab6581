"""Who is let in and who is not, for how long, and what happens while the gate is away."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.errors import Error

from keepstep.adapters.kube_tokens import Bearer, NoBearer, bearer_of
from keepstep.agent.late_bus import LateBus
from keepstep.agent.proof import Proof
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.subjects import AGENT, kind_pattern
from keepstep.gate.core import Claim, Shown, objection
from keepstep.runtime.client import Client
from keepstep.runtime.connection import answers_strangers
from keepstep.runtime.rights import DEFAULT, inbox
from keepstep.runtime.rights_of_pods import CALLOUT, GATE, Caller
from tests.kube.server import kinds
from tests.kube.server.deletion import DeleteOptions
from tests.rights.gated import FOREIGN, NODE, NODES, Gated, gated

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SHOWN = Shown("pod-1", "team-a", "n1", NOW + timedelta(hours=1))
JOB, TASK = JobUid("job-1"), TaskUid("task-1")
LIMIT_S = 60.0


async def until(met: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not met():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("claim", "granted", "now", "why"),
    [
        (Claim("default", "pod-1"), True, NOW, ""),
        (Claim("default", "pod-2"), True, NOW, "the token is pod pod-1's, not pod pod-2's"),
        (Claim("default", "pod-1"), False, NOW, "kubectl apply -n team-a -k k8s/jobs"),
        (Claim("default", "pod-1"), True, SHOWN.until, "the token counted until"),
        (Claim("default", "pod-1", "n1"), True, NOW, ""),
        (Claim("default", "pod-1", "n2"), True, NOW, "the token says node n1, not n2"),
        (Claim("default", "pod-1", ""), True, NOW, "the token says node n1, not "),
        (Claim("default", "pod-1", "n1"), False, NOW, "does not let its pods report of nodes"),
    ],
)
def test_an_agent_is_let_in_by_its_own_token_in_time_where_its_namespace_may(
    claim: Claim, granted: bool, now: datetime, why: str
) -> None:
    said = objection(claim, SHOWN, granted=granted, now=now)
    assert why in said
    assert bool(said) == bool(why)


def test_a_token_that_names_no_node_is_no_node_s() -> None:
    said = objection(Claim("default", "pod-1", "n1"), replace(SHOWN, node=""), granted=True, now=NOW)
    assert "1.30 or newer" in said


GOOD: dict[str, Any] = {
    "authenticated": True,
    "audiences": ["keepstep-bus"],
    "user": {
        "username": "system:serviceaccount:team-a:trainer",
        "extra": {"authentication.kubernetes.io/pod-uid": ["pod-1"]},
    },
}
TOKEN = "e30.eyJleHAiOiAxNzk2MDAwMDAwfQ.x"  # noqa: S105 - it claims {"exp": 1796000000} and nobody signed it


def test_a_review_names_the_pod_the_account_and_the_time() -> None:
    found = bearer_of(GOOD, TOKEN)
    assert isinstance(found, Bearer)
    assert (found.account, found.pod, found.namespace) == ("team-a:trainer", "pod-1", "team-a")
    assert found.until == datetime.fromtimestamp(1796000000, UTC)


@pytest.mark.parametrize(
    ("change", "token", "why"),
    [
        ({"authenticated": False, "error": "expired"}, TOKEN, "expired"),
        ({"authenticated": "true"}, TOKEN, "no reason given"),
        ({"audiences": []}, TOKEN, "not made for keepstep-bus"),
        ({"user": {**GOOD["user"], "username": "kubernetes-admin"}}, TOKEN, "no ServiceAccount in a pod"),
        ({"user": {**GOOD["user"], "extra": {}}}, TOKEN, "no ServiceAccount in a pod"),
        ({"user": {}}, TOKEN, "nobody is no ServiceAccount"),
        ({}, "opaque", "how long it counts"),
        ({}, "e30.e30.x", "how long it counts"),
        ({}, "e30.eyJleHAiOiAiYSJ9.x", "how long it counts"),
    ],
)
def test_what_proves_no_pod_is_told(change: dict[str, Any], token: str, why: str) -> None:
    found = bearer_of({**GOOD, **change}, token)
    assert isinstance(found, NoBearer)
    assert why in found.because


def pod_user(pod: str) -> str:
    return Caller(DEFAULT, pod).user


async def refused(on: Gated, user: str, proof: str) -> str:
    """Return why a knock was turned away, as the server's log tells; fails where it was let in."""
    log = on.folder / "nats.log"
    before = len(log.read_text(encoding="utf-8"))
    with pytest.raises(Error, match="Authorization Violation"):
        await nats.connect(on.bus.address, user=user, password=proof, allow_reconnect=False, connect_timeout=10)
    told = re.findall(r"Auth callout service returned an error: (.*)", log.read_text(encoding="utf-8")[before:])
    return str(told[-1])


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Gated]:
    async with gated(tmp_path) as running:
        yield running


async def test_what_proves_nothing_is_turned_away(on: Gated) -> None:
    pod, foreign, gone = on.pod("bert-0"), on.pod("bert-0", FOREIGN), on.pod("gone-0")
    lost = on.token(gone)
    on.there.store.delete(kinds.POD, "gone-0", gone["metadata"]["namespace"], DeleteOptions(grace=0))
    user, other = (pod_user(one["metadata"]["uid"]) for one in (pod, foreign))
    account = on.there.server.app.access.token("team-a", "default")
    assert "does not take the token" in await refused(on, user, "")
    assert "does not take the token" in await refused(on, user, "x" * 4096)
    assert "does not take the token" in await refused(on, user, account)
    assert "does not take the token" in await refused(on, user, on.token(pod, audience="https://kubernetes"))
    assert "expired" in await refused(on, user, on.token(pod, seconds=-1))
    assert "invalidated" in await refused(on, pod_user(gone["metadata"]["uid"]), lost)
    assert "not pod" in await refused(on, user, on.token(foreign))
    assert f"namespace {FOREIGN} does not let its pods join" in await refused(on, other, on.token(foreign))
    assert "no pod of a pool" in await refused(on, user.replace("default", "blue"), on.token(pod))
    assert "no pod of a pool" in await refused(on, "detector", "guess")
    await (await on.knocks(pod, on.token(pod))).close()


async def test_a_node_s_agent_is_let_in_as_its_own_node_s_and_from_its_own_namespace(on: Gated) -> None:
    pod, other = on.pod("node-agent-1", NODES), on.pod("bert-0")
    uid, others = pod["metadata"]["uid"], other["metadata"]["uid"]
    mine = Caller(DEFAULT, uid, NodeName(NODE))
    agent = await on.enters(mine, lambda: on.token(pod))
    assert abs(await agent.time() - datetime.now(UTC)) < timedelta(minutes=1)
    await agent.close()
    assert "not n2" in await refused(on, Caller(DEFAULT, uid, NodeName("n2")).user, on.token(pod))
    assert "not pod" in await refused(on, mine.user, on.token(other))
    assert "report of nodes" in await refused(on, Caller(DEFAULT, others, NodeName(NODE)).user, on.token(other))
    assert "does not let its pods join" in await refused(on, pod_user(uid), on.token(pod))


async def test_a_pod_of_another_account_is_refused_where_the_namespace_names_one(on: Gated) -> None:
    binding = on.there.store.find(kinds.ROLE_BINDING, "keepstep-agents", "team-a")
    assert binding is not None
    on.there.store.delete(kinds.ROLE_BINDING, "keepstep-agents", "team-a")
    trainer = {"kind": "ServiceAccount", "name": "trainer", "namespace": "team-a"}
    body = {"metadata": {"name": "trainers"}, "roleRef": binding["roleRef"], "subjects": [trainer]}
    on.there.store.create(kinds.ROLE_BINDING, body, "team-a")
    pod = on.pod("bert-0")
    assert "does not let its pods" in await refused(on, pod_user(pod["metadata"]["uid"]), on.token(pod))


async def test_an_api_server_that_is_away_lets_nobody_in_and_is_asked_again(on: Gated) -> None:
    pod = on.pod("bert-0")
    on.there.server.app.fail()
    assert "cannot be told now" in await refused(on, pod_user(pod["metadata"]["uid"]), on.token(pod))
    knocking = asyncio.create_task(on.knocks(pod, on.token(pod)))
    on.there.server.app.recover()
    await (await asyncio.wait_for(knocking, LIMIT_S)).close()


async def test_questions_that_no_server_asked_are_left_out(on: Gated) -> None:
    """Nobody may publish there but the server; a garbled one, if there were one, would end nothing."""
    pod = on.pod("bert-0")
    gate = await nats.connect(on.bus.url(GATE).get_secret_value(), inbox_prefix=inbox(GATE))
    [serving] = on.gates
    for _ in range(3):
        with pytest.raises(Error):
            await gate.request(CALLOUT, b"e30.e30.x", timeout=0.3)
    assert not serving.done()
    await (await on.knocks(pod, on.token(pod))).close()
    await gate.close()


async def test_of_two_gates_each_knock_reaches_one_and_either_may_go(on: Gated) -> None:
    await on.open_gate()
    pod = on.pod("bert-0")
    clients = [await on.knocks(pod, on.token(pod)) for _ in range(6)]
    reviews = sum(call == ("authentication.k8s.io", "tokenreviews", "create") for call in asked(on))
    assert reviews == 1, "the double keeps what was allowed once"
    first = on.gates.pop(0)
    first.cancel()
    await asyncio.wait({first})
    clients.append(await on.knocks(pod, on.token(pod)))
    for client in clients:
        await client.close()


def asked(on: Gated) -> set[tuple[str, str, str]]:
    return on.there.server.app.access.allowed


def late(on: Gated, pod: dict[str, Any], path: Path) -> LateBus:
    """Return an agent's bus, with the token in a file that is looked at often."""
    proof = Proof(path, look_s=0.05)
    return LateBus(lambda: on.knocks(pod, proof), proof)


@asynccontextmanager
async def connected(bus: LateBus) -> AsyncIterator[None]:
    """Keep it connected for the block."""
    connecting = asyncio.create_task(bus.connect())
    try:
        await until(lambda: bus.connected)
        yield
    finally:
        connecting.cancel()
        await asyncio.wait({connecting})
        if bus._client is not None:
            await bus._client.close()


def client_of(bus: LateBus) -> Client:
    assert bus._client is not None
    return bus._client


async def speaks(client: Client, task: str = TASK) -> bool:
    """Return whether the words of a task are taken from this connection."""
    subject = kind_pattern(DEFAULT, "RankExited", speaker=AGENT, key=JOB, place=task)
    try:
        await client.js.publish(subject, b"{}", timeout=3)
    except (Error, TimeoutError):
        return False
    return True


async def test_an_agent_that_waits_for_its_task_gets_its_rights_before_it_is_told(on: Gated, tmp_path: Path) -> None:
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod), encoding="utf-8")
    bus = late(on, pod, path)
    async with connected(bus):
        assert not await speaks(client_of(bus))
        told = bus.bindings(pod["metadata"]["uid"])
        telling = asyncio.ensure_future(anext(told))
        await on.bind(pod, JOB, TASK)
        assert (await asyncio.wait_for(telling, LIMIT_S)).task.uid == TASK
        assert await speaks(client_of(bus))
        await on.bind(pod, JOB, "task-2")
        async with asyncio.timeout(LIMIT_S):
            while (await anext(told)).task.uid != "task-2":
                continue
        assert [await speaks(client_of(bus), task) for task in (TASK, "task-2")] == [False, True]
        await told.aclose()  # type: ignore[attr-defined]


async def test_a_token_that_is_renewed_takes_over_without_a_gap(on: Gated, tmp_path: Path) -> None:
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod), encoding="utf-8")
    await on.bind(pod, JOB, TASK)
    bus = late(on, pod, path)
    async with connected(bus):
        former, gaps = client_of(bus), 0

        def taken_over() -> bool:
            nonlocal gaps
            gaps += not bus.connected
            return client_of(bus) is not former

        path.write_text(on.token(pod), encoding="utf-8")
        await until(taken_over)
        assert gaps == 0
        await until(lambda: former.connection.is_closed)
        assert await speaks(client_of(bus))


async def test_a_token_that_runs_out_ends_the_connection_and_the_next_one_opens_it(on: Gated, tmp_path: Path) -> None:
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod, seconds=8), encoding="utf-8")
    await on.bind(pod, JOB, TASK)
    proof = Proof(path, look_s=3600)
    bus = LateBus(lambda: on.knocks(pod, proof), proof)
    async with connected(bus):
        former = client_of(bus)
        await until(former.link.closed.is_set)
        assert not bus.connected
        path.write_text(on.token(pod), encoding="utf-8")
        await until(lambda: bus.connected)
        assert await speaks(client_of(bus))


async def test_while_the_gate_is_away_who_is_in_goes_on_and_who_comes_waits(on: Gated, tmp_path: Path) -> None:
    pod, path = on.pod("bert-0"), tmp_path / "token"
    path.write_text(on.token(pod), encoding="utf-8")
    await on.bind(pod, JOB, TASK)
    bus = late(on, pod, path)
    async with connected(bus):
        former = client_of(bus)
        await on.close_gates()
        assert not await answers_strangers(on.bus.address)
        path.write_text(on.token(pod), encoding="utf-8")
        coming = asyncio.create_task(on.knocks(pod, on.token(pod)))
        await asyncio.sleep(9)  # longer than the bus waits for its gate
        assert await speaks(former)
        assert client_of(bus) is former
        assert not coming.done()
        await on.open_gate()
        assert await answers_strangers(on.bus.address)
        await (await asyncio.wait_for(coming, LIMIT_S)).close()
        await until(lambda: client_of(bus) is not former)
        assert await speaks(client_of(bus))


async def test_the_gate_runs_as_a_process_and_names_what_it_lacks(on: Gated) -> None:
    await on.close_gates()
    pod = on.pod("bert-0")
    told = {
        "KEEPSTEP_NATS_URL": on.bus.url(GATE).get_secret_value(),
        "KEEPSTEP_GATE_SEED": on.bus.key.seed if on.bus.key else "",
        "KEEPSTEP_CLUSTER": f"kubernetes:{on.there.server.kubeconfig(on.folder / 'process')}",
        "PYTHONPATH": ":".join(sys.path),
    }
    for missing, words in (
        ({"KEEPSTEP_GATE_SEED": "SUAX"}, "NATS key"),
        ({"KEEPSTEP_CLUSTER": ""}, "names no Kubernetes"),
        ({"KEEPSTEP_GATE_POOLS": "[1"}, '"pools"'),
        ({"KEEPSTEP_GATE_REMEMBERED_SECONDS": "-1"}, "KEEPSTEP_GATE_REMEMBERED_SECONDS"),
    ):
        lacking = await started(told | missing)
        _, said = await asyncio.wait_for(lacking.communicate(), LIMIT_S)
        assert (lacking.returncode, words in said.decode()) == (2, True), said.decode()
    gate = await started(told)
    await (await asyncio.wait_for(on.knocks(pod, on.token(pod)), LIMIT_S)).close()
    gate.terminate()
    _, said = await asyncio.wait_for(gate.communicate(), LIMIT_S)
    assert gate.returncode == 0, said.decode()
    assert '"event": "let in"' in said.decode()
    assert on.token(pod) not in said.decode()


async def started(told: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "keepstep.gate", env=told, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
