"""What the console makes of the stream: bounded, the same whenever it is read again, joined across its parts."""

import itertools

from keepstep.console.board import Board, FaultFilter
from keepstep.console.views import FaultSource, RankState
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.core.course import Awaits
from tests.console.said import beat, began, exited, heard, now, saved, say, struck


def board(*said: Message) -> Board:
    return Board(heard(*said))


def test_a_job_shows_each_tolerance_event_with_first_last_and_count() -> None:
    waits = [say(e.JobWaiting, second, because="no node is free") for second in (20, 30, 40)]
    job = board(*began(), *struck("i1", 10), *waits).job("train", now())
    assert job is not None
    line = job.tolerance[-1]
    assert (line.reason, line.count, line.first, line.last) == ("JobWaiting", 3, now(20), now(40))
    assert "no node is free" in line.message
    reasons = [one.reason for one in job.tolerance]
    assert reasons[:3] == ["FaultDetected", "FaultDiagnosed", "RecoveryPlanned"]
    assert job.tolerance_total == len(reasons) + 2


def test_a_job_shows_its_newest_checkpoint_and_how_long_it_took_to_save() -> None:
    untold, told = saved(10, 20, save_s=None), saved(20, 30, save_s=4.5)
    for said, step, save_s in ((untold, 10, None), ([*untold, *told], 20, 4.5)):
        job = board(*began(), *said).job("train", now(40))
        assert job is not None
        assert job.checkpoint is not None
        assert (job.checkpoint.step, job.checkpoint.save_s, job.checkpoint.commit_s) == (step, save_s, 0.5)


def test_the_stages_of_an_incident_appear_and_add_up() -> None:
    shown = board(*began(), *struck("i1", 10)).incident("i1")
    assert shown is not None
    assert [stage.name for stage in shown.stages][:4] == ["detect", "decide", "isolate", "reschedule"]
    assert sum(stage.seconds for stage in shown.stages) == shown.wall_s == 4
    assert shown.accounts is not None


def test_an_incident_shows_verdict_evidence_cascade_and_decisions() -> None:
    shown = board(*began(), *struck("i1", 10, culprit=3, victims=(0, 1, 2))).incident("i1")
    assert shown is not None
    assert shown.verdict is not None
    assert shown.verdict.because == "rank 3 was killed from outside"
    assert [(one.subject, one.blamed) for one in shown.evidence] == [("rank 3", True)]
    (line,) = shown.cascade
    assert (line.count, line.subjects) == (3, ("rank 0", "rank 1", "rank 2"))
    assert [one.what for one in shown.decisions] == [
        "FaultDiagnosed",
        "RecoveryPlanned",
        "JobResumed",
        "IncidentClosed",
    ]
    assert all(one.sentence for one in shown.decisions)


def test_stacks_are_shown_once_with_the_ranks_that_have_them() -> None:
    stacks = [
        say(e.EvidenceCaptured, 11, mark=str(rank), incident="i1", rank=rank, what="stack", lines=lines)
        for rank, lines in ((0, ["wait"]), (1, ["wait"]), (3, ["read", "open"]))
    ]
    shown = board(*began(), *struck("i1", 10, end=False), *stacks).incident("i1")
    assert shown is not None
    assert [(one.ranks, one.frames) for one in shown.stacks] == [((3,), ("read", "open")), ((0, 1), ("wait",))]


def test_a_revised_verdict_replaces_that_of_its_attempt() -> None:
    story = struck("i1", 10, end=False)
    (diagnosed,) = [one for one in story if isinstance(one, e.FaultDiagnosed)]
    better = diagnosed.verdict.model_copy(update={"category": Category.STORAGE})
    revised = diagnosed.model_copy(update={"id": "again", "verdict": better, "revision": 1})
    shown = board(*began(), *story, revised).incident("i1")
    assert shown is not None
    assert [one.category for one in shown.attempt_verdicts] == [Category.STORAGE]


