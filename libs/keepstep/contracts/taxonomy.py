"""The closed sets of words; each is matched exhaustively where it is used."""

from enum import StrEnum


class Category(StrEnum):
    """What a verdict says went wrong."""

    USER_CODE = "user_code"
    USER_CONFIG = "user_config"
    DATA = "data"
    OOM_DEVICE = "oom_device"
    OOM_HOST = "oom_host"
    DEVICE_HARDWARE = "device_hardware"
    DEVICE_DRIVER = "device_driver"
    NODE_HARDWARE = "node_hardware"
    NETWORK = "network"
    STORAGE = "storage"
    COLLECTIVE_TIMEOUT = "collective_timeout"
    HANG = "hang"
    PREEMPTED = "preempted"
    DELETED = "deleted"
    UNKNOWN = "unknown"


class Level(StrEnum):
    """How far a recovery goes, mildest first."""

    WAIT = "wait"
    IN_PLACE = "in-place"
    POD = "pod"
    JOB = "job"
    FAIL = "fail"


class Framework(StrEnum):
    """What trains; each is told of its place in its own way."""

    PYTORCH = "pytorch"
    MINDSPORE = "mindspore"
    TENSORFLOW = "tensorflow"


class Outcome(StrEnum):
    """How an incident ended."""

    RESUMED = "resumed"
    FAILED = "failed"
    CLEARED = "cleared"
    JOB_GONE = "job_gone"


class Phase(StrEnum):
    """What a rank says it is doing; each phase has its own limit before silence is a hang."""

    STARTING = "starting"
    INIT = "init"
    LOAD = "load"
    COMPILE = "compile"
    STEP = "step"
    EVALUATION = "evaluation"
    CHECKPOINT = "checkpoint"


class StallSign(StrEnum):
    """The positive evidence on which a stall is called."""

    STOPPED = "stopped"
    UNINTERRUPTIBLE = "uninterruptible"
    DEFUNCT = "defunct"
    OUTLIER = "outlier"
    NO_PROGRESS = "no_progress"


class LossCause(StrEnum):
    """By whom or what a task was taken away."""

    DELETED = "deleted"
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    NODE_LOST = "node_lost"
    DRAINED = "drained"
    """A person took its node out of use: planned, and nobody's fault."""
    LAUNCHER_EXITED = "launcher_exited"
    OOM_KILLED = "oom_killed"
    UNKNOWN = "unknown"


class PlanPhase(StrEnum):
    """What the plan of a generation asks of an agent."""

    STOP = "stop"
    RUN = "run"
    END = "end"


class Applied(StrEnum):
    """What an agent made of a plan."""

    STOPPED = "stopped"
    STARTED = "started"
    REFUSED = "refused"
    ENDED = "ended"


class Service(StrEnum):
    """The six services; each owns one stage."""

    DETECTOR = "detector"
    DIAGNOSER = "diagnoser"
    ISOLATOR = "isolator"
    SCHEDULER_ADAPTER = "scheduler-adapter"
    CHECKPOINT_MANAGER = "checkpoint-manager"
    NOTIFIER = "notifier"


class Role(StrEnum):
    """What a user of the console may do; each may what the ones before it may."""

    VIEWER = "viewer"
    """Read everything."""
    OPERATOR = "operator"
    """Isolate, drain, release, acknowledge, stop and create jobs, report faults."""
    ADMIN = "admin"
    """Also take keepstep's hands off a job and give it back: pause and resume."""

    def allows(self, wanted: "Role") -> bool:
        """Return whether this role includes another."""
        order = tuple(Role)
        return order.index(self) >= order.index(wanted)


class Entrance(StrEnum):
    """How somebody showed the console who he is."""

    TOKEN = "token"  # noqa: S105 - the word for it
    """A static token in the login's form, and the session that it began."""
    HEADER = "header"
    """A static token in the header of each request, as programs do."""
    OIDC = "oidc"
    """An OpenID provider, and the session that it began."""
    LOCAL = "local"
    """Nothing: there is no login, and the console answers the user of its machine alone."""


class Severity(StrEnum):
    """How urgently a person should look."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class AlertKind(StrEnum):
    """What a notice is an alert of; routes choose by it."""

    JOB_RUNNING = "job_running"
    JOB_FAILED = "job_failed"
    JOB_SUCCEEDED = "job_succeeded"
    JOB_WAITING = "job_waiting"
    JOB_STOPPED = "job_stopped"
    HANG = "hang"
    TOLERANCE = "tolerance"
    """A fault of a job and what became of it."""
    NODE_FAULT = "node_fault"
    """A node or device that is kept from jobs, or comes back to them."""
    STACK = "stack"
    """What keepstep says of itself, and what fits no other kind."""


class Stage(StrEnum):
    """Where the story of a thread stands; each has its own words in every language."""

    OPENED = "opened"
    DIAGNOSED = "diagnosed"
    ISOLATED = "isolated"
    DECLINED = "declined"
    """An isolation or a release that did not come about."""
    HELD = "held"
    """No rule isolates anything any more, or a drain cannot be done, until a person sees to it."""
    RECOVERING = "recovering"
    RETRYING = "retrying"
    """A level of recovery failed; another one follows, if there is one."""
    RESUMED = "resumed"
    FAILED = "failed"
    CLOSED = "closed"
    OVERDUE = "overdue"
    ESCALATED = "escalated"
    """Nobody has acknowledged the incident in the time that a rule gives."""
    ACKNOWLEDGED = "acknowledged"
    RELEASED = "released"
    DRAINED = "drained"
    RUNNING = "running"
    WAITING = "waiting"
    SUSPENDED = "suspended"
    """Somebody else than keepstep suspended the job."""
    SUCCEEDED = "succeeded"
    STOPPED = "stopped"
    PAUSED = "paused"
    UNPAUSED = "unpaused"
    BLINDED = "blinded"
    """So many agents are silent at once that none of them is believed."""
    SIGHTED = "sighted"
    BURIED = "buried"
    """A message lies among the dead letters."""
    NOTE = "note"
    """No step of a story: a message that stands for itself."""


class ChannelKind(StrEnum):
    """By which vendor or way a channel reaches people."""

    DINGTALK = "dingtalk"
    FEISHU = "feishu"
    LARK = "lark"
    WECOM = "wecom"
    SLACK = "slack"
    WEBHOOK = "webhook"
    MAIL = "mail"
    SMS = "sms"
    PHONE = "phone"
    APPRISE = "apprise"
    LOG = "log"


class Language(StrEnum):
    """In which words people are told."""

    ZH = "zh"
    EN = "en"
