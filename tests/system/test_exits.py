"""Ranks that end by themselves or are killed, and commands that end: what becomes of the job."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Category, Level, Outcome
from tests.system.ended import Ended
from tests.system.job import ROOT, JobTest

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]

LOOP = str(ROOT / "examples" / "plain_loop.py")
NO_MARKS = str(ROOT / "examples" / "no_marks.py")
CHEAP = "[trainer]\nwarm_ranks = 0\n"
"""Where a restart's speed does not matter, spare interpreters only load the machine."""
NAN = '[[detection.log_patterns]]\nname = "nan"\nregex = "Loss nan"\ncategory = "data"\n'

StartJob = Callable[..., JobTest]
Losses = dict[int, float]


@pytest.mark.parametrize("rank", [3, 0])
def test_a_killed_rank_is_restarted_in_place(job: StartJob, undisturbed: Losses, rank: int) -> None:
    """Its peers say that they lost a connection; the one that was killed is the cause. Also where it is the master."""
    run = job(steps=60).kill(rank=rank, at_step=25)
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=rank)
    resume_step = ended.expect_newest_checkpoint()
    assert ended.only(e.JobResumed).lost_steps == (ended.said(e.FaultDiagnosed)[-1].verdict.step or 0) - resume_step
    assert exit_told(ended, rank).exit.signal == signal.SIGKILL
    assert len(ended.said(e.TaskJoined)) == 2, "its agent stayed"
    expect_accounts(ended)


def exit_told(ended: Ended, rank: int) -> e.ExitEvidence:
    """Return what the fault of this rank's end says of it."""
    told = [fault.evidence for fault in ended.said(e.FaultDetected) if isinstance(fault.evidence, e.ExitEvidence)]
    return next(evidence for evidence in told if evidence.rank == rank)


def expect_accounts(ended: Ended) -> None:
    """Every stage of the incident has its seconds, and they add up to what the clock showed from fault to step."""
    accounts, resumed = ended.only(e.IncidentClosed).accounts, ended.only(e.JobResumed)
    assert accounts is not None
    until_plan = (accounts.detect_s, accounts.decide_s, accounts.isolate_s)
    restart = (accounts.reschedule_s, accounts.init_s, accounts.load_s, accounts.first_step_s)
    assert all(part > 0 for part in (*until_plan, *restart, accounts.recompute_s)), accounts
    outage = (resumed.time - ended.said(e.FaultDiagnosed)[-1].occurred).total_seconds()
    assert sum((*until_plan, *restart)) == pytest.approx(outage, abs=0.05)
    assert accounts.wall_s == pytest.approx(outage + accounts.recompute_s, abs=0.05)


def test_an_exception_at_the_same_step_ends_the_job_with_its_last_line(job: StartJob) -> None:
    """One try rules out luck; the second time it is the code, and more tries would only hold the machines."""
    ended = job("--raise-at", "25", steps=60, policy=CHEAP).finish()
    assert ended.code == 1, ended.job.told()
    failed = ended.only(e.JobFailed)
    assert failed.category is Category.USER_CODE
    assert failed.last_line == "ValueError: bad sample in step 25"
    assert [event.outcome for event in ended.said(e.IncidentClosed)] == [Outcome.RESUMED, Outcome.FAILED]
    assert len(ended.said(e.IncidentOpened)) == 2
    for diagnosed in ended.said(e.FaultDiagnosed):
        assert diagnosed.verdict.category is Category.USER_CODE
        ended.expect_culprit(diagnosed, rank=1)
    ended.expect_generations(2)
    ended.expect_nothing_left()


def test_an_exception_that_happens_once_is_survived(job: StartJob, undisturbed: Losses, tmp_path: Path) -> None:
    """Bad luck and bad code look alike the first time."""
    run = job("--raise-at", "25", "--raise-once", str(tmp_path / "raised"), steps=60, policy=CHEAP)
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.USER_CODE, Level.IN_PLACE, rank=1)
    assert ended.said(e.FaultDiagnosed)[-1].verdict.signature == "ValueError: bad sample in step 25"
    told = exit_told(ended, 1)
    assert told.exit.code == 1
    assert told.last_lines[-1].endswith("ValueError: bad sample in step 25")
    accounts = ended.only(e.IncidentClosed).accounts
    assert accounts is not None
    assert accounts.detect_s < 10
    assert not ended.said(e.NodeIsolated)


