"""Names of streams, buckets and subjects, in one place so that writers and readers cannot disagree."""

from collections.abc import Iterable

from keepstep.contracts.ids import Pool, subject_token
from keepstep.contracts.taxonomy import Service


def stream_name(pool: Pool) -> str:
    """Return the name of the pool's stream of observations, facts and decisions."""
    return f"keepstep-{subject_token(pool)}"


def stream_subjects(pool: Pool) -> str:
    """Return the pattern of all subjects of the pool's stream."""
    return f"keepstep.{subject_token(pool)}.>"


def event_subjects(pool: Pool, name: str) -> str:
    """Return the pattern of the subjects of one type of message, whatever its key and whoever says it."""
    return f"keepstep.{subject_token(pool)}.{name}.>"


def kind_subjects(pool: Pool, kinds: Iterable[str], *, hearer: Service | None = None) -> list[str]:
    """Return the patterns of all subjects of messages of these types; of every type if none is named.

    A service that is the ``hearer`` has no use for the deadlines of others; their former subjects named nobody.
    """
    found = [event_subjects(pool, kind) for kind in sorted(set(kinds))] or [stream_subjects(pool)]
    deadlines = event_subjects(pool, "DeadlinePassed")
    if hearer is None or deadlines not in found:
        return found
    own = deadlines.removesuffix(">") + "*"
    return [*(each for each in found if each != deadlines), own, f"{own}.{hearer}"]


def deadletter_stream(pool: Pool) -> str:
    """Return the name of the pool's stream of dead letters."""
    return f"keepstep-deadletter-{subject_token(pool)}"


def deadletter_subject(pool: Pool, service: str) -> str:
    """Return where a service's dead letters go; ``*`` for all services."""
    return f"keepstep-deadletter.{subject_token(pool)}.{service}"


def plans_bucket(pool: Pool) -> str:
    """Return the bucket of the plan board."""
    return f"keepstep-plans-{subject_token(pool)}"


def pods_bucket(pool: Pool) -> str:
    """Return the bucket that says which task each pod is; keys are pod uids."""
    return f"keepstep-pods-{subject_token(pool)}"


def leases_bucket(pool: Pool) -> str:
    """Return the bucket of the leases."""
    return f"keepstep-leases-{subject_token(pool)}"


def folds_room(pool: Pool, service: Service) -> str:
    """Return where a service's folds are kept: a bucket's name, or a prefix."""
    return f"keepstep-folds-{subject_token(pool)}-{service}"


def telemetry_subject(pool: Pool, task: str) -> str:
    """Return where a task's heartbeats go; ``*`` for all tasks."""
    return f"keepstep-telemetry.{subject_token(pool)}.{task if task == '*' else subject_token(task)}"
