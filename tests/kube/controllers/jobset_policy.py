"""How a JobSet looks at its child Jobs, and which of its failure policy rules takes one that failed."""

import re

from ..server.objects import Obj, labels_of
from .jobset_child import ROLE
from .pods import condition, holds


def has_ended(job: Obj) -> bool:
    """Tell whether the Job is over."""
    return holds(job, "Failed") or holds(job, "Complete")


def is_ready(job: Obj) -> bool:
    """Tell whether all pods that the Job runs at a time are ready."""
    status = job.get("status", {})
    if has_ended(job):
        return False
    wanted: int = min(job["spec"].get("parallelism", 1), job["spec"].get("completions", 1))
    there: int = (status.get("ready") or 0) + (status.get("succeeded") or 0)
    return there >= wanted


def failed_at(job: Obj) -> str:
    """Return when the Job failed."""
    found = condition(job, "Failed") or {}
    at: str = found.get("lastTransitionTime", "")
    return at


def takes(rule: Obj, job: Obj) -> bool:
    """Tell whether a failure policy rule takes this failed Job."""
    found = condition(job, "Failed") or {}
    roles = rule.get("targetReplicatedJobs") or ()
    reasons = rule.get("onJobFailureReasons") or ()
    patterns = rule.get("onJobFailureMessagePatterns") or ()
    if roles and labels_of(job)[ROLE] not in roles:
        return False
    if reasons and found.get("reason") not in reasons:
        return False
    return not patterns or any(re.search(pattern, found.get("message", "")) for pattern in patterns)
