"""Reads what faulthandler wrote: the main thread's innermost frames, and whether they wait for other ranks."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

FRAMES = 8

_THREAD = re.compile(r"^(?P<current>Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):")
_FRAME = re.compile(r'^  File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<function>.+)$')
_DEVICE_WAIT = re.compile(r"\.(?:wait|synchronize|item|cpu|tolist|numpy)\(")
"""Calls without a Python frame of their own: on a work handle, or reading a device whose queue holds the collective."""
_LIBRARY = re.compile(r"(?:^|/)(torch/.*\.py)$")

COLLECTIVES: dict[str, frozenset[str] | None] = {
    "torch/distributed/distributed_c10d.py": None,
    "torch/distributed/c10d_logger.py": None,
    "torch/distributed/rendezvous.py": None,
    "torch/distributed/_functional_collectives.py": None,
    "torch/distributed/utils.py": frozenset({"_sync_module_states", "_verify_param_shape_across_processes"}),
    "torch/distributed/algorithms/join.py": None,
    "torch/distributed/nn/functional.py": None,
    "torch/distributed/tensor/_collective_utils.py": None,
    "torch/distributed/pipelining/stage.py": None,
    "torch/distributed/checkpoint/utils.py": frozenset({"reduce_scatter", "all_reduce", "broadcast", "all_gather"}),
    "torch/distributed/fsdp/_runtime_utils.py": None,
    "torch/nn/parallel/distributed.py": None,
    "torch/nn/modules/_functions.py": None,
    "torch/autograd/graph.py": frozenset({"_engine_run_backward"}),
    "torch/autograd/__init__.py": frozenset({"backward", "grad"}),
    "torch/cuda/__init__.py": frozenset({"synchronize"}),
    "torch/cuda/streams.py": frozenset({"synchronize", "wait", "wait_event", "wait_stream"}),
}
"""Files and functions of torch in which a rank waits for its peers; None is any function of the file.

The gradient buckets of DDP are waited for inside the backward engine, SyncBatchNorm gathers in nn/modules/_functions,
and kernels queued behind a collective hold ``synchronize``.
"""


@dataclass(frozen=True)
class Frame:
    """One Python frame; two on different lines of one function are the same place."""

    file: str
    function: str
    line: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """``file:function``, torch's files from their package on."""
        library = _LIBRARY.search(self.file)
        return f"{library.group(1) if library else self.file}:{self.function}"


def main_thread(dump: str) -> tuple[Frame, ...]:
    """Return the frames of the main thread in the last dump of the text, innermost first; () if there is none.

    A handler on a signal always runs in the main thread, which faulthandler marks as current. In a dump without that
    mark the main thread is the last one: faulthandler goes from the newest thread to the oldest.
    """
    threads: list[tuple[bool, list[Frame]]] = []
    for line in dump.splitlines():
        head = _THREAD.match(line)
        if head is not None:
            threads.append((head["current"] == "Current thread", []))
            continue
        frame = _FRAME.match(line)
        if frame is not None and threads:
            threads[-1][1].append(Frame(frame["file"], frame["function"], int(frame["line"])))
    current = [frames for mark, frames in threads if mark]
    chosen = current[-1] if current else (threads[-1][1] if threads else [])
    return tuple(chosen[:FRAMES])


def no_source(_frame: Frame) -> str:
    """Return nothing: the script's source is not at hand."""
    return ""


def waits(frames: tuple[Frame, ...], source: Callable[[Frame], str] = no_source) -> bool | None:
    """Return whether the rank stands in a collective; None without frames.

    Torch's own innermost frames count: a hook or a lock in the user's code below a backward is the user's wait. In the
    user's own innermost frame its ``source`` line tells a wait for a handle or a device from one for a lock.
    """
    if not frames:
        return None
    for frame in frames:
        library = _LIBRARY.search(frame.file)
        if library is None:
            return frame is frames[0] and _DEVICE_WAIT.search(source(frame)) is not None
        functions = COLLECTIVES.get(library.group(1), frozenset())
        if functions is None or frame.function in functions:
            return True
    return False