def test_statistics_count_causes_and_not_their_victims() -> None:
    found = board(*began(), *struck("i1", 10, victims=(0, 1, 2)), *struck("i2", 30)).statistics()
    assert (found.faults, found.incidents, found.detections) == (2, 2, 5)
    assert [(one.name, one.count) for one in found.by_outcome] == [(Outcome.RESUMED, 2)]
    assert [(one.name, one.count) for one in found.by_level] == [(Level.IN_PLACE, 2)]
    assert (found.figures.mttr_s, found.figures.mttd_s, found.figures.lost_steps) == (4, 0.1, 20)
    assert found.last_fault == now(30.1)
    (job,) = found.by_job
    assert (job.faults, job.incidents) == (2, 2)


def test_what_is_read_twice_counts_once() -> None:
    story = [*began(), *struck("i1", 10, victims=(0,))]
    once, twice = Board(heard(*story)), Board(heard(*story, *story))
    assert twice.statistics() == once.statistics()
    assert twice.job("train", now()) == once.job("train", now())
    assert twice.events() == once.events()


def test_faults_of_every_source_stand_in_one_list_with_the_ranks_that_they_hurt() -> None:
    said = [
        *began(),
        say(e.DeviceReported, 10, job=None, node="n2", device="0", code="79", text="fallen off the bus"),
        say(e.NodeReported, 11, job=None, node="n1", condition="DiskFull /", text="0 % left"),
        say(e.LinkReported, 12, job=None, node="n1", port="mlx5_0", up=False),
        exited(3, 13),
        say(e.PublicFaultReported, 14, job=None, node="n2", source="CCAE", code="120001002", text="CPU fault"),
    ]
    shown = board(*said).faults(FaultFilter(active=True))
    assert {one.source for one in shown.items} == set(FaultSource)
    hurt = {one.source: [(hit.job.name, hit.ranks) for hit in one.hurt] for one in shown.items}
    assert hurt[FaultSource.DEVICE] == [("train", (2, 3))]
    assert hurt[FaultSource.NODE] == hurt[FaultSource.NETWORK] == [("train", (0, 1))]
    assert hurt[FaultSource.PROCESS] == [("train", (3,))]
    assert hurt[FaultSource.PUBLIC] == [("train", (2, 3))]


def test_a_device_hurts_the_rank_that_was_given_it() -> None:
    devices = [{"id": "0"}, {"id": "1"}]
    joined = say(
        e.TaskJoined, 0.5, task="j-t1", ref={"name": "worker-1", "uid": "j-t1", "index": 1}, address="n2",
        port_offers=(), versions={"python": "3.11"}, warm_ready=0, devices=devices,
    )  # fmt: skip
    report = say(e.DeviceReported, 10, job=None, node="n2", device="1", code="79")
    (fault,) = board(joined, *began(), report).faults().items
    assert fault.hurt[0].ranks == (3,)


def test_a_report_its_relay_and_the_fault_made_of_it_are_one_fault_until_its_end() -> None:
    report = say(e.DeviceReported, 10, job=None, node="n2", device="0", code="79")
    evidence = e.DeviceEvidence(device="0", code="79")
    relayed = say(e.ReportPlaced, 10.1, node="n2", cause=report.id, evidence=evidence)
    fault = say(
        e.FaultDetected, 10.2, node="n2", cause=relayed.id, subject_name="device 0", occurred=now(10),
        evidence=evidence, because="Xid 79",
    )  # fmt: skip
    again = say(e.DeviceReported, 20, job=None, node="n2", device="0", code="79")
    over = say(e.DeviceReported, 30, job=None, node="n2", device="0", code="79", active=False)
    model = heard(*began(), report, relayed, fault, again)
    (shown,) = Board(model).faults().items
    assert (shown.count, shown.active, shown.first, shown.last) == (2, True, now(10), now(20))
    heard(over, model=model, first=100)
    (shown,) = Board(model).faults().items
    assert (shown.active, shown.ended) == (False, now(30))


def test_a_fault_of_a_process_ends_with_its_incident_and_one_of_hardware_with_its_report() -> None:
    report = say(e.DeviceReported, 9, job=None, node="n2", device="0", code="79")
    found = board(*began(), report, *struck("i1", 10)).faults()
    assert {one.source: one.active for one in found.items} == {FaultSource.DEVICE: True, FaultSource.PROCESS: False}