def test_a_line_that_the_policy_names_is_a_fault(job: StartJob, undisturbed: Losses, tmp_path: Path) -> None:
    """The rank that prints ``Loss nan`` trains on; only its line says that something is wrong."""
    run = job("--nan-at", "25", "--nan-once", str(tmp_path / "nan"), steps=60, policy=CHEAP + NAN)
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.DATA, Level.IN_PLACE, rank=0)
    assert ended.said(e.FaultDiagnosed)[-1].verdict.rule == "nan"


def test_ranks_may_finish_at_different_times(job: StartJob, undisturbed: Losses) -> None:
    """The first exit 0 is no fault, and the last rank gets its time."""
    run = job("--finish-skew", "1.0", steps=20, policy=CHEAP)
    run.finish().expect_finished(steps=20, undisturbed=undisturbed).expect_undisturbed()


def test_two_faults_on_two_nodes_at_once_are_one_incident(job: StartJob, undisturbed: Losses) -> None:
    """Whichever was first is to blame; both ranks are restarted by the same restart."""
    run = job(steps=60, policy=CHEAP).until_step(25)
    slots = run.slots()
    for rank in (1, 2):
        os.kill(slots[rank].pid, signal.SIGKILL)
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed)
    culprit = ended.said(e.FaultDiagnosed)[-1].verdict.culprit
    assert culprit is not None
    assert culprit.rank in {1, 2}
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=culprit.rank)


def test_a_second_fault_during_recovery_is_a_second_attempt(job: StartJob, undisturbed: Losses) -> None:
    """A rank of the new generation that is killed before its first step belongs to the open incident."""
    run = job("--slow-first", "3", steps=40, save_every=5, policy=CHEAP).kill(rank=3, at_step=15)
    run.until_said(e.RanksStarted)
    os.kill(run.slots()[1].pid, signal.SIGKILL)
    ended = run.finish().expect_finished(steps=40, undisturbed=undisturbed)
    closed = ended.only(e.IncidentClosed)
    assert (closed.outcome, closed.attempts, closed.levels) == (Outcome.RESUMED, 2, (Level.IN_PLACE,)), closed
    assert closed.incident == ended.only(e.IncidentOpened).incident
    assert [event.attempt for event in ended.said(e.RecoveryStarted)] == [1, 2]
    ended.expect_culprit(ended.said(e.FaultDiagnosed)[-1], rank=1)
    ended.expect_generations(3)
    assert ended.only(e.JobResumed).attempt == 2


def test_all_tasks_failing_at_once_are_tried_twice(job: StartJob, tmp_path: Path) -> None:
    """A broken image or script fails the same way everywhere within seconds: two tries, then the end."""
    script = tmp_path / "broken.py"
    script.write_text("import sys\nsys.exit(7)\n")
    ended = job(str(script), policy=CHEAP).finish()
    assert ended.code == 7, ended.job.told()
    failed = ended.only(e.JobFailed)
    assert "3 times in a row" in failed.because
    closed = ended.only(e.IncidentClosed)
    assert (closed.outcome, closed.attempts) == (Outcome.FAILED, 3)
    assert len(ended.said(e.RecoveryStarted)) == 2
    ended.expect_nothing_left()


def test_a_script_that_does_not_exist_is_refused(job: StartJob, tmp_path: Path) -> None:
    """Before anything is started, in one line that names the file."""
    ended = job("absent.py").finish()
    assert ended.code == 2
    assert _complaint(ended) == f"keepstep: script absent.py is not there (looked for {tmp_path / 'absent.py'})"
    ended.expect_nothing_left()


def test_a_policy_with_an_unknown_field_is_refused(job: StartJob, tmp_path: Path) -> None:
    """The error names the field and the one that was probably meant."""
    ended = job(LOOP, policy="[detection]\nhang_limits = 5\n").finish()
    assert ended.code == 2
    complaint = _complaint(ended)
    where = tmp_path / "policy.toml"
    assert complaint.startswith(f"keepstep: policy {where}: line 2, detection.hang_limits: unknown field")
    assert complaint.endswith("did you mean hang_limit?")
    ended.expect_nothing_left()


