"""The watch over heartbeats: silence, blindness, exits nobody reported, hangs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from keepstep.contracts.events import (
    AgentHeard,
    DetectorBlinded,
    DetectorSighted,
    ExitSuspected,
    SilenceEvidence,
    SilenceSuspected,
    StallEvidence,
    StallPassed,
    StallSuspected,
    TaskLost,
)
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import LossCause, Phase
from keepstep.contracts.telemetry import Exit, Heartbeat
from keepstep.contracts.topology import JobRef
from keepstep.detector.core.watch import Watch
from tests.detector.facts import POOL, START, World, about, at_step, beat, exited, ranks_of, recovered, running, task

EVERY = 0.5


class Sky:
    """The watch over a world, driven tick by tick; what it says goes straight to the world's folds."""

    def __init__(self, world: World, *, deaf: bool = False) -> None:
        self.world = world
        self.now = 0.0
        self.deaf = deaf
        self.watch = Watch(POOL, self.now, every=EVERY, policy=DetectionPolicy())

    def run(self, until: float, beats: Callable[[float], list[Heartbeat]]) -> list[Message]:
        """Advance in half seconds; hear the beats of every whole second; return what the watch said."""
        said: list[Message] = []
        while self.now < until:
            self.now += EVERY
            if self.now % 1.0 == 0:
                for heartbeat in beats(self.now):
                    self.watch.hear(heartbeat, self.now)
            said.extend(self.tick())
        return said

    def tick(self) -> tuple[Message, ...]:
        """Look once."""
        at = START + timedelta(seconds=self.now)
        says = self.watch.tick(self.world.folds, self.now, at)
        if not self.deaf:
            self.world.now = at
            self.world.hear(*says)
        return says


def nobody(_now: float) -> list[Heartbeat]:
    return []


def both(now: float) -> list[Heartbeat]:
    return [beat(0, now), beat(1, now)]


def frozen(index: int) -> Callable[[float], list[Heartbeat]]:
    """Only one task is heard, and its ranks do not step."""
    return lambda now: [beat(index, now, [at_step(rank, 30) for rank in ranks_of(index)])]


def kinds(said: list[Message]) -> list[type[Message]]:
    return [type(message) for message in said]


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


def dead(rank: int, **fields: Any) -> Callable[[float], list[Heartbeat]]:
    """Both tasks are heard; one rank ended after a second."""

    def beats(now: float) -> list[Heartbeat]:
        ranks = [at_step(r, 30, exit=Exit(signal=9) if r == rank and now > 1 else None, **fields) for r in ranks_of(1)]
        return [beat(0, now), beat(1, now, ranks)]

    return beats


def test_an_exit_that_only_heartbeats_show_is_a_fault_once() -> None:
    sky = Sky(running())
    assert kinds(sky.run(10, dead(3))) == [ExitSuspected]
    assert [fault.subject_name for fault in sky.world.faults] == ["rank 3"]
    sky.world.hear(exited(3, signal=9))
    assert len(sky.world.faults) == 1


def test_an_exit_that_was_reported_is_not_suspected() -> None:
    world = running()
    world.hear(exited(3, signal=9))
    assert not Sky(world).run(10, dead(3))


def test_ranks_being_stopped_are_not_exits_of_the_next_generation() -> None:
    sky = Sky(running())
    sky.run(3, both)
    sky.world.hear(*recovered(2))

    def stopping(now: float) -> list[Heartbeat]:
        ended = [at_step(rank, 30, exit=Exit(signal=15)) for rank in ranks_of(1)]
        return [beat(0, now, generation=2), beat(1, now, ended, generation=2)]

    assert not sky.run(20, stopping)


def hung(now: float) -> list[Heartbeat]:
    """All wait in a collective but rank 1, which stands still."""
    stuck: dict[str, Any] = {
        "mark_age_s": now,
        "idle_s": now,
        "stack_still_s": now,
        "stack": ("a.py:lock",),
        "waiting": False,
    }
    waits: dict[str, Any] = {"mark_age_s": now, "waiting": True, "stack": ("pg.py:wait",)}
    return [
        beat(0, now, [at_step(0, 30, **waits), at_step(1, 30, **stuck)]),
        beat(1, now, [at_step(rank, 30, **waits) for rank in ranks_of(1)]),
    ]


def test_an_outlier_is_one_fault_and_passes_when_all_step_again() -> None:
    sky = Sky(running())
    assert kinds(sky.run(60, hung)) == [StallSuspected]
    (fault,) = sky.world.faults
    assert isinstance(fault.evidence, StallEvidence)
    assert (fault.evidence.rank, fault.task) == (1, task(0).uid)
    assert (fault.time - fault.occurred).total_seconds() == fault.evidence.stalled_s
    assert kinds(sky.run(62, both)) == [StallPassed]
    assert [cleared.cause for cleared in sky.world.cleared] == [fault.id]
    sky.run(120, hung)
    assert len({fault.id for fault in sky.world.faults}) == 2


def test_no_hang_is_called_unless_every_agent_was_heard_just_now_in_this_generation() -> None:
    assert not Sky(running()).run(9, lambda now: hung(now + 100)[:1])
    stale = Sky(running())
    stale.world.hear(*recovered(2))
    assert not stale.run(60, hung)


def test_a_job_that_already_fails_does_not_also_hang() -> None:
    world = running()
    world.hear(exited(3, signal=9))
    sky = Sky(world)
    assert not sky.run(60, hung)


def test_a_restart_in_the_middle_of_a_checkpoint_leaves_no_alarm_behind() -> None:
    sky = Sky(running())
    saving: dict[str, Any] = {"phase": Phase.CHECKPOINT, "mark_age_s": 1000.0}
    sky.run(3, lambda now: [beat(i, now, [at_step(rank, **saving) for rank in ranks_of(i)]) for i in range(2)])
    sky.world.hear(*recovered(2))
    assert not sky.run(30, lambda now: [beat(0, now, generation=2), beat(1, now, generation=2)])
