"""Policy: every limit, window and budget, with its unit and the reason for its default.

A policy file (TOML or JSON) holds the same tables; durations are seconds or ISO 8601. An unknown field is refused.
"""

from datetime import timedelta
from typing import Literal

from pydantic import Field, field_validator

from keepstep.contracts.duration import Duration, seconds
from keepstep.contracts.model import Strict
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.pattern import GroupPattern, Pattern
from keepstep.contracts.taxonomy import Category, Level, Phase

PHASE_LIMITS: dict[Phase, timedelta] = {
    Phase.STARTING: seconds(900),
    Phase.INIT: seconds(900),
    Phase.LOAD: seconds(1800),
    Phase.COMPILE: seconds(3600),
    Phase.EVALUATION: seconds(3600),
    Phase.CHECKPOINT: seconds(1800),
}
"""Start-up tolerance 15 min after the seeds; compile, evaluation and checkpoint take tens of minutes."""
LEVEL_DEADLINES: dict[Level, timedelta] = {
    Level.WAIT: seconds(60),
    Level.IN_PLACE: seconds(900),
    Level.POD: seconds(1200),
    Level.JOB: seconds(1800),
}
"""The first step may take its 15 min of start-up tolerance; replacements also wait for places."""


EXACT = 2**53 - 1
"""The largest whole number that every reader of JSON has exactly."""


class LogPattern(Strict):
    """A line of a rank's output that is a fault in itself."""

    name: str
    regex: str
    """Of the plain kind, without look-around and back-references: see ``contracts.pattern``."""
    category: Category = Category.UNKNOWN

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            Pattern(value)
        except ValueError as error:
            raise ValueError(f"regex {value[:200]!r} cannot be used: {error}") from error
        return value


class DetectionPolicy(Strict):
    """When something is called a fault."""

    heartbeat_every: Duration = Field(default=seconds(1), gt=timedelta(0))
    """Cheap enough for 100,000 agents, fine enough for a 5 s verdict on a stopped rank."""
    loss_window: Duration = seconds(10)
    """Ten missed heartbeats: longer than an agent restart (about 2 s) and a server restart."""
    blind_share: float = Field(default=0.30, gt=0, le=1)
    """More than this share of agents silent in one window means that the detector is blind (PROTOCOL section 3).

    The pool's matter, as is ``blind_minimum``: the detector has it from its environment, and a job that differs is
    refused.
    """
    blind_minimum: int = Field(default=5, ge=1, le=EXACT)
    """Below five agents a share says nothing."""
    stopped_after: Duration = seconds(2)
    """A process in state T, D or Z this long is not being stepped by a debugger by accident."""
    uninterruptible_after: Duration = seconds(60)
    """State D alone is ordinary for a minute of slow storage."""
    hang_detection: bool = True
    hang_limit: Duration = seconds(600)
    """As long as torch gives a collective by default."""
    outlier_after: Duration = seconds(30)
    """A rank with no CPU time and a still stack this long, while its peers wait for it, is stuck."""
    phase_limits: dict[Phase, Duration] = Field(default_factory=PHASE_LIMITS.copy)
    """By phase; one that is left out keeps its limit, and ``step`` has ``hang_limit`` unless it is named."""
    log_patterns: tuple[LogPattern, ...] = ()
    settle_first: Duration = seconds(0.15)
    """After a first exit without a cascade signature: cascades arrive within 100 ms on one machine."""
    settle_limit: Duration = seconds(2)
    """At most this long for evidence of other ranks."""

    @field_validator("phase_limits")
    @classmethod
    def _keeps_the_others(cls, value: dict[Phase, timedelta]) -> dict[Phase, timedelta]:
        return PHASE_LIMITS | value

    def limit_of(self, phase: Phase) -> timedelta:
        """Return how long a rank may go without a mark in this phase."""
        return self.phase_limits.get(phase, self.hang_limit)


class Budget(Strict):
    """How many recoveries of a kind are allowed in a sliding window, and what follows."""

    count: int = Field(ge=0, le=EXACT)
    window: Duration = seconds(3600)
    then: Level = Level.FAIL


