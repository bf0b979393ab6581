"""What the terminal shows of a run: state, step and speed, and text that a person can read."""

import io

import pytest

from keepstep.cli import show
from keepstep.cli.columns import shortened, table
from keepstep.cli.incidents import Incidents
from keepstep.cli.screen import PlainScreen
from keepstep.contracts import events as e
from keepstep.contracts.ids import NodeName, Pool, TaskUid
from keepstep.contracts.message import Message, messages
from keepstep.contracts.taxonomy import Category, Language, Level, Outcome
from keepstep.contracts.telemetry import Exit, Heartbeat, RankBeat
from keepstep.contracts.topology import TaskRef
from keepstep.core import history, timeline
from keepstep.core.ettr import Ratio
from keepstep.core.job_now import JobNow, JobState
from keepstep.core.sentences import sentence
from keepstep.core.words.labels import label
from tests.contracts.examples import example
from tests.core.test_history import told as told_history
from tests.core.test_timeline import JOB, at, diagnosed, fault, fields, opened, resumed, story, told


def acknowledged() -> e.IncidentAcknowledged:
    return e.IncidentAcknowledged.model_validate(fields("ack", 11, incident="i1", by="ann"))


def beat(generation: int, *steps: int | None, task: str = "t0") -> Heartbeat:
    return Heartbeat(
        time=at(1),
        pool=Pool("p"),
        job=JOB,
        task=TaskRef(name=task, uid=TaskUid(task), index=0),
        node=NodeName("n1"),
        generation=generation,
        boot="b",
        sequence=1,
        ranks=tuple(RankBeat(rank=rank, pid=1, step=step, step_s=0.5) for rank, step in enumerate(steps)),
    )


def started() -> e.JobStarted:
    placed = [{"task": {"name": f"t{i}", "uid": f"t{i}", "index": i}, "node": f"n{i}", "ranks": (i,)} for i in (0, 1)]
    return e.JobStarted.model_validate(fields("started", 1, generation=1, placement=placed))


def test_durations_that_cannot_be_make_no_rate() -> None:
    """The screen divided by the median of -1 and 1 and ended the run, ranks and all."""
    view = JobNow()
    view.hear(started())
    odd = beat(1, 4, 4)
    ranks = [rank.model_copy(update={"step_s": step_s}) for rank, step_s in zip(odd.ranks, (-1.0, 1.0), strict=True)]
    view.feel(odd.model_copy(update={"ranks": tuple(ranks)}))
    assert view.steps_per_s == 1.0
    assert "1.0 steps/s" in view.line()


def test_the_step_of_a_job_is_the_step_all_ranks_have_done() -> None:
    view = JobNow()
    view.hear(started())
    view.feel(beat(1, 7, 8))
    view.feel(beat(1, 6, None, task="t1"))
    assert (view.state, view.step, view.steps_per_s) == (JobState.RUNNING, 6, 2.0)
    assert "step 6" in view.line()


def test_a_heartbeat_of_the_generation_before_does_not_count() -> None:
    view = JobNow()
    view.hear(started())
    recovery = fields("r", 2, incident="i", attempt=1, level=Level.IN_PLACE, from_generation=1, to_generation=2)
    view.hear(e.RecoveryStarted.model_validate(recovery))
    view.feel(beat(1, 99))
    assert not view.ranks
    view.hear(resumed())
    view.feel(beat(2, 21))
    assert (view.state, view.generation, view.step) == (JobState.RUNNING, 2, 21)


def test_a_job_with_a_fault_is_not_told_to_make_steps_while_nothing_acts_on_it() -> None:
    """With actions paused a job of dead ranks was listed as running at 6 steps/s, the speed of their last beats."""
    view = JobNow()
    view.hear(started())
    view.feel(beat(1, 7, 8))
    assert "2.0 steps/s" in view.line()
    view.hear(diagnosed())
    assert view.state is JobState.RECOVERING
    assert "steps/s" not in view.line()
    assert diagnosed().verdict.because in view.line()


def test_a_job_whose_incident_ends_without_a_restart_runs_on() -> None:
    view = JobNow()
    view.hear(started())
    view.hear(diagnosed())
    cleared = fields("c", 12, incident="i1", outcome=Outcome.CLEARED, category=Category.UNKNOWN, because="it went on")
    view.hear(e.IncidentClosed.model_validate(cleared))
    assert view.state is JobState.RUNNING


@pytest.mark.parametrize("name", sorted(messages()))
def test_every_message_has_a_sentence_without_raw_objects(name: str) -> None:
    text = sentence(example(messages()[name]))  # type: ignore[arg-type]  # example returns a model, which here is a message
    assert text
    assert "<" not in text
    assert "object at" not in text


def test_a_timeline_tells_who_why_level_and_a_sum_that_adds_up() -> None:
    (incident,) = told(story()).incidents
    text = "\n".join(show.timeline_lines(incident))
    for part in ("rank 3", "node n2", "SIGKILL from outside", "in-place", "10 steps", "= 4.00 s", "+0.100 s"):
        assert part in text
    assert f"opened {at(10.1):%m-%d %H:%M:%S}" in text


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.JOB_GONE])
def test_a_job_that_ended_without_a_restart_counts_no_attempts_and_no_steps(outcome: Outcome) -> None:
    failed = fields(
        "closed", 11, incident="i1", outcome=outcome, category=Category.UNKNOWN, attempts=1, because="no retry"
    )
    closed = e.IncidentClosed.model_validate(failed)
    (incident,) = told([*story()[:3], closed]).incidents
    text = "\n".join(show.timeline_lines(incident))
    assert "attempt" not in text
    assert "level   none, nothing was restarted" in text
    assert "lost    not counted: the job did not resume" in text
    assert sentence(closed) == f"{outcome}: no retry"


