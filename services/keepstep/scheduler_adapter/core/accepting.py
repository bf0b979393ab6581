"""Whether a new job can be had as it is specified, and the tasks that it begins with."""

from keepstep.contracts.events import (
    JobAccepted,
    JobCreated,
    JobFailed,
)
from keepstep.contracts.ids import JobUid, task_uid
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import LARGEST_SPEC, JobSpec, TaskRef
from keepstep.core.sentences import counted
from keepstep.scheduler_adapter.core.making import Making, misplaced
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.task import Task
from keepstep.scheduler_adapter.core.turn import Turn

MESSAGE_BYTES = 1_000_000
"""A NATS server takes 1 MiB unless told otherwise; the rest is for the envelope."""
TASK_BYTES = 236
"""Of one task in the fold of a job whose tasks are all being replaced, packed, with the plan to be said."""
RANK_BYTES = 7
"""Of one rank in a placement: its number and a comma."""


def create(turn: Turn, order: CreateJob) -> None:
    """Accept or refuse a new job, or have it made as an object; a second order for the same uid changes nothing."""
    if turn.state.life is not Life.ABSENT or turn.state.order is not None or order.job is None:
        return
    turn.put(order=order.id)
    wrong = misplaced(order, turn.ground) or (refuse(order.spec) if order.kubernetes is not None else "")
    if wrong:
        _refuse(turn, wrong)
    elif order.kubernetes is not None:
        making = Making(order=order.id, by=order.by, spec=order.spec, work=order.kubernetes)
        turn.put(making=making, since=turn.now)
        turn.why(f"{order.by} has it made in namespace {order.kubernetes.namespace}")
    else:
        accept(turn, order.job.uid, order.spec)


def created(turn: Turn, event: JobCreated) -> None:
    """The order's object is there, and found as any other: this fold is over."""
    if turn.state.making is not None:
        turn.put(making=None, life=Life.ENDED, since=turn.now)
        turn.why(f"{event.kind} is made")


def _refuse(turn: Turn, because: str) -> None:
    turn.put(life=Life.ENDED, since=turn.now)
    turn.say(JobFailed, category=Category.USER_CONFIG, because=because)
    turn.why(because)


def accept(turn: Turn, job: JobUid, spec: JobSpec, *, warnings: tuple[str, ...] = ()) -> None:
    """Begin a job's life with the placing of its tasks, or end it here when its specification cannot be obeyed."""
    refusal = refuse(spec)
    if refusal:
        _refuse(turn, refusal)
        return
    names = [f"worker-{index}" for index in range(spec.nodes)]
    tasks = {name: first_task(job, name, index) for index, name in enumerate(names)}
    turn.put(life=Life.PLACING, spec=spec, since=turn.now, tasks=tasks)
    turn.say(JobAccepted, spec=spec, warnings=warnings)
    turn.why(f"{counted(spec.nodes, 'task')} of {counted(spec.nproc, 'rank')}")


def refuse(spec: JobSpec) -> str:
    """Return the field that cannot be obeyed and its remedy, or ""."""
    size = len(spec.model_dump_json())
    if size > LARGEST_SPEC:
        return f"the specification has {size} bytes, at most {LARGEST_SPEC} are taken: shorten env, arguments or policy"
    if spec.resume_arg is not None and spec.checkpoint_dir is None:
        return "resume_arg needs a checkpoint to name: set checkpoint_dir, or leave resume_arg out"
    if spec.policy.recovery.enabled and not spec.policy.recovery.levels:
        return "policy.recovery.levels is empty: name a level, or set policy.recovery.enabled to false"
    if spec.policy.recovery.stop_deadline < spec.policy.trainer.stop_grace:
        return "policy.recovery.stop_deadline ends before policy.trainer.stop_grace: make it longer by some seconds"
    asked, known = spec.policy.detection, DetectionPolicy()
    if (asked.blind_share, asked.blind_minimum) != (known.blind_share, known.blind_minimum):
        return "policy.detection.blind_share and blind_minimum are the pool's: set KEEPSTEP_DETECTOR_BLIND_SHARE there"
    return _too_large(spec)


def _too_large(spec: JobSpec) -> str:
    """Return that one message cannot hold where every rank runs, or ""."""
    each = TASK_BYTES + spec.nproc * RANK_BYTES
    if spec.nodes * each <= MESSAGE_BYTES:
        return ""
    most = MESSAGE_BYTES // each
    size = f"{counted(spec.nodes, 'task')} of {counted(spec.nproc, 'rank')}"
    return f"nodes: where {size} run does not fit into one message of the bus: with nproc {spec.nproc} at most {most}"


def first_task(job: JobUid, name: str, index: int) -> Task:
    """Return the first incarnation of a task."""
    return Task(ref=TaskRef(name=name, uid=task_uid(job, name, 1), index=index))
