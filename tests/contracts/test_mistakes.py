"""What is wrong with a text from outside is told in one line."""

import pytest
from pydantic import ValidationError

from keepstep.contracts.model import mistakes
from keepstep.contracts.orders import PlanHead


def test_a_garbled_text_is_told_of_in_one_line_that_does_not_repeat_it() -> None:
    """Three lines for each garbled plan, its bytes among them, stood on the screen of a run."""
    with pytest.raises(ValidationError) as caught:
        PlanHead.read(b'{"job": "token-of-someone\xff')
    assert mistakes(caught.value).startswith("body: Invalid JSON: ")
    assert "\n" not in mistakes(caught.value)
    assert "token" not in mistakes(caught.value)


def test_what_ails_a_field_is_told_with_its_name() -> None:
    with pytest.raises(ValidationError) as caught:
        PlanHead.read('{"job": "a", "generation": "many", "phase": "run"}')
    assert "generation: Input should be a valid integer" in mistakes(caught.value)
