"""The progress page and the marks on it, by a real page and one process."""

import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepstep import trainer
from keepstep.trainer import mark, progress
from keepstep.trainer.mark import InjectedFaultError, Marker
from keepstep.trainer.progress import INJECT, INJECT_ARG, INJECT_EXCEPTION, INJECT_LOG, INJECT_SLOW, Page, Phase


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page.create(str(tmp_path / "progress"), 2)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {"KEEPSTEP_TASK_DIR": str(tmp_path), "LOCAL_RANK": "1", "KEEPSTEP_GENERATION": "3"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(trainer, "_markers", [])
    yield
    trainer._markers.clear()


def test_steps_and_phases_reach_the_rank_s_own_slot(page: Page, environment: None) -> None:
    page.begin(1, 0, 3, 40)
    assert page.read(1).step == 40
    with trainer.phase("load"):
        assert page.read(1).phase == "load"
    assert page.read(1).phase == "starting"
    trainer.step(41)
    trainer.step(42)
    with trainer.phase("evaluation"):
        inside = page.read(1)
    after = page.read(1)
    assert (inside.phase, after.phase, after.step, after.marks) == ("evaluation", "step", 42, 2)
    assert after.start_ns < after.load_ns < after.first_ns < after.mark_ns
    assert (after.pid, after.estimated, after.init_ns) == (os.getpid(), False, 0)
    assert page.read(0).marks == 0


def test_step_duration_is_the_median_of_the_last_sixteen(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    marker = Marker(page.begin(0, 0, 1, 0))
    for step, took in enumerate([0, *[500] * 16, *[70] * 9]):
        now[0] += took
        marker.step(step)
    assert page.read(0).step_ns == 70


@pytest.mark.parametrize(
    "changed",
    [{"KEEPSTEP_GENERATION": "2"}, {"LOCAL_RANK": "7"}, {"KEEPSTEP_TASK_DIR": "/nowhere"}, {"LOCAL_RANK": ""}],
)
def test_outside_its_own_life_a_mark_does_nothing(
    page: Page, environment: None, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str]
) -> None:
    page.begin(1, 0, 3, progress.NO_STEP)
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    trainer.step(5)
    with trainer.phase("checkpoint"):
        pass
    assert page.read(1).marks == 0
    assert page.read(1).step == progress.NO_STEP


def test_a_phase_that_is_none_is_refused(page: Page, environment: None) -> None:
    page.begin(1, 0, 3, 0)
    with pytest.raises(ValueError, match="lunch"), trainer.phase("lunch"):
        pass


def test_what_the_script_says_overrules_what_the_hook_counts(page: Page) -> None:
    marker = Marker(page.begin(0, 0, 1, 0))
    marker.count(1)
    assert page.read(0).estimated
    marker.tell(1000)
    marker.count(2)
    assert (page.read(0).step, page.read(0).estimated, page.read(0).marks) == (1000, False, 2)


@pytest.mark.parametrize(
    ("told", "read"), [(2.5, 2.5), (-0.125, -0.125), (0, 0.0), (1e300, math.inf), (-math.inf, -math.inf)]
)
def test_a_loss_is_told_with_its_step_and_changes_nothing_else(page: Page, told: float, read: float) -> None:
    marker = Marker(page.begin(0, 1, 1, progress.NO_STEP))
    marker.uses_torch()
    marker.tell(7, told)
    slot = page.read(0)
    assert (slot.step, slot.loss, slot.uses_torch, slot.estimated) == (7, read, True, False)
    marker.tell(8)
    assert (page.read(0).step, page.read(0).loss) == (8, read)
    page.begin(0, 2, 2, 8)
    assert page.read(0).loss is None


def test_a_loss_that_is_no_number_is_no_number(page: Page) -> None:
    marker = Marker(page.begin(0, 1, 1, progress.NO_STEP))
    marker.tell(1, math.nan)
    loss = page.read(0).loss
    assert loss is not None
    assert math.isnan(loss)


def test_a_forked_child_marks_nothing(page: Page) -> None:
    marker = Marker(page.begin(0, 0, 1, 0))
    marker.step(1)
    child = os.fork()
    if child == 0:
        marker.step(99)
        os._exit(0)
    os.waitpid(child, 0)
    assert page.read(0).step == 1


def test_faults_are_committed_only_where_they_are_allowed(
    page: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = page.begin(0, 0, 1, 0)
    words[INJECT] = INJECT_EXCEPTION
    Marker(words).step(1)
    marker = Marker(words, faults=True, directory=str(tmp_path))
    with pytest.raises(InjectedFaultError, match="step 2"):
        marker.step(2)
    marker.step(3)
    words[INJECT] = INJECT_LOG
    marker.step(4)
    (tmp_path / mark.INJECTED_LINE).write_text("Xid 79\n")
    words[INJECT] = INJECT_LOG
    marker.step(5)
    assert capsys.readouterr().out == "Loss nan\nXid 79\n"


def test_an_injected_slowness_lasts(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    words = page.begin(0, 0, 1, 0)
    words[INJECT_ARG], words[INJECT] = 250, INJECT_SLOW
    marker = Marker(words, faults=True)
    marker.step(1)
    marker.step(2)
    assert slept == [0.25, 0.25]


def test_saves_find_no_space_as_long_as_it_was_ordered(
    page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also in the rank's next life, whose slot begins anew; other phases and other ranks are not touched."""
    monkeypatch.setenv("RANK", "1")
    (tmp_path / (mark.FULL_DISK % "1")).write_text(str(time.monotonic_ns() + 10**12))
    for life in (1, 2):
        marker = Marker(page.begin(0, 1, life, 0), faults=True, directory=str(tmp_path))
        marker.step(1)
        marker.enter(Phase.EVALUATION)
        with pytest.raises(OSError, match="No space left on device"):
            marker.enter(Phase.CHECKPOINT)
        assert marker.phase is Phase.EVALUATION
    assert Marker(page.words(0), faults=False, directory=str(tmp_path)).enter(Phase.CHECKPOINT) is Phase.EVALUATION
    (tmp_path / (mark.FULL_DISK % "1")).write_text(str(time.monotonic_ns() - 1))
    assert marker.enter(Phase.CHECKPOINT) is Phase.CHECKPOINT
    monkeypatch.setenv("RANK", "0")
    assert marker.enter(Phase.CHECKPOINT) is Phase.CHECKPOINT


def kept(page: Page) -> Marker:
    return Marker(page.begin(0, 1, 1, 0), saves=page.save_words(0))


def test_a_save_is_kept_from_its_first_call_to_its_end_whatever_is_done_within(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a distributed save ``torch.save`` is a part, and a script may load and step within its own."""
    now = [1_000]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])

    def phase(marker: Marker, name: Phase, *inside: Phase) -> None:
        before = marker.enter(name)
        now[0] += 10
        if inside:
            phase(marker, *inside)
        now[0] += 10
        marker.leave(before)

    marker = kept(page)
    phase(marker, Phase.CHECKPOINT, Phase.CHECKPOINT, Phase.LOAD)
    phase(marker, Phase.EVALUATION, Phase.CHECKPOINT)
    phase(marker, Phase.EVALUATION)
    assert page.saves(0) == ((1_000, 1_060), (1_070, 1_090))
    before = marker.enter(Phase.CHECKPOINT)
    marker.step(7)
    marker.leave(before)
    assert len(page.saves(0)) == 2, "what stepped meanwhile was no save"
    phase(marker, Phase.CHECKPOINT)
    assert page.saves(0)[-1] == (1_120, 1_140)
    assert page.saves(1) == ()
    page.begin(0, 2, 2, 0)
    assert page.saves(0) == (), "the next life has saved nothing yet"


def test_of_many_saves_the_newest_are_kept(page: Page) -> None:
    marker = kept(page)
    for began in range(1, progress.SAVES + 4):
        marker.saved(began)
    assert sorted(save.began_ns for save in page.saves(0)) == list(range(4, progress.SAVES + 4))


def test_a_page_of_a_version_without_saves_keeps_none_and_is_read(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    Page.create(str(path), 2).close()
    os.truncate(path, 8 * (progress.HEADER_WORDS + 2 * progress.SLOT_WORDS))
    page = Page.create(str(path), 2)
    marker = kept(page)
    marker.leave(marker.enter(Phase.CHECKPOINT))
    marker.step(3)
    assert (page.read(0).step, page.saves(0), page.saves(1)) == (3, (), ())


def test_a_page_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "progress").write_bytes(b"\0" * 512)
    with pytest.raises(ValueError, match="not a progress page"):
        Page(str(tmp_path / "progress"))


@pytest.mark.parametrize("length", [0, 5, 8, 300])
def test_a_page_that_was_cut_is_known_before_it_is_touched_and_made_anew(tmp_path: Path, length: int) -> None:
    path = tmp_path / "progress"
    page = Page.create(str(path), 2)
    page.begin(1, 42, 3, 0)
    assert page.whole
    os.truncate(path, length)
    assert not page.whole
    again = Page.create(str(path), 2)
    assert again.whole
    assert again.read(1).pid == 0
    assert not page.whole, "another file is in its place"


def test_a_page_with_a_garbled_head_is_made_anew_and_a_whole_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    Page.create(str(path), 2).begin(1, 42, 3, 0)
    assert Page.create(str(path), 2).read(1).pid == 42
    path.write_bytes(b"\xff" * path.stat().st_size)
    assert Page.create(str(path), 2).read(1).pid == 0
