"""Which Kubernetes the setting ``cluster`` names: ``kubernetes`` is the one around this pod or of the kubeconfig.

A client is loaded only where one is named: it is an extra of its own, and a workstation has no use for it.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keepstep.adapters.kube_client import Audit, KubeClient

KUBERNETES = "kubernetes"


def names_kubernetes(setting: str) -> bool:
    """Tell whether the setting names a Kubernetes."""
    return setting.partition(":")[0] == KUBERNETES


def client_of(setting: str, *, audit: "Audit") -> "KubeClient | None":
    """Return a client of the cluster that the setting names, None where it names no Kubernetes.

    ``kubernetes:<path>`` names a kubeconfig file. Raises Permanent when it cannot be read.
    """
    if not names_kubernetes(setting):
        return None
    from keepstep.adapters.kube_client import KubeClient  # noqa: PLC0415 - an extra of its own
    from keepstep.adapters.kube_connect import connect  # noqa: PLC0415 - of the same extra

    path = setting.partition(":")[2]
    return KubeClient(connect(Path(path) if path else None), audit=audit)
