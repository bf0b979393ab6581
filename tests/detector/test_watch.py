"""What heartbeats show of ranks: exits that nobody reported, and hangs."""

from collections.abc import Callable
from typing import Any

from keepstep.contracts.events import (
    ExitSuspected,
    StallEvidence,
    StallPassed,
    StallSuspected,
)
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import Exit, Heartbeat
from tests.detector.facts import at_step, beat, exited, ranks_of, recovered, running, task
from tests.detector.sky import Sky, both, kinds


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
