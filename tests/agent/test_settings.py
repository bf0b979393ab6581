"""What an agent is told from outside."""

import pytest
from pydantic import ValidationError

from keepstep.agent.settings import read_settings

URL = "nats://s3cret@127.0.0.1:4222"


def test_fields_are_variables() -> None:
    found = read_settings({"KEEPSTEP_NATS_URL": URL, "KEEPSTEP_NODE": "n1", "HOME": "/root"})
    assert (found.node, found.address, found.nats_url.get_secret_value()) == ("n1", "127.0.0.1", URL)


def test_a_missing_variable_is_named_and_the_token_is_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        read_settings({"KEEPSTEP_NATS_URL": URL})
    assert "node" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(read_settings({"KEEPSTEP_NATS_URL": URL, "KEEPSTEP_NODE": "n1"}))
