"""The kubelet's decisions as tables: what is done next, and when it looks again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from .lifecycle import Verb, is_over, next_acts
from .manifests import pod, shell
from .states import Container, Containers, End, Times, containers_of

NOW = datetime(2026, 11, 29, 21, 40, tzinfo=UTC)
TIMES = Times(faster=10)
AT_ONCE = timedelta(0)


def s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def of(policy: str = "Never", **spec: Any) -> tuple[dict[str, Any], Containers]:
    manifest = pod(shell("a", "a"), shell("b", "b"), restartPolicy=policy, **spec)
    return manifest, containers_of(manifest)


def acts(manifest: dict[str, Any], containers: Containers, at: timedelta = AT_ONCE) -> list[str]:
    found = next_acts(manifest, containers, now=NOW + at, times=TIMES)
    return [f"{act.verb} {act.container.name} {(act.at - NOW).total_seconds():g}" for act in found]


def run(one: Container) -> None:
    one.running = NOW


def finish(one: Container, code: int, at: timedelta = AT_ONCE) -> None:
    one.running, one.end = None, End(code, "Error", NOW + at)


def test_all_containers_that_are_no_init_containers_start_together() -> None:
    manifest, containers = of()
    assert acts(manifest, containers) == ["start a 0", "start b 0"]


def test_the_second_init_container_waits_for_the_first_and_the_others_for_both() -> None:
    manifest, containers = of(initContainers=[shell("i", "i"), shell("k", "k")])
    assert acts(manifest, containers) == ["start i 0"]
    run(containers.inits[0])
    assert acts(manifest, containers) == []
    finish(containers.inits[0], 0)
    assert acts(manifest, containers) == ["start k 0"]
    finish(containers.inits[1], 0)
    assert acts(manifest, containers) == ["start a 0", "start b 0"]


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Never", 1, False), ("Never", 0, False), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Always", 0, True)],
)
def test_what_ended_starts_again_by_the_pods_policy(policy: str, code: int, again: bool) -> None:
    manifest, containers = of(policy)
    run(containers.mains[1])
    finish(containers.mains[0], code)
    assert acts(manifest, containers) == (["start a 0"] if again else [])


@pytest.mark.parametrize(("back_off", "due"), [(s(10), 1), (s(40), 4), (s(300), 30)])
def test_a_start_after_the_first_waits_for_the_back_off_divided_by_the_factor(back_off: timedelta, due: float) -> None:
    manifest, containers = of("OnFailure")
    run(containers.mains[1])
    finish(containers.mains[0], 1)
    containers.mains[0].back_off = back_off
    assert acts(manifest, containers) == [f"back off a {due:g}"]
    assert acts(manifest, containers, s(due)) == [f"start a {due:g}"]


def test_a_deleted_pods_containers_are_asked_and_then_killed_when_the_grace_is_over() -> None:
    manifest, containers = of(terminationGracePeriodSeconds=30)
    containers.asked_to_end = NOW
    for one in containers.mains:
        run(one)
    assert acts(manifest, containers) == ["end a 0", "kill a 3", "end b 0", "kill b 3"]
    for one in containers.mains:
        one.told_to_end = NOW
    assert acts(manifest, containers, s(3)) == ["kill a 3", "kill b 3"]


def test_a_shorter_grace_of_a_second_deletion_counts_from_the_first() -> None:
    manifest, containers = of(terminationGracePeriodSeconds=30)
    containers.asked_to_end = NOW
    run(containers.mains[0])
    containers.mains[0].told_to_end = NOW
    manifest["metadata"]["deletionGracePeriodSeconds"] = 10
    assert acts(manifest, containers) == ["kill a 1"]


def test_no_grace_is_shorter_than_two_seconds() -> None:
    manifest, containers = of()
    containers.asked_to_end = NOW
    run(containers.mains[0])
    manifest["metadata"]["deletionGracePeriodSeconds"] = 0
    assert acts(manifest, containers) == ["end a 0", "kill a 0.2"]


def test_sidecars_end_from_the_last_to_the_first_after_all_others() -> None:
    stays = [shell("x", name, restartPolicy="Always") for name in ("x", "y")]
    manifest, containers = of(initContainers=stays, terminationGracePeriodSeconds=30)
    containers.asked_to_end = NOW
    for one in containers.all:
        run(one)
    assert [act.split()[1] for act in acts(manifest, containers) if act.startswith("end")] == ["a", "b"]
    for one in containers.mains:
        finish(one, 143)
    assert acts(manifest, containers, s(1)) == ["end y 1", "kill y 3"]
    finish(containers.inits[1], 143)
    assert acts(manifest, containers, s(2.9)) == ["end x 2.9", "kill x 3.1"]


def test_sidecars_end_when_the_others_have_done_their_work() -> None:
    manifest, containers = of(initContainers=[shell("x", "x", restartPolicy="Always")])
    run(containers.inits[0])
    for one in containers.mains:
        finish(one, 0)
    assert acts(manifest, containers) == ["end x 0", "kill x 3"]
    assert not is_over(manifest, containers)
    finish(containers.inits[0], 143)
    assert is_over(manifest, containers)


def test_a_pod_whose_container_failed_waits_for_the_others_to_end() -> None:
    """A kubelet kills no healthy container because another of its pod failed."""
    manifest, containers = of()
    finish(containers.mains[0], 1)
    run(containers.mains[1])
    assert (acts(manifest, containers), is_over(manifest, containers)) == ([], False)


def test_an_init_container_that_failed_for_good_ends_the_sidecar_before_it() -> None:
    manifest, containers = of(initContainers=[shell("x", "x", restartPolicy="Always"), shell("i", "i")])
    run(containers.inits[0])
    finish(containers.inits[1], 1)
    assert acts(manifest, containers) == ["end x 0", "kill x 3"]
    assert Verb.START not in {act.verb for act in next_acts(manifest, containers, now=NOW, times=TIMES)}
