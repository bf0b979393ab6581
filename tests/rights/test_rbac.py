"""Each service's Role grants what the table of its calls says, and nothing more."""

import pytest

from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_objects import group as group_of
from keepstep.adapters.kube_rights import ASKERS, GATE, HISTORY, NEEDS, OPTIONAL, ORDERS
from keepstep.adapters.kube_tokens import GROUP, JOIN, POOLS
from keepstep.contracts.taxonomy import Service
from keepstep.injection.ordering import BY_ORDER
from tests.rights.manifests import K8S, Obj, documents, kustomization, named, of_kind

SERVICES = [service for service, needs in ASKERS.items() if needs]
Grant = tuple[str, str, str]


def granted(role: Obj) -> set[Grant]:
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def needed(service: str) -> set[Grant]:
    return {(need.group, need.resource, verb) for need in ASKERS[service] for verb in need.verbs}


@pytest.mark.parametrize("service", SERVICES)
def test_a_role_grants_what_is_needed_and_nothing_more(service: str) -> None:
    assert granted(named("ClusterRole", f"keepstep-{service}")) == needed(service)


@pytest.mark.parametrize("service", SERVICES)
def test_a_role_is_bound_to_its_own_service_alone(service: str) -> None:
    binding = named("ClusterRoleBinding", f"keepstep-{service}")
    assert binding["roleRef"]["name"] == f"keepstep-{service}"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": service, "namespace": "keepstep"}]


def test_who_needs_nothing_of_the_cluster_has_no_role_and_no_token() -> None:
    without = set(Service) - set(SERVICES)
    beside = {"keepstep-notifier-history", "keepstep-scheduler-adapter-orders", "keepstep-agents", "keepstep-console"}
    roles = {f"keepstep-{each}" for each in SERVICES} | beside
    assert {one["metadata"]["name"] for one in of_kind("ClusterRole")} == roles
    for service in Service:
        spec = named("Deployment", service)["spec"]["template"]["spec"]
        assert spec["automountServiceAccountToken"] is (service not in without)


def test_config_maps_are_reached_only_where_a_namespace_of_jobs_binds_the_role_for_itself() -> None:
    role = named("ClusterRole", "keepstep-notifier-history")
    assert granted(role) == {(HISTORY.group, HISTORY.resource, verb) for verb in HISTORY.verbs}
    assert changers("configmaps") == set()
    assert role["metadata"]["name"] not in {one["roleRef"]["name"] for one in of_kind("ClusterRoleBinding")}
    [binding] = documents(K8S / "jobs/history.yaml")
    assert (binding["kind"], binding["roleRef"]["name"]) == ("RoleBinding", role["metadata"]["name"])
    assert "namespace" not in binding["metadata"], "kubectl apply -n says it"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "notifier", "namespace": "keepstep"}]


def test_jobs_are_made_only_where_a_namespace_binds_the_role_of_orders_for_itself() -> None:
    role = named("ClusterRole", "keepstep-scheduler-adapter-orders")
    kinds = {(group_of(KINDS[kind].resource.api), KINDS[kind].resource.plural, "create") for kind in BY_ORDER}
    assert granted(role) == {(need.group, need.resource, verb) for need in ORDERS for verb in need.verbs} == kinds
    assert role["metadata"]["name"] not in {one["roleRef"]["name"] for one in of_kind("ClusterRoleBinding")}
    for group, resource, verb in granted(named("ClusterRole", "keepstep-scheduler-adapter")):
        assert verb != "create" or (group, resource) in {("", "pods/eviction"), ("bus.volcano.sh", "commands")}
    [binding] = documents(K8S / "orders/binding.yaml")
    assert kustomization(K8S / "orders")["resources"] == ["binding.yaml"]
    assert (binding["kind"], binding["roleRef"]["name"]) == ("RoleBinding", role["metadata"]["name"])
    assert "namespace" not in binding["metadata"], "kubectl apply -n says it"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "scheduler-adapter", "namespace": "keepstep"}]


def test_a_namespace_lets_its_own_pods_into_the_bus_and_nothing_binds_that_for_all() -> None:
    role = named("ClusterRole", "keepstep-agents")
    assert granted(role) == {(GROUP, POOLS, JOIN)}
    assert role["metadata"]["name"] not in {one["roleRef"]["name"] for one in of_kind("ClusterRoleBinding")}
    [binding] = documents(K8S / "jobs/agents.yaml")
    assert kustomization(K8S / "jobs")["resources"] == ["agents.yaml", "history.yaml"]
    assert (binding["kind"], binding["roleRef"]["name"]) == ("RoleBinding", role["metadata"]["name"])
    assert "namespace" not in binding["metadata"], "kubectl apply -n says it"
    assert [one["name"] for one in binding["subjects"]] == ["system:serviceaccounts"]


CHANGES = {"create", "update", "patch", "delete", "deletecollection", "*"}


def changers(*resources: str) -> set[str]:
    return {
        service
        for service in SERVICES
        for _, resource, verb in granted(named("ClusterRole", f"keepstep-{service}"))
        if resource in resources and verb in CHANGES
    }


def test_only_the_isolator_changes_nodes() -> None:
    assert changers("nodes", "nodes/status", "*") == {Service.ISOLATOR}


def test_only_the_scheduler_adapter_changes_jobs_and_pods() -> None:
    kinds = ("jobs", "pytorchjobs", "trainjobs", "jobsets", "commands", "pods", "pods/status", "*")
    assert changers(*kinds) == {Service.SCHEDULER_ADAPTER}


MINDCLUSTER = [
    *documents(K8S / "overlays/volcano/mindcluster.yaml"),
    *documents(K8S / "components/npus/isolator.yaml"),
]


def test_no_shipped_role_lets_anybody_change_what_is_kube_systems() -> None:
    """The ConfigMaps of nodes are named by an operator, on the cluster: what is shipped only reads."""
    roles = [one for one in MINDCLUSTER if one["kind"] == "Role"]
    assert {role["metadata"]["namespace"] for role in roles} == {"kube-system", "mindx-dl"}
    assert {verb for role in roles for _, _, verb in granted(role)} == {"list", "watch"}


def test_no_rule_has_a_wildcard_or_reaches_secrets() -> None:
    roles = [*of_kind("ClusterRole", "Role"), *MINDCLUSTER]
    for role in roles:
        for group, resource, verb in granted(role) if "rules" in role else ():
            assert "*" not in (group, resource, verb)
            assert resource not in {"secrets", "serviceaccounts", "roles", "clusterroles", "pods/exec"}


def test_only_the_gate_asks_whose_a_token_is() -> None:
    assert changers("tokenreviews", "subjectaccessreviews") == {GATE}


def test_every_optional_group_is_one_that_is_asked_for() -> None:
    groups = {need.group for needs in NEEDS.values() for need in needs}
    assert groups >= OPTIONAL
    assert groups - OPTIONAL == {"", "batch"}
