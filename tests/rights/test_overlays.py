"""Overlays and components of k8s/ name what exists, and kustomize makes of them what is meant."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from keepstep.cli.admission_certificate import HOSTS
from keepstep.console.settings import ConsoleSettings
from keepstep.runtime.settings import Settings as SchedulerSettings
from tests.rights.manifests import BASE, K8S, base, kustomization, named, of_kind, pod, rendered, way, workloads

OVERLAYS = sorted(path.parent for path in K8S.glob("*/*/kustomization.yaml"))


@pytest.mark.parametrize("folder", OVERLAYS, ids=lambda path: path.name)
def test_an_overlay_names_only_files_that_exist(folder: Path) -> None:
    told = kustomization(folder)
    files = [*told.get("resources", ()), *told.get("components", ())]
    files += [name for one in told.get("configMapGenerator", ()) for name in one["files"]]
    for name in files:
        assert (folder / name).exists(), name
    known = {one["metadata"]["name"] for one in workloads()}
    assert {one["name"] for one in told.get("replicas", ())} <= known
    for patch in told.get("patches", ()):
        names = patch["target"].get("name", "").split("|")
        assert set(filter(None, names)) <= {one["metadata"]["name"] for one in of_kind(patch["target"]["kind"])}


PLACE = re.compile(r"^(?P<one>.*/env/\d+)/value$")


@pytest.mark.parametrize("folder", OVERLAYS, ids=lambda path: path.name)
def test_a_patch_that_counts_places_looks_first_whose_place_it_is(folder: Path) -> None:
    """Another variable moves up one day, and would get the value that was meant for the one before."""
    for patch in kustomization(folder).get("patches", ()):
        told = yaml.safe_load(patch["patch"])
        steps = told if isinstance(told, list) else []
        names = {step["path"] for step in steps if step["op"] == "test"}
        assert {f"{at['one']}/name" for step in steps if (at := PLACE.match(step["path"]))} <= names


def test_a_variable_that_moved_stops_a_single_installation(tmp_path: Path) -> None:
    shutil.copytree(K8S, tmp_path / "k8s")
    assert rendered(tmp_path / "k8s/overlays/kind")
    detector = tmp_path / "k8s/base/detector.yaml"
    first = "          env:\n"
    moved = detector.read_text(encoding="utf-8").replace(first, f"{first}            - {{name: NEW, value: x}}\n")
    detector.write_text(moved, encoding="utf-8")
    with pytest.raises(AssertionError, match="test"):
        rendered(tmp_path / "k8s/overlays/kind")


@pytest.mark.parametrize(
    "folder", [BASE, *(path for path in OVERLAYS if path.parent.name == "overlays")], ids=lambda p: p.name
)
def test_kustomize_takes_it(folder: Path) -> None:
    found = rendered(folder)
    assert len(found) >= len(base())
    single = folder.name in {"kind", "dev"}
    for one in found:
        if one["kind"] in {"Deployment", "StatefulSet"}:
            [container] = one["spec"]["template"]["spec"]["containers"]
            assert ":" in container["image"]
            told = {e["name"]: e.get("value") for e in container["env"]}
            assert told.get("KEEPSTEP_BUS_REPLICAS") in ({"1", None} if single else {"3", None})
            for variable in ("KEEPSTEP_ADMISSION_IMAGE", "KEEPSTEP_SCHEDULER_IMAGE"):
                assert told.get(variable) in {container["image"], None}, "agents run on another image"


def test_cert_manager_makes_the_certificate_that_the_webhook_mounts_and_keeps_its_registration(tmp_path: Path) -> None:
    parts = {"resources": [way(tmp_path, BASE)], "components": [way(tmp_path, K8S / "components/cert-manager")]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(parts), encoding="utf-8")
    found = {(one["kind"], one["metadata"]["name"]): one for one in rendered(tmp_path)}
    made = found["Certificate", "admission"]
    assert set(made["spec"]["dnsNames"]) == set(HOSTS)
    [tls] = [one for one in pod(named("Deployment", "admission"))["volumes"] if one["name"] == "tls"]
    assert made["spec"]["secretName"] == tls["secret"]["secretName"]
    kept = found["MutatingWebhookConfiguration", "keepstep"]["metadata"]["annotations"]
    assert kept == {"cert-manager.io/inject-ca-from": f"{made['metadata']['namespace']}/admission"}
    for kind, name in found:
        if kind == "Certificate":
            issuer = found["Issuer", found[kind, name]["spec"]["issuerRef"]["name"]]["spec"]
            assert issuer == {"selfSigned": {}} or ("Certificate", issuer["ca"]["secretName"]) in found


def test_jobs_by_order_are_told_the_same_namespaces_to_the_form_and_to_who_makes_them(tmp_path: Path) -> None:
    parts = {
        "resources": [way(tmp_path, BASE)],
        "components": [way(tmp_path, K8S / "components/orders")],
        "configMapGenerator": [{"name": "order-namespaces", "namespace": "keepstep", "literals": ['namespaces=["a"]']}],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(parts), encoding="utf-8")
    found = {(one["kind"], one["metadata"]["name"]): one for one in rendered(tmp_path)}
    [generated] = [name for kind, name in found if kind == "ConfigMap" and name.startswith("order-namespaces")]
    for service, before in (("scheduler-adapter", SchedulerSettings), ("console", ConsoleSettings)):
        env = {one["name"]: one for one in pod(found["Deployment", service])["containers"][0]["env"]}
        told = env["KEEPSTEP_CREATE_IN"]["valueFrom"]["configMapKeyRef"]
        assert told == {"name": generated, "key": "namespaces"}
        assert "create_in" in before.model_fields
    assert found["ConfigMap", generated]["data"] == {"namespaces": '["a"]'}


def test_the_console_s_login_is_a_secret_file_a_door_and_a_service_and_nothing_else_of_it_changes(
    tmp_path: Path,
) -> None:
    parts = {"resources": [way(tmp_path, BASE)], "components": [way(tmp_path, K8S / "components/console-login")]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(parts), encoding="utf-8")
    found = {(one["kind"], one["metadata"]["name"]): one for one in rendered(tmp_path)}
    [container] = pod(found["Deployment", "console"])["containers"]
    before = {one["name"] for one in pod(named("Deployment", "console"))["containers"][0]["env"]}
    told = {one["name"]: one.get("value") for one in container["env"] if one["name"] not in before}
    assert told == {"KEEPSTEP_CONSOLE_HOST": "0.0.0.0", "KEEPSTEP_CONSOLE_TOKENS": "/etc/keepstep/login/tokens"}  # noqa: S104 - of a pod
    assert {one.removeprefix("KEEPSTEP_").lower() for one in told} <= set(ConsoleSettings.model_fields)
    [mount] = [one for one in container["volumeMounts"] if one["name"] == "login"]
    assert (mount["mountPath"], mount["readOnly"]) == ("/etc/keepstep/login", True)
    [volume] = [one for one in pod(found["Deployment", "console"])["volumes"] if one["name"] == "login"]
    assert volume["secret"] == {"secretName": "console-login", "defaultMode": 0o440}
    [port] = [one["containerPort"] for one in container["ports"] if one["name"] == "console"]
    assert port == ConsoleSettings.model_fields["console_port"].default
    assert {"port": "console"} in found["NetworkPolicy", "console"]["spec"]["ingress"][0]["ports"]
    assert found["Service", "console"]["spec"]["ports"][0]["targetPort"] == "console"
