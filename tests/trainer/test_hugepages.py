"""A spare's memory is in huge pages where the kernel knows how, whole and unchanged, and only while nobody waits."""

import os
import re
import subprocess
import sys
from pathlib import Path

from keepstep.trainer import hugepages
from tests.trainer.desk import LIBS, Desk, script

PROGRAM = """
import mmap, sys
from keepstep.trainer import hugepages

def kilobytes(name):
    text = open("/proc/self/smaps_rollup").read()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(name))

held = [bytes([number % 256]) * 4096 for number in range(8192)]
before = kilobytes("Rss:"), kilobytes("AnonHugePages:")
made = hugepages.collapse(lambda: sys.argv[1] == "wanted")
after = kilobytes("Rss:"), kilobytes("AnonHugePages:")
assert held == [bytes([number % 256]) * 4096 for number in range(8192)]
print(made, *before, *after)
"""


ALLOCATING = """
text = open("/proc/self/smaps_rollup").read
held = [bytearray(b"x") * 65536 for _ in range(512)]
print(next(int(line.split()[1]) for line in text().splitlines() if line.startswith("AnonHugePages:")))
"""
"""Blocks too large for the interpreter's own arenas and too small to be mapped one by one: 32 MB of heap."""


def measured(*arguments: str) -> list[int]:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={"PYTHONPATH": LIBS},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(word) for word in told.stdout.split()]


def test_memory_is_whole_and_no_larger_in_huge_pages() -> None:
    made, size, huge, size_after, huge_after = measured("free")
    assert size_after < size + 4096
    if knows_how():
        assert made >= 10
        assert huge_after >= huge + 16 * 1024


def test_a_spare_that_is_wanted_is_not_held_up() -> None:
    assert measured("wanted")[0] == 0


def allocated(env: dict[str, str]) -> int:
    """Return how many kilobytes of a process with 32 MB of heap are in huge pages."""
    told = subprocess.run([sys.executable, "-c", ALLOCATING], env=env, capture_output=True, text=True, check=True)
    return int(told.stdout)


def test_a_process_that_asks_has_its_heap_in_huge_pages_from_the_start() -> None:
    if asks():
        assert allocated(hugepages.asked({})) >= 16 * 1024


def test_tunables_of_the_job_stay_as_they_are() -> None:
    env = {"GLIBC_TUNABLES": "glibc.malloc.check=3", "A": "b"}
    assert hugepages.asked(env) == env


def test_the_children_of_a_rank_get_no_tunables_that_nobody_set(tmp_path: Path) -> None:
    source = "import subprocess, sys\nsys.exit(subprocess.call(['sh', '-c', 'exit ${GLIBC_TUNABLES:+1}']))\n"
    with Desk(tmp_path, script(tmp_path, source)) as desk:
        desk.start()
        assert desk.hear("exit")["code"] == 0


def knows_how() -> bool:
    """Say whether this kernel has huge pages, wants them, and lets a process ask for them."""
    wish = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    found = re.match(r"(\d+)\.(\d+)", Path("/proc/sys/kernel/osrelease").read_text())
    new_enough = found is not None and tuple(map(int, found.groups())) >= (6, 1)
    return new_enough and wish.exists() and "[never]" not in wish.read_text()


def asks() -> bool:
    """Say whether the C library of this machine asks for huge pages when it is told to."""
    name, _, number = (os.confstr("CS_GNU_LIBC_VERSION") or "none 0.0").partition(" ")
    return name == "glibc" and tuple(map(int, number.split("."))) >= (2, 35) and knows_how()
