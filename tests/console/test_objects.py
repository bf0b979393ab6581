"""What the console says of a job that is to be an object of a Kubernetes: every mistake at once, or what it becomes."""

from typing import Any

import pytest

from keepstep.asking.refused import Refused
from keepstep.console.asked import JobAsked
from keepstep.console.objects import OnObjects
from keepstep.contracts.kubernetes import DataSource, JobKind, OnKubernetes, SourceType

GROUND = OnObjects(("train",))
OBJECT = OnKubernetes(image="train:1", namespace="train")


def asked(**changes: Any) -> JobAsked:
    return JobAsked(**{"argv": ("python", "train.py"), "kubernetes": OBJECT} | changes)


def mistakes(**changes: Any) -> tuple[str, ...]:
    with pytest.raises(Refused) as refused:
        GROUND.check(asked(**changes))
    return refused.value.mistakes


def test_every_mistake_is_told_at_once_as_the_command_line_does() -> None:
    """The first of them alone was told: one try, and one word of the console, for each."""
    sources = (
        DataSource(type=SourceType.HOSTPATH, name="/data", path="/data"),
        DataSource(type=SourceType.PVC, name="", path="/ckpt"),
        DataSource(type=SourceType.NFS, name="server", path="here"),
    )
    strange = OBJECT.model_copy(update={"kind": JobKind.TRAINJOB, "sources": sources, "product": "abacus"})
    told = mistakes(
        argv=(),
        name="Bert",
        nodes=0,
        nproc=5000,
        cwd="/work",
        env={"RANK": "1", "KEEPSTEP_POOL": "p"},
        labels={"team": "a b", "a b": "team"},
        policy={"recovery": {"levls": []}, "detection": {"hang_limit": "soon"}},
        kubernetes=strange.model_copy(update={"namespace": "kube-system"}),
    )
    assert [one.partition(":")[0] for one in told] == [
        "namespace kube-system",
        "cwd",
        "argv",
        "nproc",
        "--kind trainjob",
        "--ds-type hostpath",
        "--label team=a b",
        "--label a b",
        "--env RANK",
        "--env KEEPSTEP_POOL",
        "--ds-name",
        "--ds-mountpath here",
        "--product abacus",
        "policy",
        "policy",
        "name",
        "nodes",
    ]
    assert [one for one in told if one.startswith("policy")] == [
        'policy: detection.hang_limit: "soon" is not a duration: write seconds, as in 600, or ISO 8601, as in "PT10M"',
        "policy: recovery.levls: unknown field; did you mean levels?",
    ]


def test_without_an_image_all_else_is_checked() -> None:
    told = mistakes(kubernetes=None, name="Bert", labels={"team": "a b"})
    assert [one.partition(":")[0] for one in told] == ["--image", "--label team=a b", "name"]


def test_what_the_manifest_cannot_be_made_of_is_told_beside_a_mistake_of_a_field() -> None:
    """A rank for each device, and no device: the reading of the command tells it, not a field."""
    told = mistakes(argv=("torchrun", "--nproc-per-node=gpu", "t.py"), policy={"recovery": {"levls": []}})
    assert [one.partition(":")[0] for one in told] == ["policy", "Job t"]
    assert "asks for as many ranks as there are devices, and none is asked for" in told[1]


@pytest.mark.parametrize("config", ['{"enabledHangDetection": 7, "faultToleranceLimit": -1}'])
def test_the_policy_of_another_platform_has_all_its_mistakes_told(config: str) -> None:
    told = mistakes(fault_tolerance_config=config)
    assert [one.split(": ")[1] for one in told] == ["enabledHangDetection", "faultToleranceLimit"]
