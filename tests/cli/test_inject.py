"""Faults go where they are aimed, only where they are obeyed, and say what was done."""

import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from keepstep.adapters.local_files import NodeFolder, NodeRecord
from keepstep.cli.errors import Failed, Refused
from keepstep.cli.inject import FULL_S, KINDS, Aim, inject
from keepstep.cli.places import StackAddress
from keepstep.contracts import events as e
from keepstep.contracts.ids import NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.topology import JobSpec, Script, TaskLaunch, TaskRef
from keepstep.diagnosis.rules import RULES
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.trainer import mark, progress
from tests.core.test_timeline import JOB

TASK = TaskRef(name="worker-0", uid=TaskUid("t0"), index=0)
PLACED = e.Placed(task=TASK, node=NodeName("n1"), ranks=(4, 5))
DESIGNED = ("kill", "stop", "exception", "slow", "log", "device", "node-lost", "pod-delete", "evict", "disk-full")


def address(folder: Path) -> StackAddress:
    return StackAddress(pid=1, url=SecretStr("nats://x"), pool=Pool("p"), folder=folder)


@pytest.fixture
def task_dir(tmp_path: Path) -> Path:
    node = NodeFolder(tmp_path / "cluster" / "nodes" / "n1")
    node.root.mkdir(parents=True)
    node.change(lambda _: NodeRecord(name=NodeName("n1")))
    env = {"KEEPSTEP_FAULTS": "1"}
    spec = JobSpec(name="train", entrypoint=Script(path="/train.py"), nproc=2, env=env)
    folder = node.prepare(TaskLaunch(pool=Pool("p"), job=JOB, task=TASK, spec=spec))
    node.keep(TaskStatus(JOB.uid, TASK, TaskPhase.RUNNING, node=NodeName("n1")))
    progress.Page.create(str(folder / "progress"), 2)
    return folder


async def hurt(kind: str, aim: Aim, folder: Path) -> tuple[str, list[Message]]:
    said: list[Message] = []

    async def say(message: Message) -> None:
        said.append(message)

    return await inject(kind, aim, address(folder), [PLACED], say), said


def test_every_kind_of_the_design_is_there() -> None:
    assert set(DESIGNED) <= set(KINDS)


async def test_a_full_disk_is_one_rank_s_and_lasts(tmp_path: Path, task_dir: Path) -> None:
    told, _ = await hurt("disk-full", Aim(rank=5), tmp_path)
    assert told == "disk-full of rank 5 on n1 (worker-0)"
    until = int((task_dir / (mark.FULL_DISK % "5")).read_text())
    assert FULL_S - 5 < (until - time.monotonic_ns()) / 1e9 <= FULL_S
    assert not (task_dir / (mark.FULL_DISK % "4")).exists()


async def test_slowness_is_ordered_through_the_rank_s_slot(tmp_path: Path, task_dir: Path) -> None:
    await hurt("slow", Aim(rank=5, seconds=0.5), tmp_path)
    page = progress.Page(str(task_dir / "progress"))
    assert list(page.words(1)[progress.INJECT : progress.INJECT_ARG + 1]) == [progress.INJECT_SLOW, 500]
    assert page.words(0)[progress.INJECT] == progress.INJECT_NOTHING


async def test_a_lost_device_is_reported_in_words_that_isolate(tmp_path: Path) -> None:
    told, said = await hurt("device", Aim(node="n1", device="3"), tmp_path)
    assert told == "device 3 of node n1 is reported lost"
    (report,) = said
    assert isinstance(report, e.DeviceReported)
    assert (report.node, report.device, report.active) == ("n1", "3", True)
    assert next(rule for rule in RULES if rule.pattern.search(f"{report.code} {report.text}")).isolate


@pytest.mark.parametrize(
    ("kind", "aim", "told"),
    [
        ("disk-full", Aim(rank=5), "obeyed only by a job that was started with --env KEEPSTEP_FAULTS=1"),
        ("kill", Aim(rank=9), "the job has no rank 9 now; it has 4, 5$"),
        ("kill", Aim(), "kill needs --rank"),
        ("device", Aim(), "device needs --node"),
        ("device", Aim(node="n2"), "--node n2: the job has no task there now; name one of n1$"),
        ("node-lost", Aim(node="n2"), "--node n2: the job has no task there now; name one of n1$"),
        ("evict", Aim(task="worker-7"), "the job has no task worker-7; it has worker-0"),
        ("melt", Aim(), "unknown fault melt"),
    ],
)
async def test_what_cannot_be_injected_is_refused(
    tmp_path: Path, task_dir: Path, kind: str, aim: Aim, told: str
) -> None:
    launch = TaskLaunch.read((task_dir / "task.json").read_bytes())
    spec = launch.spec.model_copy(update={"env": {}})
    (task_dir / "task.json").write_text(launch.model_copy(update={"spec": spec}).model_dump_json())
    with pytest.raises(Refused, match=told):
        await hurt(kind, aim, tmp_path)


async def test_a_node_on_which_nothing_of_the_job_runs_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spare died of an injection into a job that was not there, and nobody was told."""
    lost: list[NodeName] = []
    monkeypatch.setattr("keepstep.cli.inject.lose_node", lambda _cluster, node: lost.append(node))
    with pytest.raises(Refused, match="no task there"):
        await hurt("node-lost", Aim(node="n2"), tmp_path)
    assert lost == []


async def test_a_rank_that_does_not_run_cannot_be_killed(tmp_path: Path, task_dir: Path) -> None:
    with pytest.raises(Failed, match="rank 4 does not run yet"):
        await hurt("kill", Aim(rank=4), tmp_path)
