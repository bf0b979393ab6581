"""The jobs that a listing shows: how each ended, how far it got, and which one people mean."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from keepstep.cli.errors import Failed
from keepstep.cli.jobs import fold, left_behind, living, newest
from keepstep.cli.known import listen
from keepstep.cli.screen import PlainScreen
from keepstep.cli.watch import Watch
from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.telemetry import Exit, Heartbeat
from keepstep.contracts.topology import JobRef, JobSpec, Script
from keepstep.core.job_now import JobState
from keepstep.core.known_job import KnownJob
from tests.cli.test_view import beat, started
from tests.core.test_timeline import JOB, at, fields, story


def known(uid: str, *said: Message, name: str = "ddp") -> KnownJob:
    job = KnownJob(JobRef(name=name, uid=JobUid(uid)))
    for message in said:
        job.hear(message)
    return job


def stop_requested() -> e.JobStopRequested:
    return e.JobStopRequested.model_validate(fields("stop", 5, by="ann"))


def deleted() -> e.JobDeleted:
    return e.JobDeleted.model_validate(fields("deleted", 9))


def succeeded() -> e.JobSucceeded:
    return e.JobSucceeded.model_validate(fields("done", 8, step=40))


def failed() -> tuple[Message, ...]:
    exited = fields("x", 7, task="t0", rank=0, local_rank=0, pid=1, exit=Exit(code=7), ordered=False, at=at(7))
    return e.RankExited.model_validate(exited), e.JobFailed.model_validate(
        fields("f", 8, category=Category.USER_CODE, because="code 7")
    )


@pytest.mark.parametrize(
    ("said", "state", "code"),
    [
        ((started(), succeeded(), deleted()), "succeeded", 0),
        ((started(), *failed(), deleted()), "failed", 7),
        ((started(), stop_requested(), deleted()), "stopped", None),
        ((started(),), "running", None),
    ],
)
def test_a_job_keeps_the_state_in_which_it_ended(said: tuple[Message, ...], state: str, code: int | None) -> None:
    shown = known("u", *said).as_object(at(60))
    assert (shown["state"], shown["exit_code"]) == (state, code)
    assert (shown["ended"] is None) == (state == "running")


def test_the_step_of_a_job_that_ended_is_the_newest_that_was_told() -> None:
    job = known("u", started(), succeeded())
    assert job.as_object(at(60))["step"] == 40
    assert "step 40" in job.view.line()
    assert "step" not in known("u", started()).view.line()


def test_the_job_to_stop_is_the_one_that_has_not_ended() -> None:
    old, running, done = known("one", started(), succeeded()), known("two", started()), known("three", succeeded())
    assert living([old, running, done], "ddp", to="stop") is running
    assert living([old, running, known("four", started())], "two", to="stop") is running


def test_a_job_is_asked_for_by_name_as_the_one_that_lives_else_the_newest() -> None:
    running, done, last = known("one", started()), known("two", started(), succeeded()), known("three", succeeded())
    assert newest([running, done], "ddp") is running
    assert newest([done, last], "ddp") is last
    with pytest.raises(Failed, match="there is no job other"):
        newest([running], "other")


def test_what_nobody_ended_has_ended_with_its_keepstep() -> None:
    jobs = (known("one", started()), known("two", started(), stop_requested()), known("three", started(), succeeded()))
    assert [job.view.state.value for job in left_behind(jobs)] == ["abandoned", "stopped", "succeeded"]
    with pytest.raises(Failed, match="job ddp one has ended with its keepstep already; there is nothing to pause"):
        living(jobs[:1], "ddp", to="pause")


def test_an_abandoned_job_does_not_grow_older_after_its_last_word() -> None:
    """Its wall time went on with every look at it."""
    spec = JobSpec(name="ddp", entrypoint=Script(path="/t.py"))
    job = known("a", e.JobAccepted.model_validate(fields("accepted", 0, spec=spec)), started())
    left_behind([job])
    assert (job.view.state, job.ratio(at(60)).wall_s) == (JobState.ABANDONED, 1)


def test_as_much_of_a_uid_as_listings_show_names_a_job() -> None:
    running = known("0123456789abcdef", started())
    assert living([running], "0123456789ab", to="stop") is running


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        ((known("one", started(), succeeded()),), "job ddp one has succeeded already"),
        ((known("one", started()), known("two", started())), "2 jobs ddp have not ended; say the uid of one: one, two"),
        ((known("one", started(), name="x"),), "there is no job ddp"),
    ],
)
def test_what_cannot_be_stopped_is_refused(jobs: tuple[KnownJob, ...], told: str) -> None:
    with pytest.raises(Failed, match=told):
        living(jobs, "ddp", to="stop")


def test_a_pause_is_seen_until_both_job_and_pool_act_again() -> None:
    job = known("u", started(), e.ActionsPaused.model_validate(fields("p", 2, by="ann")))
    job.hear(e.JobHeld.model_validate(fields("h", 3)))
    job.hear(e.ActionsResumed.model_validate(fields("r", 4, by="ann")))
    assert job.view.line().startswith("running, paused")
    job.hear(e.JobFreed.model_validate(fields("f", 5)))
    assert job.view.line().startswith("running  ")
    assert job.as_object(at(60))["paused"] is False


def test_a_listing_waits_for_a_heartbeat_of_every_task_and_no_longer() -> None:
    async def hear(felt: Callable[[Heartbeat], None]) -> None:
        felt(beat(1, 7))
        felt(beat(1, 6, task="t1"))
        await asyncio.Event().wait()

    job = known(JOB.uid, started())
    client = SimpleNamespace(telemetry=SimpleNamespace(hear=hear))
    asyncio.run(asyncio.wait_for(listen(client, [job]), 1))  # type: ignore[arg-type]  # a stand-in that has what listen asks of a client
    assert (job.view.state, job.view.step) == (JobState.RUNNING, 6)
    assert job.since == at(1)


def test_a_run_that_was_stopped_is_summed_up_as_stopped() -> None:
    watch = Watch(JOB, PlainScreen(io.StringIO()), cluster=Path("c"), events=Path("e"), output=False)
    for message in (started(), stop_requested()):
        watch.hear(message)
    assert watch.summary(130).state == "stopped"


def test_a_drain_that_isolates_a_node_for_pool_and_job_is_told_once() -> None:
    out = io.StringIO()
    watch = Watch(JOB, PlainScreen(out), cluster=Path("c"), events=Path("e"), output=False)
    why = "asked for by alice: drain: new fan"
    for name, job in (("pool", None), ("job", JOB)):
        watch.hear(e.NodeIsolated.model_validate(fields(name, 1, node="n1", because=why, reason=why) | {"job": job}))
    assert out.getvalue().count(why) == 1
    watch.hear(
        e.NodeReleased.model_validate(fields("free", 2, node="n1", because="asked for by alice") | {"job": None})
    )
    watch.hear(e.NodeIsolated.model_validate(fields("again", 3, node="n1", because=why, reason=why) | {"job": None}))
    assert out.getvalue().count(why) == 2


def test_what_happens_is_told_in_lines_that_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """``keepstep events`` wrapped them beside their heads, the run itself into the first column."""
    monkeypatch.setattr("keepstep.cli.watch.terminal_width", lambda: 80)
    out = io.StringIO()
    watch = Watch(JOB, PlainScreen(out), cluster=Path("c"), events=Path("e"), output=False)
    for message in (started(), *story()):
        watch.hear(message)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    beside = lines[next(number for number, line in enumerate(lines) if "FaultDiagnosed" in line) + 1]
    assert beside.startswith(" " * 20)


async def test_an_order_that_became_an_object_of_a_cluster_is_that_one_job_and_no_second() -> None:
    ordered, made = JobRef(name="ddp", uid=JobUid("of-the-order")), JobRef(name="ddp", uid=JobUid("of-the-object"))
    spec = JobSpec(name="ddp", entrypoint=Script(path="/t.py"))

    async def told(*said: Message) -> AsyncIterator[Message]:
        for message in said:
            yield message

    order = CreateJob.model_validate(fields("order", 1, spec=spec) | {"job": ordered})
    (waits,) = await fold(told(order))
    assert (waits.ref, waits.view.state) == (ordered, JobState.SUBMITTED)
    created = e.JobCreated.model_validate(
        fields("made", 2, ordered=ordered, kind="Job train/ddp", by="eve") | {"job": made}
    )
    (job,) = await fold(told(order, created))
    assert living([job], "ddp", to="stop").ref == made
