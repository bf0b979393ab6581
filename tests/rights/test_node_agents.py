"""The agents of nodes have one capability and no right on the API server, and reach the bus and nothing else."""

import pytest

from keepstep.adapters.kube_marks import AUDIENCE
from keepstep.adapters.kube_tokens import GROUP, POOLS, REPORT
from keepstep.agent.node.settings import NodeSettings, read_settings, variable
from keepstep.runtime.rights import DEFAULT
from keepstep.runtime.rights_of_pods import OF_NODES, crossings
from tests.rights.manifests import K8S, Obj, documents, kustomization, name_of, named, rendered
from tests.rights.test_manifests import SERVER

FOLDER = K8S / "nodes"
OBJECTS = [one for name in kustomization(FOLDER)["resources"] for one in documents(FOLDER / name)]
[DAEMONS] = [one for one in OBJECTS if one["kind"] == "DaemonSet"]
POD = DAEMONS["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
POD_LABELS = {"app.kubernetes.io/name": DAEMONS["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"]}


def of(kind: str) -> Obj:
    """Return the one object of the kind that is the agents' own."""
    [found] = [one for one in OBJECTS if one["kind"] == kind and one["metadata"]["name"] == "node-agent"]
    return found


@pytest.mark.parametrize("one", OBJECTS, ids=name_of)
def test_an_object_has_only_fields_that_its_kind_has(one: Obj) -> None:
    pytest.importorskip("kubernetes_validate").validate(one, SERVER, strict=True)


def test_it_may_read_the_kernel_s_log_and_do_nothing_else_that_others_may_not() -> None:
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], "add": ["SYSLOG"]},
    }
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(POD)
    assert sorted(next(iter(set(volume) - {"name"})) for volume in POD["volumes"]) == [
        "emptyDir",
        "emptyDir",
        "projected",
    ]
    assert {mount["name"] for mount in CONTAINER["volumeMounts"]} == {volume["name"] for volume in POD["volumes"]}


def test_it_has_no_rights_on_the_api_server() -> None:
    assert POD["automountServiceAccountToken"] is False
    assert of("ServiceAccount")["automountServiceAccountToken"] is False
    [role] = [one for one in OBJECTS if "Role" in one["kind"] and "rules" in one]
    assert role["rules"] == [{"apiGroups": [GROUP], "resources": [POOLS], "verbs": [REPORT]}], (
        "a word for the gate alone"
    )
    [binding] = [one for one in OBJECTS if one["kind"] == "RoleBinding"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "node-agent", "namespace": "keepstep-nodes"}]


def test_its_token_is_for_the_bus_alone() -> None:
    [token] = [volume["projected"]["sources"] for volume in POD["volumes"] if "projected" in volume]
    assert token == [{"serviceAccountToken": {"audience": AUDIENCE, "expirationSeconds": 3600, "path": "token"}}]


def test_it_runs_on_every_node_isolated_ones_too() -> None:
    assert POD["tolerations"] == [{"operator": "Exists"}]
    assert "nodeSelector" not in POD


def test_it_is_told_what_it_reads_and_its_probes_ask_where_it_listens() -> None:
    told = {one["name"]: one.get("value", "x") for one in CONTAINER["env"]}
    assert set(told) <= {variable(field) for field in NodeSettings.model_fields}
    settings = read_settings(told)
    assert settings.http_port == CONTAINER["ports"][0]["containerPort"]
    mounts = {mount["mountPath"] for mount in CONTAINER["volumeMounts"]}
    assert str(settings.state) in mounts
    assert set(settings.paths) <= {"/", *mounts}
    for probe in ("livenessProbe", "readinessProbe"):
        assert CONTAINER[probe]["httpGet"]["port"] == CONTAINER["ports"][0]["name"]
    assert CONTAINER["args"] == ["keepstep.agent", "--node"]


def test_it_reaches_the_bus_and_the_bus_lets_it_in() -> None:
    to_bus, names = of("NetworkPolicy")["spec"]["egress"]
    assert to_bus["ports"] == [{"port": 4222}]
    labels = named("StatefulSet", "nats")["spec"]["template"]["metadata"]["labels"]
    [peer] = to_bus["to"]
    assert peer["podSelector"]["matchLabels"].items() <= labels.items()
    assert {port["port"] for port in names["ports"]} == {53}
    let_in = {"matchLabels": POD_LABELS}, {"matchLabels": {"kubernetes.io/metadata.name": "keepstep-nodes"}}
    peers = [
        (peer.get("podSelector"), peer.get("namespaceSelector"))
        for rule in named("NetworkPolicy", "nats")["spec"]["ingress"]
        if rule["ports"] == [{"port": "client"}]
        for peer in rule["from"]
    ]
    assert let_in in peers
    words = [there for _, there in crossings([DEFAULT])]
    assert all(any(kind.__name__ in word for word in words) for kind in OF_NODES)


def test_kustomize_puts_all_of_it_into_its_own_namespace() -> None:
    found = rendered(FOLDER)
    assert {one["metadata"].get("namespace") for one in found if one["kind"] != "Namespace"} == {"keepstep-nodes"}
    [daemons] = [one for one in found if one["kind"] == "DaemonSet"]
    assert [one["image"] for one in daemons["spec"]["template"]["spec"]["containers"]] == ["keepstep:0.1.0"]
