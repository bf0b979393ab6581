"""Putting what a rank has imported into huge pages, so that its end, and the restart that waits for it, is quick.

An interpreter with torch holds 200 MB in small pages, which the kernel frees one by one before anybody learns of its
end: 26 ms, against 8 ms in huge pages (medians, Linux 6.18, 2 cores). It holds no more memory afterwards, and took half
a second longer to be ready, which only a spare can afford. One that is started cold has the C library ask for huge
pages from its first allocation on: that costs nothing and reaches half of the memory.
"""

from __future__ import annotations

import ctypes
from typing import Callable, Dict, Iterator, Mapping

SIZE = 2 << 20
"""Of a huge page on x86-64, and on arm64 with small pages of 4 KiB."""
_MADV_COLLAPSE = 25
"""Linux 6.1 and later; others say that they know no such advice."""
_TUNABLES = "GLIBC_TUNABLES"
_ASKING = "glibc.malloc.hugetlb=1"
"""The heap, and what is mapped for blocks above 2 MiB, as numpy does for its arrays; glibc 2.35 and later."""


def asked(env: Mapping[str, str]) -> Dict[str, str]:
    """Return the environment with which the C library asks the kernel for huge pages; tunables that are set stay."""
    return {_TUNABLES: _ASKING, **env}


def collapse(wanted: Callable[[], bool]) -> int:
    """Put this process's own memory into huge pages until it is ``wanted``; return how many were made."""
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    made = 0
    for address in _whole_pages():
        if wanted():
            break
        made += advise(address, SIZE, _MADV_COLLAPSE) == 0
    return made


def _whole_pages() -> Iterator[int]:
    """Yield the address of every whole huge page in writable memory of our own: heap and anonymous maps."""
    with open("/proc/self/maps") as file:
        lines = file.read().splitlines()
    for line in lines:
        fields = line.split()
        if fields[1] == "rw-p" and fields[4] == "0" and (len(fields) == 5 or fields[5] == "[heap]"):
            first, last = (int(text, 16) for text in fields[0].split("-"))
            yield from range((first + SIZE - 1) // SIZE * SIZE, last - SIZE + 1, SIZE)
