"""Names of namespaces, and where orders make jobs: a list that whoever runs keepstep writes."""

import re
from collections.abc import Sequence

from keepstep.asking.refused import Refused

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/names"""
NOWHERE = (
    "namespace: orders make no jobs in this pool; keepstep job create --image makes them by your own right, and whoever"
    " runs keepstep can name namespaces in KEEPSTEP_CREATE_IN"
)


def check_namespace(namespace: str) -> None:
    """Raise Refused for what cannot be the name of a namespace."""
    if not _NAME.fullmatch(namespace):
        raise Refused(f"--namespace {namespace}: a name is at most 63 small letters, digits and -, as in train-1")


def elsewhere(namespace: str, allowed: Sequence[str]) -> str:
    """Return why no job is made in a namespace, with the remedy; "" where one is."""
    if namespace in allowed:
        return ""
    if not allowed:
        return NOWHERE
    return f"namespace {namespace}: orders make jobs of this pool in {', '.join(allowed)} alone; choose one of them"
