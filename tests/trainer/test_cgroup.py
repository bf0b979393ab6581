"""Control groups where the kernel lets us; without them the same stops work by walking the tree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepstep.trainer import cgroup
from tests.trainer.desk import Desk, eventually, gone, script


@pytest.fixture
def groups() -> cgroup.Groups:
    groups = cgroup.open_groups()
    if not groups.make():
        pytest.skip("cgroup v2 is not writable here")
    return groups


def test_a_group_ends_everything_in_it_at_once_and_is_removed(groups: cgroup.Groups) -> None:
    folder = groups.make()

    def enter() -> None:
        cgroup.enter(folder)

    sleeper = [sys.executable, "-c", "import os, time; os.setsid(); time.sleep(600)"]
    processes = [subprocess.Popen(sleeper, preexec_fn=enter) for _ in range(2)]  # noqa: PLW1509 - one thread
    inside = Path(folder, "cgroup.procs").read_text().split()
    cgroup.kill(folder)
    assert {process.wait(10) for process in processes} == {-9}
    assert sorted(map(int, inside)) == sorted(process.pid for process in processes)
    eventually(lambda: not Path(folder, "cgroup.procs").read_text())
    groups.close()
    assert not Path(folder).exists()


def test_what_a_killed_launcher_left_is_tidied_up_and_what_lives_is_not(groups: cgroup.Groups) -> None:
    own = Path(groups.make()).parents[1]
    with subprocess.Popen(["true"]) as ended:
        pass
    left = own / f"keepstep-{ended.pid}"
    (left / "1").mkdir(parents=True)
    cgroup.open_groups()
    assert not left.exists()
    assert (own / f"keepstep-{os.getpid()}").exists()
    groups.close()


@pytest.mark.parametrize("grouped", [True, False], ids=["in a group", "without groups"])
def test_a_rank_that_hides_its_children_leaves_none_behind(
    tmp_path: Path, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not grouped:
        monkeypatch.setenv("KEEPSTEP_NO_CGROUP", "1")
    source = (
        "import os, time\nfor _ in range(3):\n    if os.fork() == 0:\n        os.setsid()\n"
        "os.write(1, b'%d\\n' % os.getpid())  # in one piece: eight write at once\ntime.sleep(600)\n"
    )
    with Desk(tmp_path, script(tmp_path, source)) as desk:
        desk.start()
        eventually(lambda: len(desk.output().split()) == 8)
        pids = [int(pid) for pid in desk.output().split()]
        assert desk.stop()["unkillable"] == []
        assert all(map(gone, pids))
    assert not cgroup_leftovers(desk.launcher.pid)


def cgroup_leftovers(pid: int) -> list[Path]:
    """Return the groups that a launcher which has left did not remove."""
    return list(Path("/sys/fs/cgroup").rglob(f"keepstep-{pid}"))
