"""What was started on a node is ended, however it flees; that nothing is left is proved."""

import os
import subprocess
import sys
from pathlib import Path

from keepstep.adapters import local_processes
from tests.trainer.test_launcher_stops import FLEEING, expect_ended, fleeing

SWEEPER = """
import contextlib, os, subprocess, sys, time
from pathlib import Path
from keepstep.adapters.local_processes import adopt_orphans, of_task, sweep
adopt_orphans()
folder, count = Path(sys.argv[1]), Path(os.environ["COUNT"])
def start(argv, task):
    return subprocess.Popen(argv, env=os.environ | {"KEEPSTEP_TASK_DIR": str(task)}, stdout=subprocess.PIPE)
start([sys.executable, "-c", sys.argv[2]], folder)
with start(["sh", "-c", "sleep 600 >/dev/null & echo $!"], folder.with_name("other")) as shell:
    foreign = int(shell.stdout.read())  # an orphan by now, of another task
def reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
while not any(count.read_bytes()):
    time.sleep(0.01)
reap()
for pause in sweep(of_task(folder, supervisor=os.getpid(), kept=frozenset), kept=frozenset):
    time.sleep(pause)
    reap()
print("the other is", Path(f"/proc/{foreign}/stat").read_text().split()[2])
os.kill(foreign, 9)
"""


def test_a_chain_that_leaves_its_session_at_each_fork_is_ended_by_its_node(tmp_path: Path) -> None:
    """Scans found nobody, ten times in a row, and the task was called gone while it forked on."""
    libs = str(Path(local_processes.__file__).parents[2])
    with fleeing(tmp_path) as count:
        done = subprocess.run(
            [sys.executable, "-c", SWEEPER, str(tmp_path / "task"), FLEEING],
            env=os.environ | {"COUNT": str(count), "PYTHONPATH": libs},
            stdout=subprocess.PIPE,
            timeout=50,
            check=True,
        )
        expect_ended(count)
    assert done.stdout == b"the other is S\n", "what is another task's was neither killed nor left stopped"
