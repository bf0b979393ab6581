"""Which settings would restart a job too often."""

from typing import Any

import pytest
from pydantic import ValidationError

from keepstep.asking.cautions import too_often
from keepstep.contracts.policy import Policy


def test_the_defaults_are_no_reason_for_caution() -> None:
    assert too_often(Policy()) == ()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            {"recovery": {"crash": {"count": 20, "window": 3600}}},
            "recovery.crash: 20 restarts in 3600 s",
        ),
        ({"recovery": {"user": {"count": 1, "window": 60}}}, "recovery.user: 1 restart in 60 s are 60 an hour"),
        ({"recovery": {"memory": {"count": 2, "window": 0}}}, "recovery.memory.window 0"),
        ({"detection": {"hang_limit": 20}}, "detection.hang_limit 20 s"),
        ({"detection": {"phase_limits": {"compile": 30}}}, "detection.phase_limits.compile 30 s"),
        ({"detection": {"loss_window": 2}}, "detection.loss_window 2 s"),
    ],
)
def test_a_setting_that_restarts_too_often_is_told_with_its_remedy(table: dict[str, Any], told: str) -> None:
    (caution,) = too_often(Policy.model_validate(table))
    assert caution.startswith(told)
    assert "write at least" in caution or "lower" in caution


@pytest.mark.parametrize(
    "table",
    [
        {"recovery": {"enabled": False, "crash": {"count": 99, "window": 60}}},
        {"detection": {"hang_detection": False, "hang_limit": 1}},
        {"recovery": {"crash": {"count": 0, "window": 0}}},
        {"recovery": {"crash": {"count": 12, "window": 3600}}},
    ],
)
def test_what_restarts_nothing_needs_no_caution(table: dict[str, Any]) -> None:
    assert too_often(Policy.model_validate(table)) == ()


def test_a_count_that_no_reader_of_json_has_exactly_is_refused_and_the_largest_is_reckoned_with() -> None:
    with pytest.raises(ValidationError, match="less than or equal"):
        Policy.model_validate({"recovery": {"crash": {"count": 2**53}}})
    (caution,) = too_often(Policy.model_validate({"recovery": {"crash": {"count": 2**53 - 1}}}))
    assert "recovery.crash" in caution
