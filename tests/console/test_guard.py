"""Without a login the console answers this machine's own pages, and nothing that only looks like them."""

import pytest

from keepstep.console.guard import objection

OWN = {"host": "localhost:8700"}


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"host": "[::1"}, "must be addresses"),
        ({"host": "[zz]"}, "must be addresses"),
        ({**OWN, "origin": "http://[::1"}, "must be addresses"),
        ({"host": "keepstep.example"}, "on this machine only"),
        ({}, "a host without name"),
        ({**OWN, "origin": "http://evil.example"}, "may not order"),
        ({**OWN, "origin": "null"}, "may not order"),
    ],
)
def test_what_is_no_page_of_this_machine_orders_nothing(headers: dict[str, str], why: str) -> None:
    """A bracket too few in Host or Origin was a 500 with a traceback."""
    told = objection("POST", headers)
    assert told is not None
    assert why in told


@pytest.mark.parametrize("headers", [OWN, {**OWN, "origin": "http://localhost:8700"}, {"host": "[::1]:8700"}])
def test_pages_of_this_machine_are_answered(headers: dict[str, str]) -> None:
    assert objection("POST", headers) is None
