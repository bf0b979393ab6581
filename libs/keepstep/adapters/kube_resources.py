"""Where each kind lives in the API: the paths of the objects that keepstep reads and writes."""

from collections.abc import Mapping
from dataclasses import dataclass

from keepstep.adapters.kube_objects import ObjectRef
from keepstep.ports.errors import Permanent


@dataclass(frozen=True, slots=True)
class Resource:
    """A collection. ``api`` is ``group/version`` or ``v1``."""

    api: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", sub: str = "") -> str:
        """Return the path of the collection, of one object or of its subresource."""
        root = f"/api/{self.api}" if "/" not in self.api else f"/apis/{self.api}"
        within = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return "/".join(part for part in (f"{root}{within}/{self.plural}", name, sub) if part)


PODS = Resource("v1", "pods")
NODES = Resource("v1", "nodes", namespaced=False)
EVENTS = Resource("v1", "events")
CONFIG_MAPS = Resource("v1", "configmaps")
SECRETS = Resource("v1", "secrets")
MUTATING_WEBHOOKS = Resource("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", namespaced=False)
JOBS = Resource("batch/v1", "jobs")
VOLCANO_JOBS = Resource("batch.volcano.sh/v1alpha1", "jobs")
COMMANDS = Resource("bus.volcano.sh/v1alpha1", "commands")
PYTORCHJOBS = Resource("kubeflow.org/v1", "pytorchjobs")
TRAINJOBS = Resource("trainer.kubeflow.org/v1alpha1", "trainjobs")
RUNTIMES = Resource("trainer.kubeflow.org/v1alpha1", "trainingruntimes")
CLUSTER_RUNTIMES = Resource("trainer.kubeflow.org/v1alpha1", "clustertrainingruntimes", namespaced=False)
JOBSETS = Resource("jobset.x-k8s.io/v1alpha2", "jobsets")

_BY_KIND: Mapping[tuple[str, str], Resource] = {
    ("v1", "Pod"): PODS,
    ("v1", "Node"): NODES,
    ("v1", "Event"): EVENTS,
    ("v1", "ConfigMap"): CONFIG_MAPS,
    ("v1", "Secret"): SECRETS,
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): MUTATING_WEBHOOKS,
    ("batch/v1", "Job"): JOBS,
    ("batch.volcano.sh/v1alpha1", "Job"): VOLCANO_JOBS,
    ("bus.volcano.sh/v1alpha1", "Command"): COMMANDS,
    ("kubeflow.org/v1", "PyTorchJob"): PYTORCHJOBS,
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): TRAINJOBS,
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): RUNTIMES,
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"): CLUSTER_RUNTIMES,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): JOBSETS,
}


def resource_of(api: str, kind: str) -> Resource:
    """Return the collection of a kind; raises Permanent for one that keepstep does not know."""
    found = _BY_KIND.get((api, kind))
    if found is None:
        raise Permanent(f"{kind} of {api} is none of the kinds that keepstep reads or writes")
    return found


def path_of(ref: ObjectRef, sub: str = "") -> str:
    """Return the path of an object or of its subresource."""
    return resource_of(ref.api, ref.kind).path(ref.namespace, ref.name, sub)
