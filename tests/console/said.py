"""Messages as a pool says them, short to write; ids are drawn from type, time and what tells two apart."""

from collections.abc import Iterable
from datetime import datetime

from keepstep.console.model.pool import PoolModel
from keepstep.contracts import events as e
from keepstep.contracts.ids import NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.contracts.telemetry import Exit, Heartbeat, RankBeat
from keepstep.contracts.topology import JobRef, JobSpec, Script, TaskRef
from tests.core.test_timeline import JOB, at

POOL = Pool("p")
SPEC = JobSpec(name="train", entrypoint=Script(path="/train.py"), nodes=2, nproc=2, env={"TOKEN": "s3cret"})


def say(kind: type[Message], seconds: float, *, mark: str = "", job: JobRef | None = JOB, **more: object) -> Message:
    """Return a message of this kind at this second of the story."""
    name = f"{kind.__name__}-{seconds}-{mark}-{job.uid if job else ''}-{more.get('incident', '')}"
    return kind.model_validate({"id": name, "time": at(seconds), "pool": POOL, "job": job} | more)


def placed(job: JobRef = JOB, nodes: int = 2) -> list[dict[str, object]]:
    """Return two ranks on each of the nodes n1, n2, ..."""
    return [
        {
            "task": {"name": f"worker-{i}", "uid": f"{job.uid}-t{i}", "index": i},
            "node": f"n{i + 1}",
            "ranks": (2 * i, 2 * i + 1),
        }
        for i in range(nodes)
    ]


def began(job: JobRef = JOB, seconds: float = 0) -> list[Message]:
    """Return a job's start: accepted, placed on n1 and n2, stepping."""
    tasks = [say(e.FirstStepDone, seconds + 5, mark=str(i), job=job, task=f"{job.uid}-t{i}", generation=1, step=1)
             for i in (0, 1)]  # fmt: skip
    return [
        say(e.JobAccepted, seconds, job=job, spec=SPEC),
        say(e.JobStarted, seconds + 1, job=job, generation=1, placement=placed(job)),
        *tasks,
    ]


def saved(step: int, seconds: float, *, save_s: float | None, job: JobRef = JOB) -> list[Message]:
    """Return a checkpoint whose files are found and whole."""
    path = f"/c/step-{step}.pt"
    return [
        say(e.CheckpointSaved, seconds, job=job, step=step, path=path, files=(path,), ranks=(0, 1, 2, 3),
            written=at(seconds), save_s=save_s),
        say(e.CheckpointCommitted, seconds + 0.5, job=job, step=step, path=path, files=(path,)),
    ]  # fmt: skip


def exited(rank: int, seconds: float, *, job: JobRef = JOB, line: str = "", generation: int = 1) -> Message:
    """Return the fault that a rank's exit is."""
    task = rank // 2
    evidence = e.ExitEvidence(rank=rank, exit=Exit(signal=9 if not line else None, code=1 if line else None),
                              step=30, last_lines=(line,) if line else ())  # fmt: skip
    return say(
        e.FaultDetected, seconds, mark=f"r{rank}", job=job, task=f"{job.uid}-t{task}", node=f"n{task + 1}",
        generation=generation, subject_name=f"rank {rank}", occurred=at(seconds - 0.1), evidence=evidence,
        because=f"rank {rank} exited",
    )  # fmt: skip


def verdict(rank: int, *, category: Category = Category.UNKNOWN, job: JobRef = JOB) -> e.Verdict:
    """Return a verdict that blames a rank."""
    task = rank // 2
    return e.Verdict.model_validate(
        {
            "category": category,
            "culprit": {"rank": rank, "task": f"{job.uid}-t{task}", "node": f"n{task + 1}"},
            "confidence": 0.9,
            "because": f"rank {rank} was killed from outside",
            "rule": "exit",
        }
    )


def accounts() -> e.Accounts:
    """Return accounts whose parts add up to four seconds."""
    return e.Accounts(
        detect_s=0.1, decide_s=0.3, isolate_s=0, reschedule_s=0.6, init_s=0.5, load_s=0.1, first_step_s=0.4,
        recompute_s=2, wall_s=4, lost_steps=10,
    )  # fmt: skip


def struck(
    incident: str, seconds: float, *, job: JobRef = JOB, culprit: int = 3, victims: Iterable[int] = (), end: bool = True
) -> list[Message]:
    """Return an incident from its first fault to its end: a rank is killed, others lose their peer."""
    first = exited(culprit, seconds, job=job)
    peers = [exited(rank, seconds + 0.05, job=job, line=f"recv from 10.0.0.{rank}: Connection reset by peer")
             for rank in victims]  # fmt: skip
    opened: list[Message] = [first, say(e.IncidentOpened, seconds + 0.1, job=job, incident=incident,
                                        fault=first.id, because="first fault")]  # fmt: skip
    diagnosed = say(
        e.FaultDiagnosed, seconds + 0.3, job=job, incident=incident, verdict=verdict(culprit, job=job), attempt=1,
        faults=[first.id, *(one.id for one in peers)], occurred=at(seconds - 0.1), detected=at(seconds),
    )  # fmt: skip
    story = [*opened, *peers, diagnosed]
    if end:
        story += [
            say(e.RecoveryPlanned, seconds + 0.4, job=job, incident=incident, attempt=1, level=Level.IN_PLACE,
                to_generation=2, because="mildest of in-place, pod"),
            say(e.JobResumed, seconds + 2, job=job, incident=incident, attempt=1, level=Level.IN_PLACE, step=21,
                lost_steps=10, because="all stepped"),
            say(e.IncidentClosed, seconds + 2, job=job, incident=incident, outcome=Outcome.RESUMED,
                category=Category.UNKNOWN, levels=[Level.IN_PLACE], attempts=1, accounts=accounts(), because="steps"),
        ]  # fmt: skip
    return story


def beat(
    job: JobRef = JOB, *, task: int = 0, step: int = 10, generation: int = 1, loss: float | None = None
) -> Heartbeat:
    """Return a heartbeat of a task with two ranks in their steps."""
    ranks = tuple(
        RankBeat(rank=rank, pid=1, step=step, phase="step", step_s=0.5, loss=loss) for rank in (2 * task, 2 * task + 1)
    )
    return Heartbeat(
        time=at(0), pool=POOL, job=job, task=TaskRef(name=f"worker-{task}", uid=TaskUid(f"{job.uid}-t{task}"),
        index=task), node=NodeName(f"n{task + 1}"), generation=generation, boot="b", sequence=1, ranks=ranks,
    )  # fmt: skip


def heard(*messages: Message, model: PoolModel | None = None, first: int = 1) -> PoolModel:
    """Return a model that heard these messages in this order."""
    found = model or PoolModel(POOL)
    for cursor, message in enumerate(messages, first):
        found.hear(message, cursor)
    return found


def now(seconds: float = 100) -> datetime:
    """Return a second of the story."""
    return at(seconds)
