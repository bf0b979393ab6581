"""Before a checkpoint is chosen its files are looked at, quickly, whatever the file system does."""

import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keepstep.checkpoint_manager import app
from keepstep.checkpoint_manager.core import Glance, Seen, Step, effects
from keepstep.contracts.events import CheckpointChosen
from tests.checkpoint_manager.story import NOW, Tale, accepted, diagnosed, opened, saved


class StillClock:
    """A clock that shows one instant."""

    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


async def answer(tale: Tale, *, limit: float = 5) -> CheckpointChosen:
    """Do the one effect that the tale wants."""
    assert tale.fold is not None
    stage = app.checkpoint_stage(StillClock(), look_limit=timedelta(seconds=limit))
    (effect,) = effects(tale.fold)
    (said,) = await stage.act(effect)
    assert isinstance(said, CheckpointChosen)
    return said


def write(folder: Path, step: int, content: bytes = b"weights") -> tuple[str, float]:
    path = folder / f"step-{step}.pt"
    path.write_bytes(content)
    written = (datetime.fromtimestamp(path.stat().st_mtime, UTC) - NOW).total_seconds()
    return str(path), written


def two_steps(folder: Path) -> Tale:
    tale = Tale(accepted())
    for step in (10, 20):
        path, written = write(folder, step)
        tale.tell(saved(step, path=path, files=(path,), size=7, written=written))
    return tale.tell(diagnosed())


async def test_the_newest_is_chosen_when_its_files_are_there(tmp_path: Path) -> None:
    said = await answer(two_steps(tmp_path))
    assert (said.step, said.path, said.cause) == (20, str(tmp_path / "step-20.pt"), "verdict-1")


async def test_a_deleted_checkpoint_is_passed_over(tmp_path: Path) -> None:
    tale = two_steps(tmp_path)
    (tmp_path / "step-20.pt").unlink()
    said = await answer(tale)
    assert said.step == 10
    assert "step-20.pt is not there" in said.because


async def test_a_truncated_checkpoint_is_passed_over(tmp_path: Path) -> None:
    tale = two_steps(tmp_path)
    os.truncate(tmp_path / "step-20.pt", 3)
    said = await answer(tale)
    assert said.step == 10
    assert "holds 3 bytes, 7 were saved" in said.because


async def test_a_checkpoint_that_is_being_written_anew_is_passed_over(tmp_path: Path) -> None:
    tale = two_steps(tmp_path)
    later = (tmp_path / "step-20.pt").stat().st_mtime + 5
    os.utime(tmp_path / "step-20.pt", (later, later))
    assert (await answer(tale)).step == 10


async def test_a_folder_out_of_sight_is_trusted() -> None:
    assert (await answer(Tale(accepted(), saved(10), diagnosed()))).step == 10


async def test_files_named_relative_to_a_folder_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "step-5"
    folder.mkdir()
    (folder / "a.pt").write_bytes(b"12")
    tale = Tale(accepted(), saved(5, path=str(folder), files=("a.pt",), size=2), diagnosed())
    assert (await answer(tale)).step == 5


async def test_a_file_system_that_hangs_is_trusted_in_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stuck = threading.Event()

    def hang(step: Step) -> Seen:
        stuck.wait(10)
        return Seen(Glance.DAMAGED, f"step {step.step} at last")

    monkeypatch.setattr(app, "glance", hang)
    said = await answer(two_steps(tmp_path), limit=0.02)
    stuck.set()
    assert said.step == 20
    assert "out of sight for too long to look" in said.because


async def test_files_are_touched_ahead_of_a_verdict_and_a_mount_that_hangs_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck, touched = threading.Event(), []

    def hang(step: Step) -> Seen:
        touched.append(step.step)
        stuck.wait(10)
        return Seen(Glance.PRESENT, "there at last")

    monkeypatch.setattr(app, "glance", hang)
    tale = Tale(accepted(), saved(10), opened())
    assert tale.fold is not None
    (effect,) = effects(tale.fold)
    said = await app.checkpoint_stage(StillClock(), look_limit=timedelta(seconds=0.02)).act(effect)
    stuck.set()
    assert (tuple(said), touched) == ((), [10])
