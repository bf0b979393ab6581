"""The job kinds by name: what people choose from, apart from all that is known of a kind and takes time to load."""

from enum import StrEnum


class JobKind(StrEnum):
    """The five job controllers."""

    VOLCANO = "volcano"
    PYTORCHJOB = "pytorchjob"
    TRAINJOB = "trainjob"
    JOBSET = "jobset"
    JOB = "job"
