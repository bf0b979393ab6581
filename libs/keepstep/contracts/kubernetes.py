"""What a job on a Kubernetes cluster has beside its specification: the object that its pods are made by."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from keepstep.contracts.model import Strict


class JobKind(StrEnum):
    """The five job controllers."""

    VOLCANO = "volcano"
    PYTORCHJOB = "pytorchjob"
    TRAINJOB = "trainjob"
    JOBSET = "jobset"
    JOB = "job"


class SourceType(StrEnum):
    """Where a data source comes from; storage that a platform attaches to a pool is a claim of its name."""

    PVC = "pvc"
    PFS = "pfs"
    CFS = "cfs"
    BOS = "bos"
    HOSTPATH = "hostpath"
    NFS = "nfs"


class DataSource(Strict):
    """A folder of the pods that comes from elsewhere."""

    type: SourceType
    name: str
    """The claim, the folder of the node, or ``SERVER:/PATH``."""
    path: str
    """Where it is in the pods, absolute."""


class OnKubernetes(Strict):
    """Where a job is made, and what its pods are given there."""

    image: str = Field(min_length=1)
    namespace: str = "default"
    kind: JobKind | None = None
    """None takes the first that the cluster has: gangs first, then what lets a single pod be replaced."""
    queue: str = ""
    priority: str = ""
    """A PriorityClass of the cluster."""
    resources: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Devices of each pod by resource, as ``nvidia.com/gpu``."""
    sources: tuple[DataSource, ...] = ()
    restart: Literal["Never", "ExitCode"] = "Never"
    product: str = ""
    """What it trains on, where its levels are known by that; "" for whatever it is."""


class KubernetesJob(OnKubernetes):
    """What the object of a job says beside what stands in its ``JobSpec``; every pod runs the same command."""

    command: tuple[str, ...] = Field(min_length=1)
    """As a container has it: words of the image, which keepstep reads and wraps."""
    nproc: int | None = Field(default=None, ge=1, le=1024)
    """Ranks of each pod where the command leaves their number open; None takes one for each device, or one."""