def test_a_node_shows_isolation_with_who_and_why_its_faults_and_whom_they_hurt() -> None:
    order = say(o.IsolateNode, 10, job=None, node="n2", reason="fan", by="ann")
    isolated = say(e.NodeIsolated, 10.1, job=None, node="n2", cause=order.id, reason="fan", because="ann: fan")
    report = say(e.DeviceReported, 11, job=None, node="n2", device="0", code="79")
    model = heard(*began(), order, isolated, report)
    node = Board(model).node("n2")
    assert node is not None
    assert (node.state, node.active_faults, node.tasks) == ("isolated", 1, 1)
    (isolation,) = node.isolations
    assert (isolation.by, isolation.reason) == ("ann", "fan")
    assert [(one.job.name, one.ranks) for one in node.hurt] == [("train", (2, 3))]
    assert [one.name for one in node.events] == ["NodeIsolated", "IsolateNode"]
    heard(say(e.NodeReleased, 20, job=None, node="n2", because="ann"), model=model, first=50)
    released = Board(model).node("n2")
    assert released is not None
    assert (released.state, released.isolations) == ("unknown", ())


def test_ranks_are_coloured_by_what_is_known_of_each() -> None:
    model = heard(*began(), exited(3, 10))
    ended = say(
        e.RankExited, 10, task="j-t1", generation=1, rank=3, local_rank=1, pid=1, exit={"signal": 9}, ordered=False,
        at=now(10),
    )  # fmt: skip
    heard(ended, model=model, first=50)
    model.feel(beat(task=0, step=12), now(99))
    job = Board(model).job("train", now(100))
    assert job is not None
    assert [(one.rank, one.state, one.step) for one in job.grid] == [
        (0, RankState.STEPPING, 12),
        (1, RankState.STEPPING, 12),
        (2, RankState.SILENT, None),
        (3, RankState.EXITED, None),
    ]
    later = Board(model).job("train", now(120))
    assert later is not None
    assert later.grid[0].state is RankState.SILENT


def test_steps_over_time_are_thinned_and_show_a_return_to_a_checkpoint() -> None:
    model = heard(*began())
    for second in range(5000):
        step = second if second < 4000 else second - 1000
        model.feel(beat(task=0, step=step), now(second + 10))
        model.tick(now(second + 10))
    job = Board(model).job("train", now(6000))
    assert job is not None
    steps = [point.step for point in job.points]
    assert 60 < len(steps) <= 240
    assert max(steps) >= 3990
    assert any(after < before for before, after in itertools.pairwise(steps))


def test_the_loss_that_a_script_tells_is_drawn_with_its_step() -> None:
    model = heard(*began())
    for second in range(3):
        model.feel(beat(step=10 + second, loss=2.0 - second), now(second + 10))
        model.tick(now(second + 10))
    job = Board(model).job("train", now())
    assert job is not None
    assert [(point.step, point.loss) for point in job.points][-3:] == [(10, 2.0), (11, 1.0), (12, 0.0)]


def test_a_secret_of_a_job_is_not_shown() -> None:
    job = board(*began()).job("train", now())
    assert job is not None
    assert job.spec is not None
    assert job.spec.env == {"TOKEN": "***"}


def test_an_open_incident_says_what_it_waits_for_by_the_policy_of_its_job() -> None:
    """An open one told neither what it waits for nor for how long: people asked whether it hangs."""
    said = [*began(), *struck("i1", 10, end=False)]
    shown = board(*said).incident("i1")
    assert shown is not None
    assert shown.waits is not None
    assert (shown.waits.what, shown.waits.since, shown.waits.limit_s) == (Awaits.ANSWERS, now(10.3), 5)
    (row,) = board(*said).overview(now(20)).newest
    assert row.waits == shown.waits
    (listed,) = board(*said).incidents().items
    assert listed.waits == shown.waits
    over = board(*said, say(e.JobFailed, 30, category=Category.DATA, because="b")).incident("i1")
    assert over is not None
    assert over.waits is None
