"""Whom a fault hurts is asked only where it is not clear: by the one job that runs, or the one on the node named."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from keepstep.cli import history, main, places
from keepstep.cli.errors import Failed, Refused
from keepstep.cli.known import only_job
from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid, Pool
from keepstep.contracts.message import Message
from keepstep.contracts.topology import JobRef
from tests.core.test_timeline import fields


def runs(name: str, *nodes: str, ended: bool = False, uid: str = "") -> list[Message]:
    """What a stack said of a job with a task on each node."""
    job = JobRef(name=name, uid=JobUid(uid or f"uid-{name}"))
    placed = [
        {"task": {"name": f"worker-{at}", "uid": f"{name}-{at}", "index": at}, "node": node, "ranks": (at,)}
        for at, node in enumerate(nodes)
    ]
    started = e.JobStarted.model_validate(fields(f"{name} started", 1, generation=1, placement=placed) | {"job": job})
    over = e.JobSucceeded.model_validate(fields(f"{name} over", 2) | {"job": job})
    return [started, over] if ended else [started]


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, list[Message]]:
    """What each stack of this machine has said, by its folder's name."""
    told: dict[str, list[Message]] = {"up": []}

    def addresses(_data: Path, _job: str | None = None) -> tuple[places.StackAddress, ...]:
        return tuple(
            places.StackAddress(pid=1, url=SecretStr("nats://x"), pool=Pool("p"), folder=tmp_path / name)
            for name in told
        )

    async def said(source: history.Source) -> AsyncIterator[Message]:
        for message in told[source.folder.name]:
            yield message

    monkeypatch.setattr(places, "addresses", addresses)
    monkeypatch.setattr(history, "said", said)
    return told


async def test_the_one_job_that_runs_is_meant_wherever_it_runs(
    stacks: dict[str, list[Message]], tmp_path: Path
) -> None:
    stacks["up"] = runs("old", "n1", ended=True)
    stacks["private"] = runs("train", "n1", "n2")
    job, where = await only_job(tmp_path, None, to="hurt")
    assert (job.ref.name, where.folder.name) == ("train", "private")


async def test_of_several_jobs_the_one_on_the_node_is_meant(stacks: dict[str, list[Message]], tmp_path: Path) -> None:
    stacks["up"] = runs("a", "n1", "n2") + runs("b", "n3")
    job, _ = await only_job(tmp_path, "n3", to="hurt")
    assert job.ref.name == "b"


@pytest.mark.parametrize("node", [None, "n1"])
async def test_where_several_may_be_meant_the_option_and_the_jobs_are_named(
    stacks: dict[str, list[Message]], tmp_path: Path, node: str | None
) -> None:
    stacks["up"] = runs("a", "n1") + runs("b", "n1")
    with pytest.raises(Refused, match=r"--job is missing: 2 jobs run; .*: a uid-a, b uid-b"):
        await only_job(tmp_path, node, to="hurt")


async def test_a_node_of_no_job_and_no_job_at_all_are_told(stacks: dict[str, list[Message]], tmp_path: Path) -> None:
    stacks["up"] = runs("a", "n1") + runs("b", "n2", ended=True)
    with pytest.raises(Refused, match=r"--node n9: no job has a task there now; name one of n1$"):
        await only_job(tmp_path, "n9", to="hurt")
    stacks["up"] = runs("b", "n2", ended=True)
    with pytest.raises(Failed, match="no job runs; there is nothing to hurt"):
        await only_job(tmp_path, None, to="hurt")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([], "node-lost needs --node; the job has n1, n2"),
        (["--node", "n9"], "--node n9: no job has a task there now; name one of n1, n2"),
    ],
)
def test_the_command_asks_for_no_job_where_one_runs(
    stacks: dict[str, list[Message]], more: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """``fault inject node-lost --node n1`` under ``keepstep up`` was refused for want of --job."""
    stacks["up"] = runs("train", "n1", "n2")
    assert main.run(["fault", "inject", "node-lost", *more]) == 2
    assert told in capsys.readouterr().err
