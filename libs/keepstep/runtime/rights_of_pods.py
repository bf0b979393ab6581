"""What the agent of one pod may do, and what its account may reach of the bus's own: agents are trusted least.

They live in an account of their own (``EDGE``), without stream or bucket. What they say and ask crosses into the bus's
account (``CORE``) by the subjects that are listed here and no others; the server brings the answer back into theirs,
whatever place the asker named for it. Inside the account each is held to its pod: the gate gives it these rights.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from keepstep.contracts.events import SAID_BY, DeviceReported, LinkReported, NodeReported
from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid, key_of, subject_token
from keepstep.contracts.message import Message
from keepstep.contracts.subjects import AGENT, kind_pattern
from keepstep.runtime import names
from keepstep.runtime.rights import OUTSIDE, Rights, all_rights, inbox, outside_rights, user_of

CORE = "keepstep"
EDGE = "keepstep-edge"
GATE = "gate"
CALLOUT = "$SYS.REQ.USER.AUTH"
"""Where the server asks whom to let in (NATS 2.10); only the gate's user hears it."""
API = "keepstep-api"
"""What ``$JS.API`` is called in the account of the agents, which has no JetStream of its own."""
INBOXES = "_INBOX_pod"
RIGHTS_LAST = timedelta(minutes=10)
"""How long rights count that the gate gave; agents ask anew from two fifths of it on.

So long a pod that was bound anew could go on speaking for its former task, were it taken over, and a pod that is gone.
So long, less the three fifths, may all gates be away before an agent that is in is cut off.
"""
OF_NODES: tuple[type[Message], ...] = (DeviceReported, NodeReported, LinkReported)
"""What agents of nodes say; no task's agent may."""
KINDS = tuple(kind for kind in SAID_BY[AGENT] if kind not in OF_NODES)


@dataclass(frozen=True)
class Caller:
    """Who knocks, as he says himself: the agent of a pod's task, or of the node that the pod is on."""

    pool: Pool
    pod: str
    node: NodeName | None = None

    @property
    def user(self) -> str:
        """Return his name on the bus."""
        place = (self.pod,) if self.node is None else (self.node, self.pod)
        return ".".join(("pod" if self.node is None else "node", *map(subject_token, (self.pool, *place))))


def caller_of(user: str) -> Caller | None:
    """Return whom such a name means, None for any other."""
    kind, *tokens = user.split(".")
    try:
        names_ = [key_of(token) for token in tokens]
    except ValueError:
        return None
    match kind, names_:
        case "pod", [str(pool), str(pod)] if pool and pod:
            return Caller(Pool(pool), pod)
        case "node", [str(pool), str(node), str(pod)] if pool and node and pod:
            return Caller(Pool(pool), pod, NodeName(node))
    return None


def pod_inbox(pod: str) -> str:
    """Return the prefix of the subjects on which answers to the agent of a pod arrive."""
    return f"{INBOXES}.{subject_token(pod)}"


def agent_rights(pool: Pool, *, pod: str, job: JobUid | None = None, task: TaskUid | None = None) -> Rights:
    """Return what the agent of one pod may do: find its task, ask the time, and speak and read for that task alone."""
    granted = [*_key(names.pods_bucket(pool), subject_token(pod)), _time(pool)]
    if job is not None and task is not None:
        granted += [kind_pattern(pool, kind.__name__, speaker=AGENT, key=job, place=task) for kind in KINDS]
        granted.append(names.telemetry_subject(pool, task))
        plans = names.plans_bucket(pool)
        granted += _key(plans, subject_token(job))
        granted.append(f"{API}.DIRECT.GET.KV_{plans}.$KV.{plans}.{subject_token(job)}.{subject_token(task)}")
    return Rights(Caller(pool, pod).user, tuple(dict.fromkeys(granted)), (f"{pod_inbox(pod)}.>",))


def node_agent_rights(pool: Pool, *, pod: str, node: NodeName) -> Rights:
    """Return what the agent of a node may do: speak for that node alone, and ask what time it is."""
    words = [kind_pattern(pool, kind.__name__, speaker=AGENT, key=node, place=node) for kind in OF_NODES]
    return Rights(Caller(pool, pod, node).user, (*words, _time(pool)), (f"{pod_inbox(pod)}.>",))


def _time(pool: Pool) -> str:
    """To ask the bus what time it is, as ``Client.time`` does."""
    return f"{API}.STREAM.INFO.KV_{names.plans_bucket(pool)}"


def gate_rights(pools: Iterable[Pool]) -> Rights:
    """Return what the gate may do: hear who knocks, look up which task a pod is, and answer."""
    looks = [f"$JS.API.STREAM.MSG.GET.KV_{names.pods_bucket(pool)}" for pool in pools]
    return Rights(GATE, tuple(looks), (f"{inbox(GATE)}.>", CALLOUT), responds=True)


def cluster_rights(*pools: Pool) -> tuple[Rights, ...]:
    """Return the rights of every user of a cluster's bus that has a password, in the order of their names.

    Folds are in Redis there, and agents have no password: the gate lets each pod in by its token.
    """
    shared = {user_of(AGENT, pool) for pool in pools}
    found = [rights for rights in all_rights(*pools, folds_on_bus=False) if rights.user not in shared]
    return tuple(sorted((*found, gate_rights(pools)), key=lambda rights: rights.user))


def crossings(pools: Sequence[Pool]) -> tuple[tuple[str, str], ...]:
    """Return what may be said and asked from the agents' account: the subject there, and in the bus's own."""
    found: list[tuple[str, str]] = []
    for pool in pools:
        words = [kind_pattern(pool, kind.__name__, speaker=AGENT) for kind in SAID_BY[AGENT]]
        said = [*words, *outside_rights(pool).publish, names.telemetry_subject(pool, "*")]
        found += [(subject, subject) for subject in said]
        asked = [f"STREAM.INFO.KV_{names.plans_bucket(pool)}"]
        for bucket in (names.plans_bucket(pool), names.pods_bucket(pool)):
            asked += _asked(f"KV_{bucket}")
        found += [(f"{API}.{each}", f"$JS.API.{each}") for each in asked]
    return tuple(found)


def at_edge(rights: Rights) -> bool:
    """Return whether a user with a password lives where the agents do."""
    return rights.user.partition(".")[0] == OUTSIDE


def _asked(stream: str) -> tuple[str, ...]:
    return (
        f"DIRECT.GET.{stream}.>",
        f"CONSUMER.CREATE.{stream}.>",
        f"CONSUMER.INFO.{stream}.*",
    )


def _key(bucket: str, key: str) -> list[str]:
    """To read one key of a bucket and follow it; no other is seen, and none is listed."""
    stream, subject = f"KV_{bucket}", f"$KV.{bucket}.{key}"
    return [
        f"{API}.DIRECT.GET.{stream}.{subject}",
        f"{API}.CONSUMER.CREATE.{stream}.*.{subject}",
        f"{API}.CONSUMER.INFO.{stream}.*",
    ]
