"""Stalls by process state, told once per episode."""

from datetime import timedelta

import pytest

from keepstep.agent.probes import Probe, look
from keepstep.agent.proc import ProcessStat, parse_stat, read_stat
from keepstep.agent.stalls import Episode, Episodes, Recovered, Stalled, StateSince, judge, sign_of
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import StallSign

POLICY = DetectionPolicy()


def seen(state: str, seconds: float) -> dict[int, StateSince]:
    return {3: StateSince(state=state, lasted=timedelta(seconds=seconds))}


@pytest.mark.parametrize(
    ("state", "seconds", "sign"),
    [
        ("T", 1.9, None),
        ("T", 2.0, StallSign.STOPPED),
        ("t", 600, None),
        ("Z", 2.0, StallSign.DEFUNCT),
        ("D", 59, None),
        ("D", 60, StallSign.UNINTERRUPTIBLE),
        ("R", 3600, None),
        ("S", 3600, None),
    ],
)
def test_what_a_state_proves(state: str, seconds: float, sign: StallSign | None) -> None:
    assert sign_of(seen(state, seconds)[3], POLICY) is sign


def test_a_stall_is_told_once_and_its_end_too_and_the_next_is_another() -> None:
    kept, told = Episodes(), []
    for state, seconds in [("T", 1), ("T", 2), ("T", 3), ("S", 0), ("S", 1), ("T", 0), ("T", 2.5), ("T", 9)]:
        kept, changes = judge(kept, 1, seen(state, seconds), POLICY)
        told += [(type(change), change.episode) for change in changes]
    assert told == [(Stalled, 1), (Recovered, 1), (Stalled, 2)]


def test_an_agent_that_restarts_does_not_tell_it_again() -> None:
    kept = Episodes(generation=1, ranks={3: Episode(count=1, told=True)})
    assert judge(Episodes.model_validate_json(kept.model_dump_json()), 1, seen("T", 5), POLICY) == (kept, ())


def test_a_new_generation_counts_anew() -> None:
    kept = Episodes(generation=1, ranks={3: Episode(count=4, told=True)})
    _, changes = judge(kept, 2, seen("T", 2), POLICY)
    assert changes == (Stalled(rank=3, episode=1, sign=StallSign.STOPPED, state="T", lasted_s=2),)


def test_a_process_name_may_hold_anything() -> None:
    fields = ["S", *["0"] * 10, "250", "50", *["0"] * 30]
    assert parse_stat(f"12 (a) R (b c)) {' '.join(fields)}\n") == ProcessStat("S", 3.0)


def test_a_process_that_is_gone_shows_nothing() -> None:
    assert read_stat(2**22 + 1) is None


def walk(*looks: tuple[float, str, float]) -> Probe:
    probe: Probe | None = None
    for now, state, cpu_s in looks:
        probe = look(probe, 77, ProcessStat(state, cpu_s), now)
    assert probe is not None
    return probe


def test_state_and_idle_time_run_from_their_last_change() -> None:
    probe = walk((0, "S", 1.0), (10, "S", 1.0), (20, "T", 1.0), (25, "T", 1.0))
    assert probe.idle_s() == 25
    assert probe.state_now() == StateSince(state="T", lasted=timedelta(seconds=5))


def test_watchdog_threads_do_not_hide_idleness_and_work_ends_it() -> None:
    assert walk((0, "S", 1.0), (100, "S", 1.5)).idle_s() == 100
    assert walk((0, "S", 1.0), (100, "S", 1.5), (101, "R", 2.5)).idle_s() == 0


def test_another_process_starts_anew() -> None:
    probe = look(walk((0, "T", 1.0), (9, "T", 1.0)), 78, ProcessStat("T", 0.0), 10)
    assert (probe.idle_s(), probe.state_now().lasted) == (0, timedelta(0))
