"""Where objects live in the API: their collections. A job kind names its own; ``kube_paths`` knows them all."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """A collection. ``api`` is ``group/version`` or ``v1``; ``kind`` is the word that its objects bear."""

    api: str
    plural: str
    kind: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", sub: str = "") -> str:
        """Return the path of the collection, of one object or of its subresource."""
        root = f"/api/{self.api}" if "/" not in self.api else f"/apis/{self.api}"
        within = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return "/".join(part for part in (f"{root}{within}/{self.plural}", name, sub) if part)


PODS = Resource("v1", "pods", "Pod")
NODES = Resource("v1", "nodes", "Node", namespaced=False)
EVENTS = Resource("v1", "events", "Event")
CONFIG_MAPS = Resource("v1", "configmaps", "ConfigMap")
SECRETS = Resource("v1", "secrets", "Secret")
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io/v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
COMMANDS = Resource("bus.volcano.sh/v1alpha1", "commands", "Command")
RUNTIMES = Resource("trainer.kubeflow.org/v1alpha1", "trainingruntimes", "TrainingRuntime")
CLUSTER_RUNTIMES = Resource(
    "trainer.kubeflow.org/v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", namespaced=False
)
NOT_JOBS = (PODS, NODES, EVENTS, CONFIG_MAPS, SECRETS, MUTATING_WEBHOOKS, COMMANDS, RUNTIMES, CLUSTER_RUNTIMES)
"""What keepstep reads and writes beside job objects."""
