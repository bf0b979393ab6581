"""The loop without torch, for tests in which a restart takes a fraction of a second."""

from tests.system.ended import Ended
from tests.system.job import ROOT

LOOP = str(ROOT / "examples" / "plain_loop.py")
STEPS = 40
CHEAP = "[trainer]\nwarm_ranks = 0\n"
"""Where a restart's speed does not matter, spare interpreters only load the machine."""


def expect_counted(ended: Ended) -> Ended:
    """The loop counted to its end and nothing is left."""
    ended.expect_succeeded()
    folder = ended.job.record_folder
    assert folder is not None
    printed = "".join(path.read_text() for path in folder.glob("cluster/nodes/*/tasks/*/logs/*/*.out"))
    assert f"total {sum(step * step for step in range(1, STEPS + 1))} after step {STEPS}" in printed
    return ended
