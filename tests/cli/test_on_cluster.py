"""Nodes and jobs of a Kubernetes from a terminal: read from its API server, orders given over its bus."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.adapters.kube_cordon import cordoned
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import JOB_LABEL, TASK
from keepstep.cli.main import run
from keepstep.contracts.events import JobAccepted, JobStarted, JobSucceeded
from keepstep.contracts.ids import JobUid, NodeName, Pool
from keepstep.contracts.message import Message, Order
from keepstep.contracts.orders import DeleteJob, DrainNode, IsolateNode, ReleaseNode, StopJob
from keepstep.contracts.topology import JobRef
from keepstep.ports.cluster import CordonMark
from keepstep.runtime.client import Client
from tests.contracts.examples import example
from tests.injection.manifests import manifest
from tests.kube.cluster import Cluster, cluster
from tests.kube.objects import merged
from tests.kube.server import kinds

JOB = JobRef(name="bert", uid=JobUid("0123456789abcdef"))


class Terminal:
    """A shell in which the cluster and its bus are named."""

    def __init__(self, there: Cluster, client: Client, folder: Path) -> None:
        self.there, self.client, self.folder = there, client, folder
        self.cluster = f"kubernetes:{there.server.kubeconfig(folder / 'terminal')}"
        self.data = str(folder / "data")

    async def keepstep(self, *words: str) -> int:
        """Run a command and return its exit code."""
        return await asyncio.to_thread(run, [*words, "--cluster", self.cluster, "--data", self.data])

    async def orders(self) -> list[Message]:
        """Return what people asked for."""
        return [one.message async for one in self.client.read() if isinstance(one.message, Order)]


@pytest.fixture
async def terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nats_url: str, pool: Pool, client: Client
) -> AsyncIterator[Terminal]:
    monkeypatch.setenv("KEEPSTEP_NATS_URL", nats_url)
    monkeypatch.setenv("KEEPSTEP_POOL", pool)
    async with cluster(tmp_path) as there:
        for name in ("n1", "n2"):
            there.node(name)
        yield Terminal(there, client, tmp_path)


@pytest.mark.parametrize(
    "words",
    [["incident", "list"], ["events"], ["events", "--follow"], ["deadletter", "list"], ["pause"]],
)
def test_who_names_a_cluster_for_all_commands_is_told_how_its_bus_is_reached(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KEEPSTEP_CLUSTER", "kubernetes")
    monkeypatch.delenv("KEEPSTEP_NATS_URL", raising=False)
    assert run([*words, "--data", str(tmp_path)]) == 1
    assert "port-forward svc/nats 4222" in capsys.readouterr().err


async def runs(terminal: Terminal, node: str, job: JobRef = JOB) -> None:
    """Have the bus tell of a job with a task on a node."""
    pool = terminal.client.pool
    for kind in (JobAccepted, JobStarted):
        said = example(kind)
        placed = [one.model_copy(update={"node": NodeName(node)}) for one in getattr(said, "placement", ())]
        changes = {"pool": pool, "job": job, "id": f"{kind.__name__}-1", "placement": tuple(placed)}
        told = said.model_copy(update={name: value for name, value in changes.items() if hasattr(said, name)})
        assert isinstance(told, Message)
        await terminal.client.say(told)


async def test_nodes_are_listed_with_their_tasks_and_who_keeps_them_from_jobs(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    there = terminal.there
    for name, phase in (("a", "Running"), ("b", "Succeeded")):
        marks = {"name": name, "labels": {JOB_LABEL: "bert"}, "annotations": {TASK: f"task-{name}"}}
        spec = {"containers": [{"name": "main", "image": "i"}], "nodeName": "n1"}
        there.store.create(kinds.POD, {"metadata": marks, "spec": spec}, "default")
        there.store.patch(kinds.POD, name, {"status": {"phase": phase}}, "default", subresource="status")
    there.store.patch(kinds.NODE, "n2", {"spec": {"unschedulable": True}})
    assert await terminal.keepstep("node", "list", "--json") == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert (listed["n1"]["state"], listed["n1"]["tasks"]) == ("ready", ["task-a"])
    assert (listed["n2"]["state"], listed["n2"]["mark"]["reason"]) == ("isolated", "cordoned outside keepstep")
    assert await terminal.keepstep("node", "list") == 0
    assert "cordoned outside keepstep" in capsys.readouterr().out


async def test_more_nodes_than_a_page_holds_are_all_listed(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepstep.adapters.kube_listing.PAGE", 2)
    for index in range(3, 8):
        terminal.there.node(f"n{index}")
    assert await terminal.keepstep("node", "list", "--json") == 0
    assert sorted(one["name"] for one in json.loads(capsys.readouterr().out)) == [f"n{index}" for index in range(1, 8)]


async def test_a_node_is_isolated_released_and_drained_by_orders_over_the_bus(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    await runs(terminal, "n1")
    for words in (("isolate", "n1", "--reason", "fan"), ("release", "n1"), ("drain", "n1", "--reason", "disk")):
        assert await terminal.keepstep("node", *words) == 0
    given = await terminal.orders()
    assert [(type(one), one.node) for one in given] == [
        (IsolateNode, "n1"),
        (ReleaseNode, "n1"),
        (DrainNode, "n1"),
        (DrainNode, "n1"),
    ]
    assert [one.job for one in given] == [None, None, None, JOB]
    assert "job bert is asked to move its task off n1" in capsys.readouterr().out


async def test_a_node_that_is_not_there_is_refused_by_name_and_nothing_is_asked(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await terminal.keepstep("node", "isolate", "n9", "--reason", "fan") == 1
    assert "there is no node n9; there are n1, n2" in capsys.readouterr().err
    assert await terminal.orders() == []


async def test_a_job_is_listed_stopped_and_deleted_over_the_bus(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    await runs(terminal, "n1")
    assert await terminal.keepstep("job", "list", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["bert"]
    assert await terminal.keepstep("job", "stop", "bert", "--reason", "enough") == 0
    assert await terminal.keepstep("job", "delete", "bert") == 0
    assert [(type(one), one.job) for one in await terminal.orders()] == [(StopJob, JOB), (DeleteJob, JOB)]


def stored(terminal: Terminal, uid: str = "") -> JobRef:
    """Create the job's object and return the job, or one of that name with another uid."""
    labels = {"metadata": {"name": JOB.name, "labels": {JOB_LABEL: JOB.name}}}
    made = terminal.there.store.create(kinds.JOB, merged(manifest(JobKind.JOB), labels), "default")
    return JobRef(name=JOB.name, uid=JobUid(uid or made["metadata"]["uid"]))


