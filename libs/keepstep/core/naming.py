"""Which job people mean by what they write."""

from keepstep.contracts.topology import JobRef

SHORTEST_UID = 8
"""Digits of a uid that name a job: as many as listings and the folder of a run show."""


def means(name: str, job: JobRef) -> bool:
    """Return whether people mean this job: they say its name, its uid, or as much of the uid as listings show."""
    return name in (job.name, job.uid) or (len(name) >= SHORTEST_UID and job.uid.startswith(name))
