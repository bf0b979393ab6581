"""Faults as a test states them: short to write, complete to read."""

from datetime import UTC, datetime, timedelta

from keepstep.contracts.events import Evidence, ExitEvidence, FaultDetected
from keepstep.contracts.ids import EventId, JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Culprit, JobRef
from keepstep.diagnosis.finding import Resumed

SCRATCH = Resumed()
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
JOB = JobRef(name="train", uid=JobUid("job-1"))
NPROC = 2

PEER_CLOSED = (
    "[rank1]: Traceback (most recent call last):",
    '[rank1]:   File "/srv/train/train.py", line 55, in main',
    "[rank1]:     loss.backward(); opt.step()",
    '[rank1]:   File "/srv/venv/torch/autograd/graph.py", line 979, in _engine_run_backward',
    "[rank1]:     return Variable._execution_engine.run_backward(",
    "[rank1]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
    "[127.0.0.1]:44249. This is typically caused by a remote worker crashing.",
)
TIMED_OUT = (
    "Traceback (most recent call last):",
    '  File "/srv/train/train.py", line 55, in main',
    "    loss.backward()",
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 12000ms for "
    "recv operation to complete",
)


def raised(*last: str, frame: str = '  File "/srv/train/train.py", line 19, in fault') -> tuple[str, ...]:
    """Return a traceback that ends in these lines."""
    return ("Traceback (most recent call last):", frame, "    work()", *last)


def task_of(rank: int) -> TaskUid:
    """Return the task of a rank when every task has two."""
    return TaskUid(f"task-{rank // NPROC}")


def node_of(rank: int) -> NodeName:
    """Return the node of a rank when every node has one task."""
    return NodeName(f"node-{rank // NPROC}")


def who(rank: int) -> Culprit:
    """Return a rank as a culprit."""
    return Culprit(node=node_of(rank), task=task_of(rank), rank=rank)


def fault(
    evidence: Evidence, *, rank: int = 0, after: float = 0.0, generation: int = 1, name: str | None = None
) -> FaultDetected:
    """Return a fault of the task of ``rank`` that occurred this many seconds after the start."""
    when = START + timedelta(seconds=after)
    subject = name if name is not None else f"rank {rank}"
    return FaultDetected(
        id=EventId(f"{evidence.kind}/{subject}/{generation}"),
        time=when + timedelta(seconds=0.01),
        pool=Pool("default"),
        job=JOB,
        task=task_of(rank),
        node=node_of(rank),
        generation=generation,
        subject_name=subject,
        occurred=when,
        evidence=evidence,
        because=f"{subject} {evidence.kind}",
    )


def exit_of(
    rank: int,
    *lines: str,
    code: int | None = 1,
    signal: int | None = None,
    after: float = 0.0,
    step: int | None = 30,
    phase: Phase = Phase.STEP,
    generation: int = 1,
) -> FaultDetected:
    """Return the fault of a rank that ended by ``code``, or by ``signal`` if one is given."""
    how = Exit(code=code) if signal is None else Exit(signal=signal)
    evidence = ExitEvidence(rank=rank, exit=how, step=step, phase=phase, ran_s=12.0, last_lines=lines)
    return fault(evidence, rank=rank, after=after, generation=generation)
