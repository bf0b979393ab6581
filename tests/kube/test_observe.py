"""Whether a restart took: judged by what is there, a row for each way it can stand."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from keepstep.adapters import kube_kinds
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_objects import ObjectUid
from keepstep.adapters.kube_observe import CONFIRM, Hold, Progress, Seen, observed
from keepstep.adapters.kube_plan import RestartPlan
from keepstep.adapters.kube_pod import Pod, PodPhase, Said
from keepstep.adapters.kube_record import begun, read, written
from keepstep.adapters.kube_view import JobView
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Level
from tests.kube.jobs import READY, avoiding, gang, ground, plan, planned, uid, view
from tests.kube.own_rules import RESTART, policies

V, P, J = JobKind.VOLCANO, JobKind.PYTORCHJOB, JobKind.JOB
START = datetime(2026, 1, 1, tzinfo=UTC)
SOON, LATE = timedelta(seconds=2), timedelta(minutes=6)
AWAY = avoiding(ground(n1=replace(READY, unschedulable=True)), "n1")


def job() -> JobView:
    return view(J)


def restart(level: Level = Level.JOB) -> RestartPlan:
    return planned(plan(J, job(), level, on=AWAY))


def seen(made: RestartPlan, pods: Sequence[Pod], *, now: JobView | None = None, after: timedelta = SOON) -> Progress:
    return observed(made, now or job(), pods, since=START, now=START + after)


def anew(*places: int) -> list[Pod]:
    """Return the successors at these places of the gang, on other nodes and of a later round."""
    pods = gang(J, job())
    return [replace(pods[i], uid=uid(f"new-{i}"), node=NodeName("n0" if i == 1 else f"n{i}"), round=1) for i in places]


def test_a_restarted_job_is_done_when_all_pods_are_new_and_run() -> None:
    done = seen(restart(), anew(0, 1, 2, 3))
    assert (done.seen, done.hold) == (Seen.DONE, Hold.NOTHING)
    assert "4 of 4 pods run, 4 of them new" in done.because


def test_an_old_pod_that_still_runs_is_not_done() -> None:
    assert seen(restart(), [*anew(0, 1, 2), gang(J, job())[3]]).seen is Seen.WAITING


def test_an_old_pod_that_hangs_does_not_hold_up_what_runs_again() -> None:
    """Traces e2-restart-forcedelete of Job, JobSet and TrainJob: two pods of one index exist."""
    hanging = replace(gang(J, job())[1], deleted=START, grace=timedelta(seconds=30))
    assert seen(restart(), [*anew(0, 1, 2, 3), hanging]).seen is Seen.DONE


def test_two_new_pods_of_one_seat_count_once() -> None:
    twins = [replace(pod, seat="node-0-0") for pod in anew(0, 1)]
    assert seen(restart(), [*twins, *anew(2, 3)]).seen is Seen.WAITING


def test_a_pod_on_the_node_to_avoid_is_a_failure() -> None:
    strayed = replace(anew(1)[0], node=NodeName("n1"))
    failed = seen(restart(), [*anew(0, 2, 3), strayed])
    assert failed.seen is Seen.FAILED
    assert "came to n1, which was to be avoided" in failed.because


def test_a_replaced_pod_is_done_when_the_others_stayed() -> None:
    made = restart(Level.POD)
    others = [pod for pod in gang(J, job()) if pod.uid in made.expected.kept]
    assert seen(made, others).seen is Seen.WAITING
    assert seen(made, [*others, *anew(1)]).seen is Seen.DONE


def test_a_pod_level_that_took_more_than_the_lost_pod_failed() -> None:
    made = restart(Level.POD)
    failed = seen(made, anew(0, 1, 2, 3))
    assert failed.seen is Seen.FAILED
    assert "3 of 3 pods that were to stay went" in failed.because


def test_in_place_is_done_while_all_pods_live() -> None:
    made = planned(plan(J, job(), Level.IN_PLACE))
    assert seen(made, gang(J, job())).seen is Seen.DONE
    assert seen(made, gang(J, job())[:3]).seen is Seen.FAILED


def test_a_job_that_is_gone_or_made_anew_has_failed() -> None:
    made = restart()
    assert observed(made, None, [], since=START, now=START).seen is Seen.FAILED
    other = replace(job(), ref=replace(job().ref, uid=ObjectUid("other")))
    assert "made anew" in seen(made, anew(0, 1, 2, 3), now=other).because


@pytest.mark.parametrize(
    ("recorded", "is_seen"),
    [("job-failed", Seen.FAILED), ("job-suspended", Seen.WAITING), ("job-running", Seen.WAITING)],
)
def test_the_jobs_own_phase_counts(recorded: str, is_seen: Seen) -> None:
    now = view(J, recorded)
    now = replace(now, ref=job().ref)
    progress = seen(restart(), [], now=now)
    assert progress.seen is is_seen
    if is_seen is Seen.FAILED:
        assert "BackoffLimitExceeded" in progress.because
        assert progress.spent == 4


def test_a_job_that_succeeded_meanwhile_needs_no_restart() -> None:
    now = view(J, status={"conditions": [{"type": "Complete", "status": "True"}]})
    assert seen(restart(), [], now=now).seen is Seen.DONE


def waiting(pod: Pod) -> Pod:
    return replace(pod, phase=PodPhase.PENDING, node=None)


HOLDS = [
    (replace(waiting(anew(1)[0]), unscheduled=Said("Unschedulable", "3 Insufficient gpu")), Hold.UNSCHEDULABLE),
    (replace(waiting(anew(1)[0]), unscheduled=Said("Schedulable", "fits")), Hold.NOTHING),
    (replace(waiting(anew(1)[0]), waiting=Said("ErrImagePull", "404")), Hold.IMAGE),
    (replace(gang(J, job())[1], deleted=START), Hold.TERMINATING),
]


@pytest.mark.parametrize(("pod", "hold"), HOLDS, ids=[hold for _, hold in HOLDS])
def test_a_restart_says_what_it_waits_for_and_gives_up_at_its_limit(pod: Pod, hold: Hold) -> None:
    """Pods of a gang that would fit are marked Schedulable and do not block (volcano/h-restart-short-of-nodes)."""
    pods = [*anew(0, 2, 3), pod]
    held = seen(restart(), pods)
    assert (held.seen, held.hold) == (Seen.WAITING, hold)
    given_up = seen(restart(), pods, after=LATE)
    assert (given_up.seen, given_up.hold) == (Seen.FAILED, hold)
    assert "limit 300 s" in given_up.because


def command() -> tuple[RestartPlan, JobView, list[Pod]]:
    asked = view(V, spec=policies(RESTART))
    return planned(plan(V, asked, Level.JOB)), asked, gang(V, asked)


def test_a_command_that_left_no_trace_may_be_sent_again() -> None:
    """The controller deletes the Command before it acts: at most once."""
    made, asked, pods = command()
    assert seen(made, pods, now=asked, after=CONFIRM - SOON).seen is Seen.WAITING
    lost = seen(made, pods, now=asked, after=CONFIRM)
    assert lost.seen is Seen.UNTOUCHED
    assert "no trace" in lost.because


def test_a_lost_command_is_sent_again_though_a_pod_had_failed_before_it() -> None:
    """A pod that had ended, or that the plan took away itself, is no trace of the command."""
    asked = view(V, spec=policies())
    pods = gang(V, asked)
    pods[3] = replace(pods[3], phase=PodPhase.FAILED)
    made = planned(kube_kinds.restart_plan(asked, Level.JOB, pods=pods, lost=pods, ground=ground()))
    record = read(written(begun("order", "key", made, START)), asked.ref)
    assert record is not None
    assert seen(record.seen_with(pods), pods, now=asked, after=CONFIRM).seen is Seen.UNTOUCHED
    assert seen(record.seen_with(pods), pods[1:], now=asked, after=CONFIRM).seen is Seen.WAITING


@pytest.mark.parametrize("what", ["restarting", "counted", "pod gone"])
def test_a_command_that_left_a_trace_is_not_sent_again(what: str) -> None:
    made, asked, pods = command()
    now = asked
    if what == "restarting":
        now = view(V, "volcano-restarting", spec=policies(RESTART), metadata={"uid": asked.ref.uid})
        now = replace(now, ref=asked.ref, counter=0)
    if what == "counted":
        now = replace(asked, counter=1)
    if what == "pod gone":
        pods = pods[:3]
    assert seen(made, pods, now=now, after=CONFIRM).seen is Seen.WAITING


def test_pods_of_the_old_making_do_not_confirm_a_command() -> None:
    """Trace volcano/d-delete-all-pods-policy: some pods are made again at the old version and killed by the restart."""
    made, asked, pods = command()
    same = [replace(pod, uid=uid(f"x-{pod.uid}")) for pod in pods]
    assert seen(made, same, now=asked).seen is Seen.WAITING
    assert seen(made, [replace(pod, round=1) for pod in same], now=replace(asked, counter=1)) == Progress(
        Seen.DONE, "4 of 4 pods run, 4 of them new", spent=1
    )
