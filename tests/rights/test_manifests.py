"""The manifests name only what exists, and every pod is as careful as the strictest cluster asks."""

import importlib.util
import re

import pytest

from keepstep.admission.settings import Settings as AdmissionSettings
from keepstep.cli.admission_certificate import secret as webhook_secret
from keepstep.cli.cluster_secrets import documents as secrets
from keepstep.console.settings import ConsoleSettings
from keepstep.contracts.taxonomy import Service
from keepstep.detector.settings import DetectorSettings
from keepstep.gate.settings import Settings as GateSettings
from keepstep.isolator.settings import Settings as IsolatorSettings
from keepstep.notifier.settings import Settings as NotifierSettings
from keepstep.runtime.nats_users import ISSUER, cluster_text, variable
from keepstep.runtime.rights import CONSOLE, DEFAULT
from keepstep.runtime.rights_of_pods import GATE, cluster_rights
from keepstep.runtime.settings import Settings
from keepstep.scheduler_adapter.settings import Settings as SchedulerSettings
from tests.rights.manifests import (
    BASE,
    Obj,
    base,
    containers,
    documents,
    kustomization,
    name_of,
    named,
    of_kind,
    pod,
    workloads,
)

ORDER = [
    "Deployment",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "PodDisruptionBudget",
    "NetworkPolicy",
]
TLS = {"ca.crt": b"c", "tls.crt": b"t", "tls.key": b"k"}
MADE = {(one["kind"], one["metadata"]["name"]): one for one in (*secrets(TLS, DEFAULT), webhook_secret(TLS))}  # type: ignore[index]  # a manifest; its metadata is a table
ALL = [pytest.param(one, id=name_of(one)) for one in workloads()]


@pytest.mark.parametrize("service", [*Service, GATE, CONSOLE])
def test_every_service_has_one_file_with_the_same_order(service: str) -> None:
    kinds = [one["kind"] for one in documents(BASE / f"{service}.yaml")]
    assert kinds == [kind for kind in ORDER if kind in kinds]
    assert set(ORDER) - set(kinds) <= {"ClusterRole", "ClusterRoleBinding"}
    assert f"{service}.yaml" in kustomization(BASE)["resources"]


@pytest.mark.parametrize("service", [*Service, GATE, CONSOLE])
def test_a_service_s_pod_runs_its_module(service: str) -> None:
    [container] = containers(named("Deployment", service))
    assert container["args"] == [f"keepstep.{service.replace('-', '_')}"]
    assert importlib.util.find_spec(f"{container['args'][0]}.__main__") is not None


