"""What the containers that injection adds may do and which mounts they have: a strict cluster still takes them."""

import re
from typing import Any

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.injection.ours import Ours
from tests.injection.manifests import injected, manifest


def ours_of(job: dict[str, Any], *, native: bool = True) -> list[dict[str, Any]]:
    """Return install and agent of an injected Job."""
    document: Any = injected(job, ours=Ours(native=native)).documents[0]
    pod = document["spec"]["template"]["spec"]
    found = [one for one in (*pod["initContainers"], *pod["containers"]) if one["name"].startswith("keepstep-")]
    assert [one["name"] for one in found] == ["keepstep-install", "keepstep-agent"]
    return found


@pytest.mark.parametrize("native", [True, False])
def test_our_containers_ask_for_no_more_than_the_pod_security_standard_restricted_allows(native: bool) -> None:
    told = {"runAsNonRoot": True, "runAsUser": 1000, "capabilities": {"add": ["SYS_ADMIN"]}}
    for one in ours_of(manifest(JobKind.JOB, securityContext=told), native=native):
        assert one["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def test_a_mount_below_a_variable_brings_the_variable_and_those_it_is_made_of() -> None:
    env = [
        field("POD", "metadata.name"),
        {"name": "RUN", "value": "runs/$(POD)"},
        {"name": "SECRET", "value": "s3cret"},
    ]
    mounts = [{"name": "data", "mountPath": "/ckpt", "subPathExpr": "$(RUN)/at"}]
    _, agent = ours_of(manifest(JobKind.JOB, env=env, volumeMounts=mounts))
    assert agent["volumeMounts"][0] == {**mounts[0], "readOnly": True}
    assert agent["env"][:2] == env[:2]
    assert "s3cret" not in str(agent)


@pytest.mark.parametrize("expression", ["$(FROM_AN_IMAGE)/x", "$(RUN)", "$(POD)/$(FROM_AN_IMAGE)"])
def test_a_mount_below_a_variable_that_nobody_can_copy_is_left_out(expression: str) -> None:
    """The kubelet starts no container whose subPathExpr it cannot fill in."""
    env = [field("POD", "metadata.name"), {"name": "RUN", "value": "$(FROM_AN_IMAGE)"}]
    mounts = [
        {"name": "data", "mountPath": "/ckpt", "subPathExpr": expression},
        {"name": "data", "mountPath": "/other", "subPathExpr": "a$$(LITERAL)"},
    ]
    _, agent = ours_of(manifest(JobKind.JOB, env=env, volumeMounts=mounts))
    assert [one["mountPath"] for one in agent["volumeMounts"]] == ["/other", "/keepstep", "/var/run/keepstep"]
    named = {one["name"] for one in agent["env"]}
    assert all(name in named for one in agent["volumeMounts"] for name in re.findall(r"(?<!\$)\$\((\w+)\)", str(one)))
