"""What the kubelet writes, beside what was recorded of a real cluster: the same fields, of the same kinds."""

from typing import Any

import pytest

from ..objects import sample
from ..server.objects import Obj
from .manifests import phase, pod, shell, state
from .stack import KubeStack

LEFT_OUT = frozenset({".status.qosClass"})
"""The API server's own, not the kubelet's."""


def shape(value: Any, at: str = "") -> dict[str, str]:
    """Return the type of each field by its path; conditions by their type, other list entries all as one."""
    found: dict[str, str] = {}
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= shape(inner, f"{at}.{key}")
        return found
    if isinstance(value, list):
        for inner in value:
            key = inner.get("type", "*") if isinstance(inner, dict) else "*"
            found |= shape(inner, f"{at}[{key}]")
        return found
    return {at: type(value).__name__}


async def ended(k: KubeStack, script: str) -> Obj:
    await k.apply(pod(shell(script)))
    await k.until(lambda: phase(k.pod("p")) in {"Failed", "Succeeded"})
    found = k.pod("p")
    assert found is not None
    return found


@pytest.mark.parametrize("recorded", ["job-pod-running", "volcano-pod-running"])
async def test_a_running_pod_has_every_field_that_was_recorded(k: KubeStack, recorded: str) -> None:
    await k.apply(pod(shell("sleep 600")))
    await k.until(lambda: "running" in state(k.pod("p"))["state"])
    mine, real = shape(k.pod("p")), shape(sample(recorded)["status"], ".status")
    assert {at: kind for at, kind in real.items() if mine.get(at) != kind and at not in LEFT_OUT} == {}


async def test_a_pod_that_failed_has_every_field_that_was_recorded(k: KubeStack) -> None:
    mine, real = shape(await ended(k, "exit 137")), shape(sample("pod-failed-137")["status"], ".status")
    assert {at: kind for at, kind in real.items() if mine.get(at) != kind and at not in LEFT_OUT} == {}


async def test_the_conditions_of_an_ended_pod_are_those_recorded(k: KubeStack) -> None:
    mine = conditions(await ended(k, "exit 137"))
    assert mine.items() >= conditions(sample("pod-failed-137")).items()


async def test_a_pod_that_ended_well_is_initialized_and_not_ready(k: KubeStack) -> None:
    found = conditions(await ended(k, "exit 0"))
    assert found["Ready"] == found["ContainersReady"] == ("False", "PodCompleted")
    assert found["Initialized"] == ("True", "PodCompleted")


def conditions(pod: Obj) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one.get("reason", "")) for one in pod["status"]["conditions"]}
