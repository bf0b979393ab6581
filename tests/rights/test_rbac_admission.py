"""The webhook has no right on the cluster; where it is told of a component it reads that one's Deployment, by name."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from keepstep.adapters.kube_rights import VERSIONS
from keepstep.admission.app import Admission
from keepstep.admission.settings import Settings
from keepstep.injection.requirements import unmet
from tests.kube.cluster import Cluster, cluster
from tests.kube.server import kinds
from tests.rights.manifests import K8S, documents, kustomization, of_kind
from tests.rights.test_rbac import granted
from tests.rights.test_rbac_calls import act_as, client_of

COMPONENT = K8S / "components/versions"


def named_scheduler() -> str:
    """Return what the component's patch names."""
    [patch] = kustomization(COMPONENT)["patches"]
    assert patch["target"] == {"kind": "Deployment", "name": "admission"}
    [step] = yaml.safe_load(patch["patch"])
    assert step["value"]["name"] == "KEEPSTEP_ADMISSION_SCHEDULER"
    return str(step["value"]["value"])


def deployed(there: Cluster, namespace: str, name: str, version: str) -> None:
    labels = {"app.kubernetes.io/version": version}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": f"scheduler:{version}"}]},
        },
    }
    there.store.create(kinds.DEPLOYMENT, {"metadata": {"name": name, "labels": labels}, "spec": spec}, namespace)


def settings(**named: str) -> Settings:
    return Settings.model_validate({"certificate": "unread", "key": "unread", **named})


async def looked(there: Cluster, folder: Path, told: Settings) -> list[str]:
    """Let the webhook look at the cluster once, and return what it has against any job."""
    client = client_of(there, folder)
    admission = Admission(told, client)
    await admission.look()
    await client.close()
    assert admission._ours.native, "the server's version was read"
    return [objection.because for objection in unmet(admission._pool)]


def component(there: Cluster) -> None:
    """Put the component's objects into the cluster, beside what it is about."""
    there.store.create(kinds.NAMESPACE, {"metadata": {"name": "volcano-system"}})
    for one in documents(COMPONENT / "admission.yaml"):
        kind = {"Role": kinds.ROLE, "RoleBinding": kinds.ROLE_BINDING}[one["kind"]]
        there.store.create(kind, one, one["metadata"]["namespace"])


async def test_the_webhook_uses_no_right_where_it_is_told_of_no_component(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        used = act_as(there, "admission")
        assert await looked(there, tmp_path, settings()) == []
    assert used == set()
    bound = {subject["name"] for one in of_kind("ClusterRoleBinding", "RoleBinding") for subject in one["subjects"]}
    assert "admission" not in bound


async def test_the_webhook_uses_the_whole_role_of_the_component_and_no_more(tmp_path: Path) -> None:
    scheduler = named_scheduler()
    namespace, _, name = scheduler.partition("/")
    [role] = [one for one in documents(COMPONENT / "admission.yaml") if one["kind"] == "Role"]
    async with cluster(tmp_path) as there:
        component(there)
        deployed(there, namespace, name, "1.7.7")
        used = act_as(there, "admission")
        assert await looked(there, tmp_path, settings(scheduler=scheduler)) == []
    assert used == granted(role) == {(VERSIONS.group, VERSIONS.resource, verb) for verb in VERSIONS.verbs}
    assert (role["metadata"]["namespace"], [rule["resourceNames"] for rule in role["rules"]]) == (namespace, [[name]])


async def test_another_deployment_than_the_named_one_is_refused(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        component(there)
        deployed(there, "volcano-system", "volcano-admission", "1.9.0")
        act_as(there, "admission")
        [why] = await looked(there, tmp_path, settings(scheduler="volcano-system/volcano-admission"))
    assert "forbidden" in why


@pytest.mark.parametrize("field", ["operator", "scheduler"])
async def test_a_component_that_may_not_be_read_is_not_said_to_be_missing(tmp_path: Path, field: str) -> None:
    """Every job was refused with the words that the scheduler is not there and has to be installed."""
    async with cluster(tmp_path) as there:
        deployed(there, "kube-system", "part", "9.9.9")
        act_as(there, "admission")
        [why] = await looked(there, tmp_path, settings(**{field: "kube-system/part"}))
    assert why.startswith("the version of kube-system/part cannot be seen: ")
    assert "forbidden" in why
