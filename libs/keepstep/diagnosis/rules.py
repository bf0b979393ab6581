"""The first built-in rules: what a line of a rank's output says about the cause. Order is precedence.

A ``cascade`` rule recognises a victim: its rank only noticed that a peer had gone (facts of torch 2.13 with gloo, and
the usual NCCL lines). A ``live`` rule is a fault although its process may still run; the agent looks for those.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from keepstep.contracts.taxonomy import Category
from keepstep.core.budgets import PORT_IN_USE


@dataclass(frozen=True)
class Rule:
    """One row; ``isolate`` is set only where the line itself is positive evidence against a device.

    ``hopeless`` is a failure to start that no restart mends: the same interpreter reads the same files.
    ``hearsay`` is another's word about what lies between it and the one it names: it explains those who lost a peer,
    and neither isolates nor outweighs what anybody says of itself (DESIGN section 4, promise 4).
    """

    name: str
    category: Category
    regex: str
    confidence: float = 0.9
    cascade: bool = False
    isolate: bool = False
    live: bool = False
    hopeless: bool = False
    hearsay: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled regex."""
        return re.compile(self.regex)


CHECKPOINT_LOAD = "checkpoint-load"
KERNEL_OOM = "kernel-oom"

RULES: tuple[Rule, ...] = (
    # What systems outside say of the network and of storage, whatever words of devices they add: of the code's nine
    # digits the first is what it is on. Ahead of the devices' rules, as such a report names the devices behind a link.
    Rule("network-reported", Category.NETWORK, r"^2\d00[01]\d{4} MindCluster level \w+, public\b", 0.6, hearsay=True),
    Rule("storage-reported", Category.STORAGE, r"^3\d00[01]\d{4} MindCluster level \w+, public\b", 0.6, hearsay=True),
    # Devices: the driver's own words, never inferred from an exit code.
    Rule(
        "gpu-off-bus",
        Category.DEVICE_HARDWARE,
        r"NVRM: Xid \([^)]*\): 79\b|fallen off the bus",
        confidence=0.98,
        isolate=True,
        live=True,
    ),
    Rule(
        "gpu-ecc",
        Category.DEVICE_HARDWARE,
        r"uncorrectable ECC error|NVRM: Xid \([^)]*\): (?:48|64|95|140)\b",
        confidence=0.97,
        isolate=True,
        live=True,
    ),
    Rule(
        "gpu-reset-needed",
        Category.DEVICE_HARDWARE,
        r"NVRM: Xid \([^)]*\): (?:62|110|136|143|155|156|158)\b",
        confidence=0.9,
        isolate=True,
        live=True,
    ),
    Rule(
        "gpu-driver",
        Category.DEVICE_DRIVER,
        r"NVRM: Xid \([^)]*\): (?:119|120)\b|CUDA driver version is insufficient|Driver/library version mismatch",
        isolate=True,
        live=True,
    ),
    Rule("npu-lost", Category.DEVICE_HARDWARE, r"EE1001\d.*device lost|507899|npu.*device is lost", isolate=True),
    Rule("npu-separate", Category.DEVICE_HARDWARE, r"MindCluster level (?:Manually)?SeparateNPU\b", isolate=True),
    Rule("host-separate", Category.NODE_HARDWARE, r"MindCluster level SeparateFault, host\b", isolate=True),
    # Memory.
    Rule("device-out-of-memory", Category.OOM_DEVICE, r"(?:CUDA|NPU|HIP|XPU) out of memory|OutOfMemoryError", 0.95),
    Rule(KERNEL_OOM, Category.OOM_HOST, r"[Oo]ut of memory: Killed process|oom-kill(?:er)?\b|OOMKilled", 0.97),
    Rule(
        "host-out-of-memory",
        Category.OOM_HOST,
        r"\bMemoryError\b|[Cc]an(?:no|')t allocate memory|std::bad_alloc|DefaultCPUAllocator: (?:can't|not enough)",
        0.95,
    ),
    Rule(
        "shared-memory-full",
        Category.OOM_HOST,
        r"DataLoader worker .*(?:killed by signal: (?:Killed|Bus error)|exited unexpectedly.*[Kk]illed)"
        r"|insufficient shared memory|unable to (?:open|mmap) shared memory",
    ),
    # Storage.
    Rule("no-space", Category.STORAGE, r"No space left on device|\[Errno 28\]|Disk quota exceeded|\[Errno 122\]", 0.95),
    Rule(
        "input-output",
        Category.STORAGE,
        r"\[Errno 5\]|Input/output error|\[Errno 116\]|Stale (?:NFS )?file handle|\[Errno 30\]|Read-only file system",
    ),
    Rule(
        CHECKPOINT_LOAD,
        Category.STORAGE,
        r"PytorchStreamReader failed|failed finding central directory|UnpicklingError|SafetensorError|HeaderTooLarge"
        r"|storage has wrong byte size|[Cc]heckpoint\w* .*(?:corrupt|truncated)",
    ),
    Rule("checkpoint-write", Category.STORAGE, r"PytorchStreamWriter failed|unexpected pos \d+ vs", 0.8),
    # The network's own faults, before the cascade of those who lost a peer.
    Rule(PORT_IN_USE, Category.NETWORK, r"EADDRINUSE|[Aa]ddress already in use|\[Errno 98\]", 0.97),
    Rule("gloo-listener", Category.NETWORK, r"gloo/transport/tcp/listener\.cc:\d+\].*accept", 0.6),
    # Victims: these only say that somebody else was gone or late.
    Rule(
        "collective-timeout",
        Category.COLLECTIVE_TIMEOUT,
        r"Timed out waiting \d+ms|Watchdog caught collective operation timeout|collective operation timeout"
        r"|NCCL operations have failed or timed out|monitoredBarrier|HCCL.*timeout|EI0002",
        cascade=True,
    ),
    Rule(
        "store-timeout",
        Category.COLLECTIVE_TIMEOUT,
        r"DistStoreError|Timed out after \d+ seconds waiting for clients|client socket has timed out"
        r"|RendezvousTimeoutError|wait timeout after \d+ms",
        cascade=True,
    ),
    Rule(
        "peer-lost",
        Category.NETWORK,
        r"Connection reset by peer|Connection closed by (?:remote )?peer|remote worker (?:crashing|hanging)"
        r"|ConnectionResetError|Broken pipe|BrokenPipeError|recvValue failed|failed to recv, got 0 bytes"
        r"|DistNetworkError|DistBackendError|Connection refused|ConnectionRefusedError|No route to host"
        r"|connectFullMesh failed|gloo::(?:Io|Enforce|Timeout)|/gloo/transport/|Socket closed",
        cascade=True,
        confidence=0.6,
    ),
    Rule(
        "nccl-peer-lost",
        Category.NETWORK,
        r"ncclRemoteError|ncclSystemError|ncclInternalError|NCCL communicator was aborted|remote process exited"
        r"|ibv_poll_cq.*error|Got completion from peer",
        cascade=True,
        confidence=0.6,
    ),
    Rule(
        "wrapper",
        Category.UNKNOWN,
        r"ChildFailedError|SignalException|RendezvousClosedError|RendezvousGracefulExitError|torch\.distributed\.elastic"
        r"\.multiprocessing\.errors|Process got signal: 15|KeyboardInterrupt",
        cascade=True,
        confidence=0.4,
    ),
    # People's own: configuration and data have names, the rest of the tracebacks is code.
    Rule(
        "module-missing",
        Category.USER_CONFIG,
        r"ModuleNotFoundError|ImportError|can't open file '|: No module named ",
        hopeless=True,
    ),
    Rule("syntax", Category.USER_CODE, r"^(?:SyntaxError|IndentationError|TabError)\b", hopeless=True),
    Rule(
        "arguments",
        Category.USER_CONFIG,
        r": error: (?:unrecognized arguments|the following arguments are required|argument |invalid choice)"
        r"|omegaconf\.errors\.|hydra\.errors\.|ConfigAttributeError",
    ),
    Rule("file-missing", Category.USER_CONFIG, r"FileNotFoundError|PermissionError|NotADirectoryError", 0.8),
    Rule(
        "data-decode",
        Category.DATA,
        r"UnidentifiedImageError|image file is truncated|ArrowInvalid|zlib\.error|tarfile\.ReadError|JSONDecodeError"
        r"|UnicodeDecodeError|BadGzipFile|TFRecord.*corrupt|ParquetFileException",
        0.8,
    ),
    Rule("device-assert", Category.USER_CODE, r"device-side assert triggered|illegal memory access", 0.8),
)
"""Searched in order in the line that ended the rank; the first match names the cause."""

RULES_BY_NAME: dict[str, Rule] = {rule.name: rule for rule in RULES}

UNREADABLE = re.compile(
    r"EOFError|BadZipFile|JSONDecodeError|UnicodeDecodeError|invalid load key|unexpected EOF|Ran out of input"
    r"|ReadError|struct\.error|Weights only load failed"
)
"""A file that does not decode; before the first step of a resumed generation it is the checkpoint."""

LOADING_FRAME = re.compile(r'torch/serialization\.py", line \d+, in (?:load|_load|_legacy_load|load_tensor|__init__)\b')
"""A traceback that goes through torch.load."""

LOADING_WORDS = re.compile(r"(?i)checkpoint|ckpt|resume|restore")
"""How people name what reads a checkpoint back."""
