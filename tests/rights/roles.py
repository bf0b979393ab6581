"""The shipped Roles in a test cluster: those of the services, and what a namespace of jobs grants."""

from tests.kube.server import kinds
from tests.kube.server.store import Store
from tests.rights.manifests import K8S, documents, kustomization, of_kind


def put_roles(store: Store) -> None:
    """Give every service its Role."""
    for one in of_kind("ClusterRole"):
        store.create(kinds.CLUSTER_ROLE, one)
    for one in of_kind("ClusterRoleBinding"):
        store.create(kinds.CLUSTER_ROLE_BINDING, one)


def orders_in(store: Store, namespace: str) -> None:
    """Let orders make jobs in a namespace, as ``kubectl apply -k k8s/orders`` does."""
    for name in kustomization(K8S / "orders")["resources"]:
        for one in documents(K8S / "orders" / name):
            store.create(kinds.ROLE_BINDING, one, namespace)


def let_in(store: Store, namespace: str) -> None:
    """Let the pods of a namespace into the bus and incidents be kept there, as ``kubectl apply -k k8s/jobs`` does."""
    for name in kustomization(K8S / "jobs")["resources"]:
        for one in documents(K8S / "jobs" / name):
            store.create(kinds.ROLE_BINDING, one, namespace)
