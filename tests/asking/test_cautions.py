"""Which settings would restart a job too often."""

from typing import Any

import pytest
from pydantic import ValidationError

from keepstep.asking.cautions import too_often, untold
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


def routed(*routes: dict[str, Any]) -> Policy:
    return Policy.model_validate({"notification": {"routes": routes}})


@pytest.mark.parametrize("sink", ["log", "kubernetes", "https://hooks.example/secret", "ops"])
def test_a_sink_that_there_is_is_no_reason_for_caution(sink: str) -> None:
    assert untold(routed({"sink": sink}), {"ops"}) == ()
    assert untold(routed({"sink": sink}), None) == (), "channels of another machine are not known"


def test_a_sink_that_there_is_not_is_told_with_its_field_when_the_job_is_made() -> None:
    """A name with a slip was taken, and the first incident of the night told nobody."""
    steps = [{"after": 60, "sink": "opps"}, {"after": 90}]
    policy = routed({"sink": "ops", "escalate": steps}, {"sink": "hooks.example/T0/secret"})
    address, step = untold(policy, {"ops"})
    assert step.startswith("notification.routes.0.escalate.0.sink opps: no channels file")
    assert address.startswith("notification.routes.1.sink hooks.example: is no sink; write log")
    assert "secret" not in address, "an address is a secret"
    assert untold(policy, None) == (address,)
