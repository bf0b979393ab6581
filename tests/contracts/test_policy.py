"""A policy that names one limit leaves the others as they are."""

import pytest
from pydantic import ValidationError

from keepstep.contracts.duration import seconds
from keepstep.contracts.pattern import GroupPattern
from keepstep.contracts.policy import LEVEL_DEADLINES, PHASE_LIMITS, CheckpointPolicy, Policy
from keepstep.contracts.taxonomy import Level, Phase


def test_a_phase_that_is_left_out_keeps_its_limit() -> None:
    detection = Policy.model_validate({"detection": {"phase_limits": {"evaluation": 7200}}}).detection
    assert detection.limit_of(Phase.EVALUATION) == seconds(7200)
    assert detection.limit_of(Phase.CHECKPOINT) == PHASE_LIMITS[Phase.CHECKPOINT]


def test_a_step_has_the_hang_limit() -> None:
    assert Policy.model_validate({"detection": {"hang_limit": 5}}).detection.limit_of(Phase.STEP) == seconds(5)


def test_a_level_that_is_left_out_keeps_its_deadline() -> None:
    recovery = Policy.model_validate({"recovery": {"level_deadlines": {"pod": 60}}}).recovery
    assert recovery.level_deadlines == LEVEL_DEADLINES | {Level.POD: seconds(60)}


@pytest.mark.parametrize("mistake", [{"detection": {"heartbeat_every": 0}}, {"checkpoint": {"scan_every": 0}}])
def test_a_loop_without_a_pause_is_refused(mistake: dict[str, dict[str, float]]) -> None:
    with pytest.raises(ValidationError, match="greater than"):
        Policy.model_validate(mistake)


@pytest.mark.parametrize(
    ("regex", "why"),
    [(r"nan(?!o)", "look-around"), (r"(a)\1", "backreferences"), ("(", "unclosed group")],
)
def test_a_pattern_that_cannot_be_matched_in_bounded_time_is_refused_with_the_reason(regex: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Policy.model_validate({"detection": {"log_patterns": [{"name": "n", "regex": regex}]}})


@pytest.mark.parametrize(
    "mistake",
    [
        {"recovery": {"resume_grace": 1e12}},
        {"recovery": {"level_deadlines": {"pod": 1e12}}},
        {"detection": {"phase_limits": {"init": -1}}},
        {"trainer": {"stop_grace": -1}},
        {"detection": {"hang_limit": float("inf")}},
        {"isolation": {"fleet_share": float("nan")}},
    ],
)
def test_a_duration_that_no_calendar_can_hold_is_refused(mistake: dict[str, dict[str, object]]) -> None:
    """A deadline past the year 9999 cannot be reckoned: the job was neither accepted nor refused."""
    with pytest.raises(ValidationError):
        Policy.model_validate(mistake)


def test_a_hundred_years_are_as_good_as_never() -> None:
    Policy.model_validate({"recovery": {"resume_grace": 36525 * 86400}})


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"step(?P<step>\d+)|(a+)+$", "another repetition"),
        (r"(?:(?:\w+-)*)+(?P<step>\d+)", "another repetition"),
        (r"(?:a|b|ab)*(?P<step>\d+)", "another repetition"),
        (r"(?:a?){40}(?P<step>\d+)", "another repetition"),
        (r"[)](?:[(+]*x)*(?P<step>\d+)", "another repetition"),
        (r"(?<=a)(?P<step>\d+)", "look-around"),
        (r"(a)\1(?P<step>\d+)", "backreferences"),
        (r"(?P<step>\d+", "does not compile"),
    ],
)
def test_a_pattern_of_checkpoints_that_could_hold_the_agent_is_refused_with_the_reason(pattern: str, why: str) -> None:
    with pytest.raises(ValidationError, match=f"is refused: .*{why}"):
        CheckpointPolicy(pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "name", "step"),
    [
        (CheckpointPolicy().pattern, "run/step-120.pt", "120"),
        (r"[+*(]?(?:[a-z])*-(?P<step>\d+)\+\(\)$", "run/abc-7+()", "7"),
        (r"(?:epoch\d+)?(?:_x)?step(?P<step>\d{1,6})$", "epoch3step9", "9"),
        (r"[^])]+(?P<step>\d)$", "a5", "5"),
    ],
)
def test_a_pattern_of_checkpoints_that_takes_bounded_time_is_taken(pattern: str, name: str, step: str) -> None:
    found = GroupPattern(CheckpointPolicy(pattern=pattern).pattern).search(name)
    assert found is not None
    assert found["step"] == step
