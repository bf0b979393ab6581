"""Who is turned away at the bus and why, and gates that run side by side and as processes."""

import asyncio
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nats
import pytest
from nats.errors import Error

from keepstep.contracts.ids import NodeName
from keepstep.runtime.rights import DEFAULT, inbox
from keepstep.runtime.rights_of_pods import CALLOUT, GATE, Caller
from tests.kube.server import kinds
from tests.kube.server.deletion import DeleteOptions
from tests.rights.gated import FOREIGN, NODE, NODES, Gated

LIMIT_S = 60.0
SAID = r"Auth callout service returned an error: (.*)"


def pod_user(pod: str) -> str:
    return Caller(DEFAULT, pod).user


async def refused(on: Gated, user: str, proof: str) -> str:
    """Return why a knock was turned away, as the server's log tells; fails where it was let in."""
    log = on.folder / "nats.log"
    before = len(log.read_text(encoding="utf-8"))
    with pytest.raises(Error, match="Authorization Violation"):
        await nats.connect(on.bus.address, user=user, password=proof, allow_reconnect=False, connect_timeout=10)
    async with asyncio.timeout(LIMIT_S):
        while not (told := re.findall(SAID, _since(log, before))):  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.02)  # the server answers before it writes its log
    return str(told[-1])


def _since(log: Path, before: int) -> str:
    return log.read_text(encoding="utf-8")[before:]


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


async def test_while_the_api_server_is_away_who_was_in_stays_in_and_nobody_else_gets_in(on: Gated) -> None:
    """Agents ask for their rights anew every few minutes: an API server that is upgraded would cut all of them off."""
    pod, other = on.pod("bert-0"), on.pod("bert-1")
    proof = on.token(pod)
    await (await on.knocks(pod, proof)).close()
    on.there.server.app.fail()
    await (await asyncio.wait_for(on.knocks(pod, proof), LIMIT_S)).close()
    assert "cannot be told now" in await refused(on, pod_user(pod["metadata"]["uid"]), on.token(pod))
    assert "cannot be told now" in await refused(on, pod_user(other["metadata"]["uid"]), on.token(other))
    on.there.server.app.recover()
    on.there.store.delete(kinds.POD, "bert-0", pod["metadata"]["namespace"], DeleteOptions(grace=0))
    assert "invalidated" in await refused(on, pod_user(pod["metadata"]["uid"]), proof)


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