class RecoveryPolicy(Strict):
    """How far and how often a job is recovered (PROTOCOL section 5)."""

    enabled: bool = True
    levels: tuple[Level, ...] = (Level.WAIT, Level.IN_PLACE, Level.POD, Level.JOB)
    """Levels the job allows; leave out ``job`` to never go beyond ``pod``."""
    crash: Budget = Budget(count=3, then=Level.POD)
    """Hang, network, collective time-out: a third restart in an hour that does not help needs new places."""
    unknown: Budget = Budget(count=3, then=Level.FAIL)
    user: Budget = Budget(count=2, then=Level.FAIL)
    """User code, configuration, data: one repeat rules out luck."""
    memory: Budget = Budget(count=2, then=Level.FAIL)
    restart_limit: int | None = Field(default=None, ge=0, le=EXACT)
    """All recoveries of the job together; None is unlimited."""
    rank0_in_place: bool = True
    join_deadline: Duration = seconds(5)
    stop_deadline: Duration = seconds(15)
    """Grace, kill and reaping fit in with room; after it the silent task is treated as unreachable."""
    reissue_margin: Duration = seconds(10)
    """Above self_fence_after: how much longer than an agent's own fence before a silent task is given out again."""
    level_deadlines: dict[Level, Duration] = Field(default_factory=LEVEL_DEADLINES.copy)
    """Until the first step; a level that is left out keeps its deadline."""
    pending: Literal["wait", "fail"] = "wait"
    pending_limit: Duration | None = None
    """How long a replacement may stay unplaced before the next level; None waits for a node.

    On a cluster a task is placed once its pod runs: the time in which an image is pulled counts, so leave room for it.
    """
    drain_wait: Duration = seconds(60)
    """How long a person's drain of a node may wait for the job's next checkpoint, so that few steps are lost."""
    instant_failure: Duration = seconds(10)
    """All tasks failing this soon after their start is a bad image or script: two tries."""
    resume_grace: Duration = seconds(30)
    """A job without marks counts as resumed when all ranks lived this long."""
    finish_grace: Duration = seconds(300)
    """How long ranks may run on after the first of them exited 0."""

    @field_validator("level_deadlines")
    @classmethod
    def _keeps_the_others(cls, value: dict[Level, timedelta]) -> dict[Level, timedelta]:
        return LEVEL_DEADLINES | value

    @property
    def longest(self) -> timedelta:
        """How long a recovery through every allowed level may take: past it an open incident is an alert."""
        limits = (self.level_deadlines.get(level, timedelta(0)) + self.stop_deadline for level in self.levels)
        return sum(limits, self.join_deadline)


class IsolationPolicy(Strict):
    """When hardware is kept away from jobs."""

    enabled: bool = True
    fleet_share: float = Field(default=0.1, ge=0, le=1)
    """At most max(1, share) of the fleet out at once: a bad sensor must not empty it."""
    job_share: float = Field(default=0.5, ge=0, le=1)
    dry_run: frozenset[str] = frozenset()
    """Rules that only say what they would do; ``*`` is all of them."""
    storm_count: int = Field(default=5, ge=1, le=EXACT)
    storm_window: Duration = seconds(600)
    """More isolations than this in the window and the next is held for a person."""
    expiry: Duration = timedelta(days=7)
    """An isolation nobody looked at for a week is released after a health check."""
    release_after: Duration = seconds(60)
    """A lost node that is back and ready this long is released."""
    drain: Literal["no", "evict", "force"] = "no"
    """What becomes of pods of others on an isolated node, where the cluster runs any: a fault of a device seldom hurts
    them. ``evict`` asks for their eviction within their disruption budgets; ``force`` drives out what is left when
    ``drain_deadline`` has passed."""
    drain_deadline: Duration = seconds(600)
    """As long as pods of services usually need to be ready elsewhere, so that their budgets allow the next one."""


class CheckpointPolicy(Strict):
    """How checkpoints that the framework wrote are recognised."""

    pattern: str = (
        r"(?:^|/)(?:step|ckpt|checkpoint)[-_=]?(?P<step>\d+)(?:[-_.]rank[-_]?(?P<rank>\d+))?"
        r"(?:\.(?:pt|pth|bin|ckpt|json|safetensors))?$"
    )
    """Matched against the path below the checkpoint folder; ``step`` is required, ``rank`` makes files per rank. Of the
    plain kind, without repetitions inside a group that repeats: see ``contracts.pattern``.
    """
    scan_every: Duration = Field(default=seconds(0.5), gt=timedelta(0))
    stable_for: Duration = seconds(0.2)
    """A file whose size and modification time stood still this long is whole, if its header also loads."""
    shared: bool = True
    """The folder is the same on every node."""

    @field_validator("pattern")
    @classmethod
    def _has_step(cls, value: str) -> str:
        try:
            names = GroupPattern(value).names
        except ValueError as error:
            raise ValueError(f"pattern {value!r} is refused: {error}") from error
        if "step" not in names:
            raise ValueError("pattern needs a named group (?P<step>\\d+)")
        return value


class TrainerPolicy(Strict):
    """How ranks are started and stopped."""

    warm_ranks: int | None = Field(default=None, ge=0, le=EXACT)
    """Spare interpreters per task; None is one per local rank, so that a whole task restarts warm."""
    preload: tuple[str, ...] | None = None
    """Modules a warm rank imports; None is torch with what DDP pulls in late, if the script imports torch."""
    stop_grace: Duration = seconds(3)
    """From SIGTERM to SIGKILL; a rank without a handler is gone at once."""
    kill_deadline: Duration = seconds(5)
    """A rank not reaped this long after SIGKILL is unkillable."""
    log_keep: int = Field(default=2**28, ge=2**24, le=EXACT)
    """Newest bytes kept of a rank's stdout, and of its stderr: two million lines, 4 GiB for eight ranks."""
    self_fence_after: Duration = seconds(20)
    """Cut off and without a step this long, an agent stops its ranks (PROTOCOL section 4)."""


class Policy(Strict):
    """All of it; every field has a default, so an empty policy recovers."""

    detection: DetectionPolicy = DetectionPolicy()
    recovery: RecoveryPolicy = RecoveryPolicy()
    isolation: IsolationPolicy = IsolationPolicy()
    checkpoint: CheckpointPolicy = CheckpointPolicy()
    trainer: TrainerPolicy = TrainerPolicy()
    notification: NotificationPolicy = NotificationPolicy()