@pytest.mark.parametrize("workload", ALL)
def test_a_pod_is_no_root_and_can_become_none(workload: Obj) -> None:
    told = pod(workload)["securityContext"]
    assert told["runAsNonRoot"] is True
    assert told["runAsUser"] > 0
    assert told["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(workload):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    spec = pod(workload)
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert not [volume for volume in spec["volumes"] if "hostPath" in volume]


@pytest.mark.parametrize("workload", ALL)
def test_a_container_has_probes_and_bounds(workload: Obj) -> None:
    for container in containers(workload):
        ports = {port["name"] for port in container["ports"]}
        for probe in ("livenessProbe", "readinessProbe"):
            asked = container[probe].get("httpGet") or container[probe]["tcpSocket"]
            assert asked["port"] in ports
        for bound in ("requests", "limits"):
            assert set(container["resources"][bound]) == {"cpu", "memory"}


@pytest.mark.parametrize("workload", ALL)
def test_an_image_has_a_tag_that_stays(workload: Obj) -> None:
    tags = {image["name"]: image["newTag"] for image in kustomization(BASE)["images"]}
    for container in containers(workload):
        assert re.search(r"\d", tags[container["image"]])


@pytest.mark.parametrize("workload", ALL)
def test_a_workload_selects_its_own_pods_and_so_do_its_budget_and_its_policy(workload: Obj) -> None:
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"].items() <= labels.items()
    name = workload["metadata"]["name"]
    for kind, at in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        selector = named(kind, name)["spec"][at]["matchLabels"]
        assert selector
        assert selector.items() <= labels.items()
    assert named("ServiceAccount", pod(workload)["serviceAccountName"])["automountServiceAccountToken"] is False


@pytest.mark.parametrize("service", of_kind("Service"), ids=name_of)
def test_a_service_object_leads_to_a_named_port(service: Obj) -> None:
    selector = service["spec"]["selector"]
    [workload] = [
        one for one in workloads() if selector.items() <= one["spec"]["template"]["metadata"]["labels"].items()
    ]
    ports = {port["name"] for container in containers(workload) for port in container["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


@pytest.mark.parametrize("workload", ALL)
def test_a_volume_that_is_mounted_is_there_and_the_other_way_round(workload: Obj) -> None:
    volumes = {volume["name"] for volume in pod(workload)["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", ())}
    assert {mount["name"] for each in containers(workload) for mount in each["volumeMounts"]} == volumes


def settings() -> set[str]:
    names = {
        f"KEEPSTEP_{name.upper()}"
        for model in (Settings, DetectorSettings, ConsoleSettings)
        for name in model.model_fields
    }
    names |= {f"KEEPSTEP_ADMISSION_{name.upper()}" for name in AdmissionSettings.model_fields}
    names |= {f"KEEPSTEP_GATE_{name.upper()}" for name in GateSettings.model_fields}
    names |= {f"KEEPSTEP_SCHEDULER_{name.upper()}" for name in SchedulerSettings.model_fields}
    names |= {f"KEEPSTEP_NOTIFIER_{name.upper()}" for name in NotifierSettings.model_fields}
    return names | {f"KEEPSTEP_ISOLATOR_{name.upper()}" for name in IsolatorSettings.model_fields}


def given(workload: Obj) -> dict[str, Obj]:
    return {one["name"]: one for container in containers(workload) for one in container.get("env", ())}


@pytest.mark.parametrize("workload", ALL)
def test_a_variable_is_a_setting(workload: Obj) -> None:
    assert {name for name in given(workload) if name.startswith("KEEPSTEP_")} <= settings()


@pytest.mark.parametrize("workload", ALL)
def test_every_secret_and_map_that_a_pod_names_is_made(workload: Obj) -> None:
    generated = {one["name"] for one in kustomization(BASE)["configMapGenerator"]}
    for one in given(workload).values():
        ref = one.get("valueFrom", {}).get("secretKeyRef")
        if ref:
            assert ref["key"] in MADE["Secret", ref["name"]]["data"]  # type: ignore[operator]  # a Secret; its data is a table
    for container in containers(workload):
        for source in container.get("envFrom", ()):
            assert ("Secret", source["secretRef"]["name"]) in MADE
    for volume in pod(workload)["volumes"]:
        if "secret" in volume and not volume["secret"].get("optional"):
            assert ("Secret", volume["secret"]["secretName"]) in MADE
        if "configMap" in volume:
            assert ("ConfigMap", volume["configMap"]["name"]) in MADE or volume["configMap"]["name"] in generated


@pytest.mark.parametrize("service", Service)
def test_a_service_is_given_its_own_password_alone(service: Service) -> None:
    told = given(named("Deployment", service))
    refs = {one["valueFrom"]["secretKeyRef"]["name"] for one in told.values() if "secretKeyRef" in str(one)}
    assert refs == {f"bus-{service}", "store"}
    assert told["KEEPSTEP_NATS_URL"]["value"].startswith(f"tls://{service}:$(BUS_PASSWORD)@nats:")


def test_the_gate_is_given_its_key_and_its_own_password() -> None:
    told = given(named("Deployment", GATE))
    refs = {one["valueFrom"]["secretKeyRef"]["name"] for one in told.values() if "secretKeyRef" in str(one)}
    assert refs == {f"bus-{GATE}", "gate"}
    assert told["KEEPSTEP_NATS_URL"]["value"].startswith(f"tls://{GATE}:$(BUS_PASSWORD)@nats:")
    holders = [one["metadata"]["name"] for one in workloads() if "'name': 'gate', 'key': 'seed'" in str(one)]
    assert holders == [GATE], "whoever reads the key gives himself any agent's rights"


def test_the_console_has_its_own_password_no_store_and_no_door_to_other_pods() -> None:
    told = given(named("Deployment", CONSOLE))
    refs = {one["valueFrom"]["secretKeyRef"]["name"] for one in told.values() if "secretKeyRef" in str(one)}
    assert refs == {f"bus-{CONSOLE}"}
    assert told["KEEPSTEP_NATS_URL"]["value"].startswith(f"tls://{CONSOLE}:$(BUS_PASSWORD)@nats:")
    assert "KEEPSTEP_CONSOLE_HOST" not in told, "beyond loopback it wants a login"
    [container] = containers(named("Deployment", CONSOLE))
    assert [port["containerPort"] for port in container["ports"]] == [int(told["KEEPSTEP_HTTP_PORT"]["value"])]
    assert named("NetworkPolicy", CONSOLE)["spec"]["ingress"] == [{"ports": [{"port": "http"}]}]
    assert named("ClusterRole", "keepstep-console")["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
    ]


def test_the_bus_is_given_every_user_s_password_and_whose_word_it_takes_for_agents() -> None:
    [container] = containers(named("StatefulSet", "nats"))
    assert container["envFrom"] == [{"secretRef": {"name": "bus-users"}}]
    known = MADE["Secret", "bus-users"]["data"]
    assert set(known) == {variable(rights.user) for rights in cluster_rights(DEFAULT)} | {ISSUER}  # type: ignore[call-overload]  # YAML; it is a table


def test_the_rights_of_the_bus_are_current() -> None:
    assert (BASE / "users.conf").read_text(encoding="utf-8") == cluster_text([DEFAULT]), "run: make rights"


def test_every_message_is_on_as_many_servers_as_the_bus_has() -> None:
    for service in Service:
        told = given(named("Deployment", service))["KEEPSTEP_BUS_REPLICAS"]["value"]
        assert int(told) == named("StatefulSet", "nats")["spec"]["replicas"]


def test_no_policy_of_the_network_is_missing() -> None:
    [nothing] = [one for one in of_kind("NetworkPolicy") if one["spec"]["podSelector"] == {}]
    assert (nothing["spec"]["policyTypes"], set(nothing["spec"])) == (
        ["Ingress", "Egress"],
        {"podSelector", "policyTypes"},
    )


def test_no_two_objects_of_a_kind_share_a_name() -> None:
    names = [name_of(one) for _, one in base()]
    assert len(set(names)) == len(names)


SERVER = "1.32"
"""The Kubernetes whose fields are checked: nothing in the manifests is newer, and older servers know them all."""


@pytest.mark.parametrize("one", [pytest.param(one, id=f"{file}:{name_of(one)}") for file, one in base()])
def test_an_object_has_only_fields_that_its_kind_has(one: Obj) -> None:
    pytest.importorskip("kubernetes_validate").validate(one, SERVER, strict=True)
