"""A policy that names one limit leaves the others as they are."""

import pytest
from pydantic import ValidationError

from keepstep.contracts.policy import LEVEL_DEADLINES, PHASE_LIMITS, Policy, seconds
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
