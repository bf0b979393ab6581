"""What is said of a mistaken form is told in Chinese: by the checks themselves, whose sentences are made of pieces."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from keepstep.asking import tolerance_args
from keepstep.asking.cautions import cautions
from keepstep.asking.mistakes import explain
from keepstep.asking.refused import Refused
from keepstep.contracts.policy import Policy
from keepstep.core.words.reading import reading

MISTAKES: tuple[dict[str, Any], ...] = (
    {"recovery": {"crash": {"count": -1}}},
    {"recovery": {"crash": {"count": 1, "window": -1}}},
    {"recovery": {"crash": {"count": "x"}}},
    {"recovery": {"levels": ["podd"]}},
    {"recovery": {"levels": "pod"}},
    {"recovery": {"enabled": "maybe"}},
    {"recovery": []},
    {"recoveri": {}},
    {"detection": {"hang_limit": "x"}},
    {"isolation": {"fleet_share": 2}},
    {"notification": {"routes": [{"sink": 1}, {}]}},
)
CAREFUL: tuple[dict[str, Any], ...] = (
    {"recovery": {"crash": {"count": 100, "window": 3600}}},
    {"recovery": {"crash": {"count": 1, "window": 0}}},
    {"detection": {"hang_limit": 1, "loss_window": 1}},
    {"notification": {"routes": [{"sink": "opps"}]}},
    {"notification": {"routes": [{"sink": "hooks.example/T0/x"}]}},
)
FLAGS = ("--x", "--enable-checkpoint-migration", "--max-num-of-unconditional-retry 9", "'", "--enable-replace=maybe")


@pytest.mark.parametrize("policy", MISTAKES, ids=str)
def test_a_mistake_in_a_policy_is_told_in_chinese(policy: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as found:
        Policy.model_validate(policy)
    assert reading(explain(found.value, Policy)).unread == 0


@pytest.mark.parametrize("policy", CAREFUL, ids=str)
def test_a_caution_is_told_in_chinese(policy: dict[str, Any]) -> None:
    found = cautions(Policy.model_validate(policy), channels=())
    assert found
    assert [one for one in found if reading(one).unread] == []


@pytest.mark.parametrize(
    ("read", "given"),
    [*((tolerance_args.of_flags, flag) for flag in FLAGS), *((tolerance_args.of_config, one) for one in ("{", "[]"))],
)
def test_a_mistake_in_settings_of_other_platforms_is_told_in_chinese(read: Callable[[str], Policy], given: str) -> None:
    with pytest.raises(Refused) as found:
        read(given)
    assert reading(str(found.value)).unread == 0
