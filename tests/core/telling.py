"""One job's messages for the tests of figures and reports: made with few words, at seconds after a start."""

from datetime import UTC, datetime, timedelta

from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, Pool, TaskUid, derive
from keepstep.contracts.message import Message
from keepstep.contracts.policy import IsolationPolicy, Policy
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Culprit, JobRef, JobSpec, Script

START = datetime(2026, 1, 1, tzinfo=UTC)
PARTS = {
    "detect_s": 1.0, "decide_s": 2.0, "isolate_s": 3.0, "reschedule_s": 4.0, "init_s": 5.0, "load_s": 6.0,
    "first_step_s": 7.0,
}  # fmt: skip
"""Of an interruption of 28 s, recomputation apart."""
OUTAGE_S = sum(PARTS.values())


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Job:
    """Says what would be said of one job."""

    def __init__(self, name: str = "train", uid: str = "j1", *, checkpoints: bool = True, pool: str = "p") -> None:
        self.ref = JobRef(name=name, uid=JobUid(uid))
        self.pool = Pool(pool)
        self._checkpoints = checkpoints

    def say(self, kind: type[Message], seconds: float, **fields: object) -> Message:
        """Return a message of this kind; its id is made of kind, job, second and incident."""
        name = derive(kind.__name__, self.ref.uid, str(seconds), str(fields.get("incident")), str(fields.get("node")))
        base = {"id": EventId(name), "time": at(seconds), "pool": self.pool, "job": self.ref}
        return kind.model_validate(base | fields)

    def accepted(self, seconds: float = 0.0, isolation: IsolationPolicy | None = None) -> Message:
        spec = JobSpec(
            name="train",
            entrypoint=Script(path="/t.py"),
            checkpoint_dir="/c" if self._checkpoints else None,
            policy=Policy(isolation=isolation or IsolationPolicy()),
        )
        return self.say(e.JobAccepted, seconds, spec=spec)

    def stepping(self, seconds: float, step: int = 1) -> Message:
        return self.say(e.FirstStepDone, seconds, step=step, task=TaskUid("t0"), generation=1)

    def fault(self, seconds: float) -> Message:
        evidence = e.ExitEvidence(rank=3, exit=Exit(signal=9), step=30, last_lines=("boom <b>",))
        return self.say(
            e.FaultDetected, seconds + 1, subject_name="rank 3", occurred=at(seconds), evidence=evidence, because="gone"
        )

    def incident(
        self, seconds: float, name: str = "i1", *, recompute: float = 0.0, lost: int = 0, step: int = 20,
        level: Level = Level.IN_PLACE,
    ) -> list[Message]:  # fmt: skip
        """Return an incident that occurred then, resumed after 28 s, and had so much to recompute."""
        who = IncidentId(f"{self.ref.uid}-{name}")
        fault, ended = self.fault(seconds), seconds + OUTAGE_S
        verdict = e.Verdict(
            category=Category.UNKNOWN,
            culprit=Culprit(rank=3, task=TaskUid("t0"), node=NodeName("n2")),
            confidence=0.5,
            because="SIGKILL from <outside>",
            rule="exit",
        )
        accounts = e.Accounts(**PARTS, recompute_s=recompute, wall_s=OUTAGE_S + recompute, lost_steps=lost)
        return [
            fault,
            self.say(e.IncidentOpened, seconds + 1, incident=who, fault=fault.id, because="first"),
            self.say(
                e.FaultDiagnosed, seconds + 3, incident=who, verdict=verdict, faults=(fault.id,), occurred=at(seconds),
                detected=at(seconds + 1),
            ),
            self.say(
                e.RecoveryPlanned, seconds + 6, incident=who, attempt=1, level=level, to_generation=2, because="mildest"
            ),
            self.say(e.RanksStarted, seconds + 10, incident=who, attempt=1, placement=()),
            self.say(
                e.JobResumed, ended, incident=who, attempt=1, level=level, step=step, lost_steps=lost, because="ok"
            ),
            self.say(
                e.IncidentClosed, ended, incident=who, outcome=Outcome.RESUMED, category=Category.UNKNOWN,
                levels=(level,), attempts=1, accounts=accounts, because="ok",
            ),
        ]  # fmt: skip

    def committed(self, seconds: float, step: int) -> Message:
        return self.say(e.CheckpointCommitted, seconds, step=step, path="/c/s", files=("f",))

    def started(self, seconds: float) -> Message:
        return self.say(e.JobStarted, seconds, placement=())

    def saved(self, seconds: float, step: int, *, written: float, save_s: float | None = None) -> Message:
        return self.say(
            e.CheckpointSaved, seconds, step=step, path="/c", files=("f",), ranks=(0,), written=at(written),
            save_s=save_s,
        )  # fmt: skip

    def isolated(self, seconds: float, node: str, incident: str | None = None) -> Message:
        return self.say(e.NodeIsolated, seconds, job=None, node=node, reason="r", because="b", incident=incident)

    def succeeded(self, seconds: float, step: int | None = None) -> Message:
        return self.say(e.JobSucceeded, seconds, step=step)
