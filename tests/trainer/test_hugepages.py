"""A spare's memory is in huge pages where the kernel knows how, whole and unchanged, and only while nobody waits."""

import re
import subprocess
import sys
from pathlib import Path

from tests.trainer.desk import LIBS

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


def knows_how() -> bool:
    """Say whether this kernel has huge pages, wants them, and lets a process ask for them."""
    wish = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    found = re.match(r"(\d+)\.(\d+)", Path("/proc/sys/kernel/osrelease").read_text())
    new_enough = found is not None and tuple(map(int, found.groups())) >= (6, 1)
    return new_enough and wish.exists() and "[never]" not in wish.read_text()
