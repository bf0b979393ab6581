"""One job as the diagnoser hears of it: its fold, the clock of its stream, and all that was said."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from keepstep.contracts.events import (
    CheckpointChosen,
    DeadlinePassed,
    FaultDiagnosed,
    IncidentClosed,
    IncidentOpened,
    JobAccepted,
    JobStarted,
    Placed,
    RanksStarted,
    RecoveryPlanned,
    RecoveryStarted,
)
from keepstep.contracts.ids import EventId, NodeName, Pool, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level, Outcome, Service
from keepstep.contracts.topology import Command, JobSpec, TaskRef
from keepstep.diagnoser.core import JobFold, deadlines, decide, fold_key
from tests.diagnosis.facts import (
    JOB,
    NPROC,
    START,
    node_of,
    raised,
    task_of,
)

USER_ERROR = raised("ValueError: bad batch")


def about(what: str, generation: int = 1) -> dict[str, Any]:
    """Return an envelope of the job."""
    identity = EventId(derive(what, generation))
    return {"id": identity, "time": START, "pool": Pool("default"), "job": JOB, "generation": generation}


def placement(nodes: int, incarnation: str = "") -> tuple[Placed, ...]:
    return tuple(
        Placed(
            task=TaskRef(name=f"worker-{i}", uid=task_of(i * NPROC) + incarnation, index=i),
            node=node_of(i * NPROC),
            ranks=tuple(range(i * NPROC, (i + 1) * NPROC)),
        )
        for i in range(nodes)
    )


@dataclass
class Case:
    """The diagnoser's fold of one job, the clock of its stream and all it said."""

    nodes: int = 2
    fold: JobFold | None = None
    now: datetime = START
    said: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        spec = JobSpec(name="train", entrypoint=Command(argv=("x",)), nodes=self.nodes, nproc=NPROC)
        self.hear(
            JobAccepted(**about("accepted"), spec=spec), JobStarted(**about("s"), placement=placement(self.nodes))
        )

    def hear(self, *messages: Message) -> list[Message]:
        """Decide on the messages at the present moment and return what was said."""
        before = len(self.said)
        for message in messages:
            assert fold_key(message) == JOB.uid
            decision = decide(self.fold, message, self.now)
            self.fold = JobFold.model_validate_json(decision.state.model_dump_json())
            self.said.extend(decision.says)
        return self.said[before:]

    def wait(self, seconds: float) -> list[Message]:
        """Let time pass and deadlines with it."""
        assert self.fold is not None
        until = self.now + timedelta(seconds=seconds)
        before = len(self.said)
        for deadline in list(deadlines(self.fold)):
            if deadline.due <= until:
                self.now = max(self.now, deadline.due)
                fields = about(deadline.what) | {"time": self.now}
                self.hear(
                    DeadlinePassed(
                        **fields, service=Service.DIAGNOSER, scope=JOB.uid, what=deadline.what, due=deadline.due
                    )
                )
        self.now = until
        return self.said[before:]

    def restart(self, to: int, *, resume: int | None = 20, moved: int | None = None, away: bool = True) -> None:
        """Let the recovery of the attempt begin generation ``to``, with the task ``moved`` replaced, ``away`` if so."""
        planned = RecoveryPlanned(
            **about("plan", to), attempt=1, level=Level.IN_PLACE, to_generation=to, resume_step=resume, because="x"
        )
        choice = CheckpointChosen(**about("choice", to), step=resume, path=f"/c/step_{resume}.pt", because="newest")
        started = RecoveryStarted(
            **about("started", to), attempt=1, level=Level.IN_PLACE, from_generation=to - 1, to_generation=to
        )
        places = placement(self.nodes)
        if moved is not None:
            former = places[moved]
            planned = planned.model_copy(update={"replace": (former.task.uid,)})
            ref = former.task.model_copy(update={"uid": f"{former.task.uid}-{to}"})
            new = former.model_copy(update={"task": ref, "node": NodeName("spare") if away else former.node})
            places = (*places[:moved], new, *places[moved + 1 :])
        self.hear(choice, planned, started, RanksStarted(**about("ranks", to), attempt=1, placement=places))

    def close(self, outcome: Outcome = Outcome.RESUMED) -> None:
        """Close the open incident."""
        assert self.fold is not None
        assert self.fold.incident is not None
        incident = self.fold.incident.id
        self.hear(
            IncidentClosed(
                **about(f"closed {incident}"),
                incident=incident,
                outcome=outcome,
                category=Category.UNKNOWN,
                because="x",
            )
        )

    @property
    def opened(self) -> list[IncidentOpened]:
        """Incidents opened so far."""
        return [message for message in self.said if isinstance(message, IncidentOpened)]

    @property
    def verdicts(self) -> list[FaultDiagnosed]:
        """Verdicts said so far."""
        return [message for message in self.said if isinstance(message, FaultDiagnosed)]
