"""The kinds this server knows, as data: group, names, scope and what the real registry does with each."""

from dataclasses import dataclass, field
from enum import StrEnum


class Dependents(StrEnum):
    """What becomes of owned objects when a delete names no propagationPolicy."""

    BACKGROUND = "Background"
    ORPHAN = "Orphan"


@dataclass(frozen=True, eq=False)
class Kind:
    """One resource. ``crd`` kinds need resourceVersion in a PUT and keep their metadata in a status write."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    status: bool = True
    generation: bool = True
    crd: bool = False
    graceful: bool = False
    dependents: Dependents = Dependents.BACKGROUND
    short: tuple[str, ...] = ()
    subresources: tuple[str, ...] = field(default=())

    @property
    def api_version(self) -> str:
        """Return group/version as objects carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """Return plural.group as errors name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified(self) -> str:
        """Return Kind.group as validation errors name it."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


def _core(kind: str, plural: str, *, namespaced: bool = True, status: bool = False) -> Kind:
    return Kind("", "v1", kind, plural, namespaced=namespaced, status=status, generation=False)


POD = Kind("", "v1", "Pod", "pods", graceful=True, short=("po",), subresources=("binding", "eviction", "log"))
NODE = _core("Node", "nodes", namespaced=False, status=True)
NAMESPACE = _core("Namespace", "namespaces", namespaced=False, status=True)
CONFIG_MAP = _core("ConfigMap", "configmaps")
SECRET = _core("Secret", "secrets")
SERVICE = _core("Service", "services", status=True)
SERVICE_ACCOUNT = _core("ServiceAccount", "serviceaccounts")
EVENT = _core("Event", "events")
PVC = _core("PersistentVolumeClaim", "persistentvolumeclaims", status=True)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases", status=False, generation=False)
JOB = Kind("batch", "v1", "Job", "jobs", dependents=Dependents.ORPHAN)
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets")
PDB = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", short=("pdb",))
PRIORITY_CLASS = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False, status=False)
VOLCANO_JOB = Kind("batch.volcano.sh", "v1alpha1", "Job", "jobs", crd=True, short=("vcjob",))
VOLCANO_COMMAND = Kind("bus.volcano.sh", "v1alpha1", "Command", "commands", crd=True, status=False)
VOLCANO_QUEUE = Kind("scheduling.volcano.sh", "v1beta1", "Queue", "queues", namespaced=False, crd=True)
POD_GROUP = Kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", crd=True)
PYTORCH_JOB = Kind("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", crd=True)
TRAIN_JOB = Kind("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs", crd=True)
TRAINING_RUNTIME = Kind("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes", crd=True)
CLUSTER_TRAINING_RUNTIME = Kind(
    "trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False, crd=True
)
JOB_SET = Kind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", crd=True)
KUEUE_WORKLOAD = Kind("kueue.x-k8s.io", "v1beta1", "Workload", "workloads", crd=True)
ROLE = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles", status=False, generation=False)
ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", status=False, generation=False)
CLUSTER_ROLE = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False, status=False, generation=False
)
CLUSTER_ROLE_BINDING = Kind(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    namespaced=False,
    status=False,
    generation=False,
)
MUTATING_WEBHOOK = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
    status=False,
)
CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)

KINDS: tuple[Kind, ...] = tuple(kind for kind in list(globals().values()) if isinstance(kind, Kind))
"""All of them. Which custom ones a server shows is the server's choice (a cluster without Volcano has no vcjobs)."""

BY_API: dict[tuple[str, str], Kind] = {(kind.api_version, kind.kind): kind for kind in KINDS}
"""Finds a kind by an object's apiVersion and kind."""
