"""Decides who is let in: pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Shown:
    """What a token proved: the pod that it was made for, its namespace, its node ("" if unsaid), and when it ends."""

    pod: str
    namespace: str
    node: str
    until: datetime


@dataclass(frozen=True)
class Claim:
    """Who somebody says he is: the agent of a pod, or that of a node, running in a pod."""

    pool: str
    pod: str
    node: str | None = None


def last_moment(shown: Shown, *, now: datetime, lasts: timedelta) -> datetime:
    """Return when the rights end that are given now: soon, as which task a pod is may change before its token ends."""
    return min(shown.until, now + lasts)


def objection(claim: Claim, shown: Shown, *, granted: bool, now: datetime) -> str:
    """Return why somebody is not let in as whom he claims to be, "" where he is.

    ``granted`` tells whether his namespace grants its ServiceAccounts what such agents do.
    """
    if shown.pod != claim.pod:
        return f"the token is pod {shown.pod}'s, not pod {claim.pod}'s"
    if claim.node is not None and shown.node != claim.node:
        return f"the token says node {shown.node or '(none: Kubernetes 1.30 or newer does)'}, not {claim.node}"
    if shown.until <= now:
        return f"the token counted until {shown.until.isoformat()}"
    if granted:
        return ""
    if claim.node is not None:
        return f"namespace {shown.namespace} does not let its pods report of nodes: they are those of k8s/nodes"
    return (
        f"namespace {shown.namespace} does not let its pods join pool {claim.pool}: "
        f"kubectl apply -n {shown.namespace} -k k8s/jobs"
    )
