"""Checkpoints that the framework wrote, whole and broken ones: where a restarted or new run begins."""

import json
import os
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Category, Level, Outcome
from tests.system.ended import Ended
from tests.system.job import ROOT, JobTest

pytestmark = [pytest.mark.system, pytest.mark.slow]

Start = Callable[..., JobTest]
Losses = dict[int, float]

COLD = "[trainer]\nwarm_ranks = 0\n"
"""Spares would be made for a restart that these tests do not time."""


def committed(run: JobTest, step: int) -> JobTest:
    """Wait until the step can be resumed from."""
    return run.until(lambda: step in {each.step for each in run.said(e.CheckpointCommitted)}, f"step {step} committed")


DEAF = f"""
import os, runpy, sys

for name in ("KEEPSTEP_RESUME_STEP", "KEEPSTEP_RESUME_PATH"):
    os.environ.pop(name, None)
sys.path.insert(0, {str(ROOT / "examples")!r})
runpy.run_path({str(ROOT / "examples" / "train_ddp.py")!r}, run_name="__main__")
"""
"""The example training as a script that does not listen to the environment."""


def saving(run: JobTest, step: int) -> JobTest:
    """Wait until rank 0 is in the middle of saving the step, with a part of the file on disk."""

    def half_written() -> bool:
        slot = run.slots().get(0)
        if slot is None or (slot.phase, slot.step) != ("checkpoint", step):
            return False
        return any(path.stat().st_size > 0 for path in run.checkpoints.glob(f"step-{step}.pt*"))

    return run.until(half_written, f"the save of step {step}")


def damage(path: Path) -> None:
    """Turn some bytes of the pickled part over, as a bad disk does: name, size, time and directory stay right."""
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        pickled = archive.read(name)
    whole, status = path.read_bytes(), path.stat()
    at = whole.index(pickled)
    path.write_bytes(whole[:at] + bytes(255 - byte for byte in pickled[:64]) + whole[at + 64 :])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def begins(ended: Ended) -> list[int]:
    """Return the first step of each generation that made any, over all runs of the folder, as the script wrote them."""
    lines = (ended.job.folder / "losses.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [0, *(json.loads(line)["step"] for line in lines)]
    return [step for before, step in pairwise(steps) if step != before + 1 or before == 0]


@pytest.mark.parametrize("how", [(), ("--save-in-place",)], ids=["under-a-draft-name", "under-its-final-name"])
@pytest.mark.parametrize("rank", [0, 3])
def test_a_checkpoint_that_was_being_written_is_never_used(
    job: Start, undisturbed: Losses, how: tuple[str, ...], rank: int
) -> None:
    run = saving(job("--slow-save", "2", *how, steps=35, policy=COLD), 20)
    ended = run.kill(rank=rank, at_step=0).finish().expect_finished(steps=35, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=rank)
    assert begins(ended) == [1, 11]
    resumed = ended.only(e.JobResumed).time
    assert {saved.step for saved in ended.said(e.CheckpointSaved) if saved.time < resumed} == {10}


def test_a_truncated_file_under_its_final_name_is_not_used(job: Start, undisturbed: Losses) -> None:
    run = committed(job(steps=45, pace=0.1, save_every=20, policy=COLD), 20)
    newest = run.checkpoints / "step-20.pt"
    os.truncate(newest, newest.stat().st_size // 2)
    ended = run.kill(rank=1, at_step=21).finish().expect_finished(steps=45, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=1)
    assert begins(ended) == [1, 1]
    assert "20" in ended.only(e.CheckpointChosen).because


def test_checkpoints_that_do_not_load_are_passed_over_at_no_cost(job: Start, undisturbed: Losses) -> None:
    policy = COLD + "[recovery]\nunknown = {count = 1, then = 'fail'}\nrestart_limit = 1\n"
    run = committed(job(steps=45, pace=0.1, save_every=10, policy=policy), 30)
    damage(run.checkpoints / "step-30.pt")
    damage(run.checkpoints / "step-20.pt")
    ended = run.kill(rank=3, at_step=31).finish().expect_finished(steps=45, undisturbed=undisturbed)
    verdicts = [diagnosed.verdict for diagnosed in ended.said(e.FaultDiagnosed)]
    assert [verdict.bad_checkpoint for verdict in verdicts] == [None, 30, 20]
    assert {verdict.category for verdict in verdicts[1:]} == {Category.STORAGE}
    closed = ended.only(e.IncidentClosed)
    assert (closed.outcome, closed.category, set(closed.levels)) == (
        Outcome.RESUMED,
        Category.STORAGE,
        {Level.IN_PLACE},
    )
    assert begins(ended) == [1, 11]
    ended.expect_generations(4)


def test_with_all_checkpoints_gone_the_work_begins_anew(job: Start, undisturbed: Losses) -> None:
    run = committed(job(steps=45, pace=0.1, save_every=20, policy=COLD), 20)
    for path in run.checkpoints.iterdir():
        path.unlink()
    ended = run.kill(rank=2, at_step=21).finish().expect_finished(steps=45, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=2)
    assert begins(ended) == [1, 1]
    lost = ended.only(e.JobResumed).lost_steps
    assert lost is not None
    assert lost >= 21


def test_a_script_that_reads_no_variable_is_told_by_an_argument(
    job: Start, tmp_path: Path, undisturbed: Losses
) -> None:
    script = tmp_path / "deaf.py"
    script.write_text(DEAF, encoding="utf-8")
    how = ("--steps", "45", "--step-seconds", "0.1", "--save-every", "20")
    places = ("--checkpoint-dir", str(tmp_path / "checkpoints"), "--losses", str(tmp_path / "losses.jsonl"))
    run = job(str(script), *how, *places, options=("--resume-arg", "--resume={path}"), policy=COLD)
    ended = committed(run, 20).kill(rank=3, at_step=21).finish().expect_finished(steps=45, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=3)
    assert begins(ended) == [1, 21]


def test_a_new_run_goes_on_from_the_newest_checkpoint_of_its_folder(job: Start, undisturbed: Losses) -> None:
    job(steps=25, policy=COLD).finish().expect_finished(steps=25, undisturbed=undisturbed)
    again = job(steps=40, policy=COLD).finish().expect_finished(steps=40, undisturbed=undisturbed)
    assert begins(again.expect_undisturbed()) == [1, 21]
    nothing_left = job(steps=40, policy=COLD).finish().expect_succeeded()
    assert begins(nothing_left.expect_undisturbed()) == [1, 21]


def test_a_save_on_a_full_disk_is_waited_out(job: Start, undisturbed: Losses) -> None:
    """The disk may be cleared by itself: the wait comes first, then a restart from the last whole checkpoint."""
    run = committed(job(steps=60, pace=0.1, options=("--env", "KEEPSTEP_FAULTS=1"), policy=COLD), 10)
    injected = run.keepstep("fault", "inject", "disk-full", "--job", "t", "--rank", "0", "--seconds", "4")
    assert injected.returncode == 0, injected.stderr
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.STORAGE, Level.WAIT, Level.IN_PLACE, rank=0)
    assert "No space left on device" in ended.said(e.FaultDiagnosed)[-1].verdict.because