def objects(terminal: Terminal) -> list[str]:
    return [one["metadata"]["name"] for one in terminal.there.store.list(kinds.JOB, "default")]


async def test_a_job_that_is_deleted_leaves_no_object(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    """It stayed, suspended, and kubectl had to be asked too."""
    job = stored(terminal)
    await runs(terminal, "n1", job)
    assert await terminal.keepstep("job", "delete", "bert") == 0
    assert "is deleted: Job default/bert" in capsys.readouterr().out
    assert [(type(one), one.job) for one in await terminal.orders()] == [(DeleteJob, job)]
    assert objects(terminal) == []


async def test_a_job_that_has_ended_is_deleted_without_an_order(terminal: Terminal) -> None:
    job = stored(terminal)
    await runs(terminal, "n1", job)
    ended = example(JobSucceeded).model_copy(update={"pool": terminal.client.pool, "job": job})
    assert isinstance(ended, Message)
    await terminal.client.say(ended)
    assert await terminal.keepstep("job", "delete", "bert") == 0
    assert (await terminal.orders(), objects(terminal)) == ([], [])


async def test_an_object_of_the_same_name_that_is_another_job_stays(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    await runs(terminal, "n1", stored(terminal, uid="of-before"))
    assert await terminal.keepstep("job", "delete", "bert") == 0
    assert "has no object any more" in capsys.readouterr().out
    assert objects(terminal) == ["bert"]


async def test_who_may_not_delete_the_object_is_told_that_it_stays(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    job = stored(terminal)
    await runs(terminal, "n1", job)
    access = terminal.there.server.app.access
    access.enforced = True
    own = terminal.there.server.kubeconfig(terminal.folder / "eve", access.token("default", "eve"))
    terminal.cluster = f"kubernetes:{own}"
    assert await terminal.keepstep("job", "delete", "bert") == 1
    told = capsys.readouterr().err
    assert "is asked to stop, and its object stays" in told
    assert "kubectl delete" in told
    assert ([type(one) for one in await terminal.orders()], objects(terminal)) == ([DeleteJob], ["bert"])


@pytest.mark.parametrize("words", [("node", "drain", "n1", "--reason=x"), ("job", "list"), ("job", "delete", "bert")])
async def test_without_a_bus_the_way_to_it_is_told(
    terminal: Terminal, words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEEPSTEP_NATS_URL")
    assert await terminal.keepstep(*words) == 1
    told = capsys.readouterr().err
    assert "kubectl -n keepstep port-forward svc/nats 4222" in told
    assert "KEEPSTEP_NATS_URL" in told


async def test_the_nodes_are_listed_without_a_bus_and_a_server_that_is_away_is_one_line(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEEPSTEP_NATS_URL")
    assert await terminal.keepstep("node", "list") == 0
    await terminal.there.server.down()
    assert await terminal.keepstep("node", "list") == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    await terminal.there.server.up()


async def test_what_is_no_cluster_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert await asyncio.to_thread(run, ["node", "list", "--cluster", "kubernets"]) == 1
    assert "--cluster kubernets: say kubernetes, or kubernetes:<kubeconfig>" in capsys.readouterr().err


async def test_a_mark_of_keepstep_s_is_listed_with_its_reason(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = CordonMark("keepstep", "2 Xid 79", datetime.now(UTC))
    node = terminal.there.store.get(kinds.NODE, "n1")
    terminal.there.store.patch(kinds.NODE, "n1", cordoned(node, mark))
    assert await terminal.keepstep("node", "list") == 0
    assert "keepstep: 2 Xid 79" in capsys.readouterr().out
