"""When a rank's stack is looked at, and what comes of it; the rank is a real process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepstep.agent.beats import Sighting, Stack, beat
from keepstep.agent.probes import Probe
from keepstep.agent.reconcile import Running
from keepstep.agent.suspicion import Capture, Suspicions, patience_s, suspected
from keepstep.contracts.duration import seconds
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import Exit
from keepstep.trainer.progress import Slot
from keepstep.trainer.wire import stack_path
from tests.agent.makers import SECOND, slot, until

STUCK = """\
import sys, threading
from keepstep.trainer import stacks
stacks.register(sys.argv[1])
def hold(lock):
    print("ready", flush=True)
    lock.acquire()
lock = threading.Lock()
lock.acquire()
hold(lock)
"""


def seen(page: Slot | None, *, state: str = "S", pid: int = 77, exit_: Exit | None = None) -> Sighting:
    probe = Probe(pid=pid, state=state, state_since=0, cpu_s=0, idle_since=0, seen=100)
    running = Running(rank=3, local_rank=0, pid=pid, generation=1)
    return Sighting(running=running, first_seen=0, slot=page, probe=probe, exit=exit_)


def marked(at: float, *, step_s: float = 0.1) -> Slot:
    return slot(first_ns=SECOND, mark_ns=int(at * SECOND), marks=9, step=9, step_ns=int(step_s * SECOND))


@pytest.mark.parametrize(
    ("sighting", "expected"),
    [
        (seen(marked(96)), False),
        (seen(marked(95)), True),
        (seen(marked(95, step_s=1)), False),
        (seen(marked(90, step_s=1)), True),
        (seen(marked(10), state="T"), False),
        (seen(marked(10), state="D"), False),
        (seen(marked(10), exit_=Exit(code=0)), False),
        (seen(slot(mark_ns=41 * SECOND, phase_ns=0)), False),
        (seen(slot(mark_ns=40 * SECOND, phase_ns=0)), True),
        (seen(None), True),
    ],
)
def test_who_is_suspected(sighting: Sighting, expected: bool) -> None:
    assert suspected(sighting, 100) is expected


@pytest.mark.parametrize("imported", [True, False])
def test_a_beat_tells_whether_the_rank_imported_torch(imported: bool) -> None:
    assert beat(seen(marked(99)._replace(uses_torch=imported)), 100).uses_torch is imported


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (DetectionPolicy(), 5.0),
        (DetectionPolicy(hang_limit=seconds(6)), 2.0),
        (DetectionPolicy(outlier_after=seconds(3)), 1.0),
        (DetectionPolicy(phase_limits={Phase.EVALUATION: seconds(9)}), 3.0),
    ],
)
def test_a_short_limit_is_looked_into_before_it_is_over(policy: DetectionPolicy, expected: float) -> None:
    assert patience_s(policy) == expected
    assert suspected(seen(marked(100 - expected)), 100, expected)
    assert not suspected(seen(marked(100.5 - expected)), 100, expected)


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator[int]:
    """Yield the pid of a rank that waits for a lock for ever."""
    path = stack_path(str(tmp_path), 3)
    with subprocess.Popen([sys.executable, "-c", STUCK, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.kill()


async def test_a_stuck_ranks_stack_is_told_once_and_stands_still(tmp_path: Path, stuck: int) -> None:
    suspicions, known = Suspicions(tmp_path), dict[int, Stack]()
    sighting, path = seen(marked(10), pid=stuck), Path(stack_path(str(tmp_path), 3))
    captures: list[Capture] = []
    for now in (100, 102, 104):
        captures += suspicions.turn((sighting,), known, now)
        await until(lambda: "hold" in path.read_text())
    captures += suspicions.turn((sighting,), known, 106)
    assert [(capture.rank, capture.marks, capture.frames[0].function) for capture in captures] == [(3, 9, "hold")]
    told = beat(Sighting(running=sighting.running, first_seen=0, slot=sighting.slot, stack=known[3]), 106)
    assert (told.stack[0], told.stack_still_s, told.waiting) == ("<string>:hold", 6, False)

    assert list(suspicions.turn((seen(marked(105), pid=stuck),), known, 106)) == []
    assert known == {}


def test_a_process_that_would_not_answer_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        suspicions, known = Suspicions(tmp_path), dict[int, Stack]()
        for now in (100, 110):
            assert list(suspicions.turn((seen(marked(10), pid=process.pid),), known, now)) == []
        assert process.poll() is None
        process.kill()
    assert list(suspicions.turn((seen(marked(10), pid=2**22 + 1),), known, 120)) == []