def test_a_job_without_incidents_has_no_history_and_with_one_it_is_named_once() -> None:
    assert list(show.history_lines(history.History())) == []
    assert list(show.history_lines(told_history(*story()))) == [
        "  1 incident, first 01-01 00:00:10:",
        "    01-01 00:00:10  unknown, in-place, resumed: SIGKILL from outside",
    ]


def test_an_open_incident_can_be_shown() -> None:
    (incident,) = told(story()[:2]).incidents
    assert "open" in "\n".join(show.timeline_lines(incident))
    assert "undiagnosed" in show.incident_table([incident], waits=lambda _: None)
    assert timeline.Record().incidents == ()


def test_a_plain_screen_does_not_repeat_the_state_every_second() -> None:
    out = io.StringIO()
    screen = PlainScreen(out)
    for step in range(50):
        screen.status(f"step {step}")
    screen.say("done")
    assert out.getvalue() == "step 0\ndone\n"


def test_a_table_lines_its_columns_up() -> None:
    assert table(("a", "b"), [("long", "x"), ("s", "y")]) == "a     b\nlong  x\ns     y"


def test_a_listing_of_nothing_says_so_under_its_header() -> None:
    head, line = show.incident_table([], waits=lambda _: None).splitlines()
    assert (head.split()[0], line) == ("INCIDENT", "none")
    assert table(("NAME", "UID"), []) == "NAME  UID\nnone"


def test_an_open_incident_tells_at_the_terminal_what_it_waits_for_and_who_looks_after_it() -> None:
    known = Incidents(told([fault(), opened(), diagnosed(), acknowledged()]).timelines, {})
    (incident,) = known
    lines = "\n".join(show.timeline_lines(incident, waits=known.waits(incident)))
    assert (
        "waits for the isolator's answer and the choice of a checkpoint since 2026-01-01 00:00:10 UTC, limit 5 s"
        in lines
    )
    assert "looked after by ann" in lines
    *_, last = show.incident_table([incident], waits=known.waits).splitlines()
    assert last.startswith(f"{show.short(incident.incident)}  waits for the isolator's answer")
    listed = known.as_object(incident, whole=False)
    assert listed["waits"] is not None
    assert listed["acknowledged"] == "ann"
    assert "course" not in listed


def test_stages_are_called_alike_at_the_terminal_and_on_pages() -> None:
    (incident,) = told(story()).incidents
    lines = "\n".join(show.timeline_lines(incident))
    for stage in incident.stages:
        assert f"{label('stage', stage.name, Language.EN)} {stage.seconds:.2f}" in lines
    assert "first_step" not in lines


FLOOD = "x" * 100_000


@pytest.mark.parametrize("flood", [FLOOD, "字" * 100_000], ids=["latin", "wide"])
def test_what_a_rank_printed_floods_no_terminal_and_says_how_much_is_left_out(flood: str) -> None:
    """Of one line of 100 kB, without an end, the incident could not be read any more."""
    exited = fault().model_copy(
        update={"evidence": e.ExitEvidence(rank=3, exit=Exit(code=1), last_lines=(flood, "end")), "because": flood}
    )
    said = diagnosed()
    said = said.model_copy(update={"verdict": said.verdict.model_copy(update={"because": flood})})
    printed = e.LogMatched.model_validate(
        fields(
            "log", 10.2, incident="i1", rank=3, rule="gpu", line=flood, source="out", offset=0, category=Category.DATA
        )
    )
    failed = e.JobFailed.model_validate(
        fields("end", 11, incident="i1", category=Category.UNKNOWN, because="no retry", last_line=flood)
    )
    everything: list[Message] = [exited, opened(), said, printed, failed]
    record = told(everything)
    (incident,) = record.incidents
    lines = show.timeline_lines(incident)
    shown = [*lines, *show.history_lines(told_history(*everything)), *(show.event_line(one) for one in everything)]
    assert max(map(len, shown)) < 750
    assert len([line for line in lines if " more characters)" in line]) >= 4
    assert incident.last_lines == (flood, "end"), "all of it stays in what was said"


def test_what_is_left_out_of_a_text_is_counted_in_characters() -> None:
    assert shortened("x" * 12, 12) == "x" * 12
    assert shortened("x" * 13, 12) == f"{'x' * 11}… (2 more characters)"
    assert shortened("字" * 7, 12) == "字字字字字… (2 more characters)"


def test_what_no_step_tells_is_not_said_to_be_zero() -> None:
    """A loop that marks no step trained for an hour, was stopped, and read that none of it had been training."""
    unknown = Ratio(ettr=0.0, wall_s=3600.0, productive_s=0.0, startup_s=3600.0, lost_s=0.0, known=False)
    assert show.ratio_line(unknown).startswith("effective training time not known: no step was seen in 3600.0 s")
    assert "%" not in show.ratio_line(unknown)
