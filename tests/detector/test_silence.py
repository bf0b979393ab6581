"""Agents that are not heard: silent, lost already, or too many at once."""

from collections.abc import Callable

import pytest

from keepstep.contracts.events import (
    AgentHeard,
    DetectorBlinded,
    DetectorSighted,
    SilenceEvidence,
    SilenceSuspected,
    TaskLost,
)
from keepstep.contracts.ids import JobUid
from keepstep.contracts.taxonomy import LossCause, Phase
from keepstep.contracts.telemetry import Heartbeat
from keepstep.contracts.topology import JobRef
from tests.detector.facts import START, World, about, at_step, beat, exited, running, task
from tests.detector.sky import Sky, both, frozen, kinds, nobody


def test_an_agent_silent_for_a_window_is_reported_once_and_cleared_when_heard() -> None:
    sky = Sky(running())
    assert not sky.run(5, both)
    said = sky.run(40, frozen(0))
    assert kinds(said) == [SilenceSuspected]
    (fault,) = sky.world.faults
    assert isinstance(fault.evidence, SilenceEvidence)
    assert 10 < fault.evidence.silent_s <= 10.5
    assert fault.evidence.last_step == 50
    assert (fault.time - fault.occurred).total_seconds() == fault.evidence.silent_s
    assert kinds(sky.run(41, both)) == [AgentHeard]
    assert [cleared.cause for cleared in sky.world.cleared] == [fault.id]


@pytest.mark.parametrize(("silent_s", "faults"), [(9.0, 0), (12.0, 1)], ids=["shorter", "longer"])
def test_a_flap_shorter_than_the_window_is_nothing(silent_s: float, faults: int) -> None:
    """Its ranks do not step meanwhile either: what excuses the agent is that it is heard again in time."""
    sky = Sky(running())
    sky.run(5, lambda now: [*frozen(0)(now), *frozen(1)(now)])
    sky.run(5 + silent_s, frozen(0))
    said = sky.run(40, lambda now: [*frozen(0)(now), *frozen(1)(now)])
    assert len(sky.world.faults) == len(sky.world.cleared) == faults
    assert kinds(said) == [AgentHeard] * faults


def test_a_silence_tells_what_its_ranks_were_doing_the_longest_limit_first() -> None:
    sky = Sky(running())
    busy = [at_step(2, 30), at_step(3, 30, phase=Phase.EVALUATION)]
    sky.run(1, lambda now: [beat(0, now), beat(1, now, busy)])
    sky.run(40, frozen(0))
    (fault,) = sky.world.faults
    assert isinstance(fault.evidence, SilenceEvidence)
    assert fault.evidence.phase is Phase.EVALUATION


def test_silent_heard_and_silent_again_are_two_faults() -> None:
    sky = Sky(running())
    for until in (20, 40):
        sky.run(until, frozen(0))
        sky.run(until + 5, both)
    assert len({fault.id for fault in sky.world.faults}) == len(sky.world.faults) == 2


def test_nobody_is_silent_before_one_full_window_of_a_new_detector() -> None:
    sky = Sky(running())
    assert not sky.run(10, nobody)
    assert SilenceSuspected in kinds(sky.run(11, nobody))


def test_an_agent_that_never_spoke_is_silent_too() -> None:
    sky = Sky(running())
    sky.run(20, frozen(0))
    assert [fault.task for fault in sky.world.faults] == [task(1).uid]


def test_a_dead_agent_hurts_nobody_while_its_gang_steps() -> None:
    sky = Sky(running())
    assert not sky.run(60, lambda now: [beat(0, now)])


def test_a_late_tick_of_ours_starts_a_new_window() -> None:
    sky = Sky(running())
    sky.run(5, both)
    sky.now += 30.0
    assert not sky.tick()
    assert not sky.run(sky.now + 9.5, nobody)
    assert SilenceSuspected in kinds(sky.run(sky.now + 1, nobody))


def test_an_outage_starts_a_new_window() -> None:
    sky = Sky(running())
    sky.run(5, both)
    sky.run(14, nobody)
    sky.watch.restart(sky.now)
    assert not sky.run(23.5, nobody)


def test_a_lost_or_replaced_task_is_not_also_silent() -> None:
    world = running()
    lost = TaskLost(**about("lost", ref=task(1)), ref=task(1), by=LossCause.NODE_LOST, proven=True, at=START)
    world.hear(lost)
    sky = Sky(world)
    assert not sky.run(30, frozen(0))


def test_a_finished_task_may_be_silent() -> None:
    world = running()
    world.hear(exited(2, code=0), exited(3, code=0))
    sky = Sky(world)
    sky.run(30, frozen(0))
    assert not world.faults


def many(count: int) -> World:
    """A pool of jobs of one task each."""
    world = World()
    for number in range(count):
        single = running(nodes=1)
        fold = single.job.model_copy(
            update={
                "job": JobRef(name=f"j{number}", uid=JobUid(f"job-{number:03}")),
                "tasks": {f"task-{number}": view_of(single, number) for _ in (0,)},
            }
        )
        world.folds[fold.job.uid] = single.folds["job-1"].model_copy(update={"of": fold})
    return world


def view_of(single: World, number: int) -> object:
    (view,) = single.job.tasks.values()
    return view.model_copy(update={"ref": view.ref.model_copy(update={"uid": f"task-{number}"})})


def beats_of(numbers: range) -> Callable[[float], list[Heartbeat]]:
    def beats(now: float) -> list[Heartbeat]:
        heartbeat = beat(0, now)
        return [
            heartbeat.model_copy(
                update={
                    "job": JobRef(name=f"j{n}", uid=JobUid(f"job-{n:03}")),
                    "task": heartbeat.task.model_copy(update={"uid": f"task-{n}"}),
                }
            )
            for n in numbers
        ]

    return beats


def test_too_many_silent_at_once_mean_that_the_detector_is_blind() -> None:
    sky = Sky(many(10), deaf=True)
    sky.run(5, beats_of(range(10)))
    said = sky.run(30, beats_of(range(5)))
    assert kinds(said) == [DetectorBlinded]
    assert isinstance(said[0], DetectorBlinded)
    assert (said[0].silent, said[0].total) == (5, 10)
    sighted = sky.run(32, beats_of(range(10)))
    assert kinds(sighted) == [DetectorSighted]
    assert sighted[0].cause == said[0].id


def test_a_few_silent_of_many_are_faults_of_their_own() -> None:
    sky = Sky(many(20))
    sky.run(5, beats_of(range(20)))
    assert kinds(sky.run(30, beats_of(range(16)))) == [SilenceSuspected] * 4


def test_blindness_outlasts_a_late_tick() -> None:
    sky = Sky(many(10), deaf=True)
    sky.run(5, beats_of(range(10)))
    sky.run(30, nobody)
    sky.now += 30.0
    assert DetectorSighted not in kinds([*sky.tick(), *sky.run(sky.now + 20, nobody)])