def _complaint(ended: Ended) -> str:
    (line,) = ended.job.output.read_text().splitlines()
    return line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_job_and_leaves_nothing(job: StartJob, number: signal.Signals) -> None:
    """Ctrl-C, a polite kill and a closed terminal: the ranks are stopped and the stop is in the record."""
    run = job(LOOP, "--steps", "100000", policy=CHEAP).until_step(5, rank=3)
    run.command.send_signal(number)
    ended = run.finish(limit_s=30)
    assert ended.code == 128 + number, ended.job.told()
    assert ended.only(e.JobStopRequested)
    assert not ended.said(e.FaultDetected)
    ended.expect_nothing_left()


def test_nothing_outlives_a_command_that_is_killed(job: StartJob) -> None:
    """Services, server, nodes, agents, launchers and ranks all die with it."""
    run = job(LOOP, "--steps", "100000", policy=CHEAP).until_step(5, rank=3)
    assert len(run.pids()) > 10
    run.command.kill()
    ended = run.finish(limit_s=30)
    assert ended.code == -signal.SIGKILL
    ended.expect_nothing_left()


def test_a_loop_without_torch_is_recovered(job: StartJob, tmp_path: Path) -> None:
    """It says its steps itself and keeps its own checkpoints; nothing of PyTorch is needed."""
    script = (LOOP, "--steps", "80", "--checkpoint-dir", str(tmp_path / "checkpoints"))
    ended = job(*script).kill(rank=3, at_step=25).finish().expect_succeeded()
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=3)
    ended.expect_newest_checkpoint()
    total = sum(step * step for step in range(1, 81))
    assert f"total {total} after step 80" in run_output(ended)


def test_a_job_without_marks_is_recovered(job: StartJob) -> None:
    """Only its processes are known to live: it counts as resumed when all lived for the grace."""
    policy = CHEAP + "[recovery]\nresume_grace = 1.0\n"
    run = job(NO_MARKS, "--seconds", "4", policy=policy, checkpoints=False).until_said(e.JobStarted)
    os.kill(run.slots()[3].pid, signal.SIGKILL)
    ended = run.finish().expect_succeeded()
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=3)
    assert ended.only(e.RecoveryPlanned).resume_step is None


def test_a_shell_command_is_recovered_with_all_that_it_started(job: StartJob, tmp_path: Path) -> None:
    """The rank is a shell whose child trains: when the shell is killed, the child is gone before the next starts."""
    line = f"{sys.executable} {LOOP} --steps 80 --checkpoint-dir {tmp_path / 'checkpoints'}; exit $?"
    run = job("bash", "-c", line, policy=CHEAP).until_step(25, rank=3)
    shells = {pid for pid, command in run.pids().items() if command.startswith("bash -c")}
    assert len(shells) == 4, run.pids()
    shell = next(pid for pid in shells if b"\0RANK=3\0" in Path(f"/proc/{pid}/environ").read_bytes())
    children = {int(pid) for pid in subprocess.check_output(["pgrep", "-P", str(shell)]).split()}
    os.kill(shell, signal.SIGKILL)
    run.until_said(e.RanksStarted)
    assert not children & set(run.pids())
    ended = run.finish().expect_succeeded()
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=3)


def test_stopping_a_shell_command_reaches_its_children(job: StartJob) -> None:
    """A shell as the first process swallows SIGTERM; what it started is stopped all the same."""
    run = job("bash", "-c", f"{sys.executable} {LOOP} --steps 100000; exit $?", policy=CHEAP).until_step(5, rank=3)
    run.command.send_signal(signal.SIGINT)
    ended = run.finish(limit_s=30)
    assert ended.code == 130, ended.job.told()
    ended.expect_nothing_left()


def run_output(ended: Ended) -> str:
    """Return everything that ranks printed."""
    folder = ended.job.record_folder
    assert folder is not None
    return "".join(path.read_text() for path in folder.glob("cluster/nodes/*/tasks/*/logs/*/*.out"))
