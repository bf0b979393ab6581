"""Which Kubernetes the setting ``cluster`` names: ``kubernetes`` is the one around this pod or of the kubeconfig."""

from pathlib import Path

from keepstep.adapters.kube_client import Audit, KubeClient
from keepstep.adapters.kube_connect import connect

KUBERNETES = "kubernetes"


def client_of(setting: str, *, audit: Audit) -> KubeClient | None:
    """Return a client of the cluster that the setting names, None where it names no Kubernetes.

    ``kubernetes:<path>`` names a kubeconfig file. Raises Permanent when it cannot be read.
    """
    kind, _, path = setting.partition(":")
    if kind != KUBERNETES:
        return None
    return KubeClient(connect(Path(path) if path else None), audit=audit)
