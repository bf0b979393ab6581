"""Ids are a function of content."""

import pytest

from keepstep.contracts.ids import NodeName, derive, key_of, subject_token


def test_parts_do_not_run_together() -> None:
    assert derive("a", "bc") != derive("ab", "c")


@pytest.mark.parametrize("name", ["ip-10-0-0-1.ec2.internal", "a_b", "节点*>", " "])
def test_a_subject_key_is_one_plain_token(name: str) -> None:
    token = subject_token(NodeName(name))
    assert not set(token) & set(". *>\t")
    assert token.isascii()


def test_two_names_never_share_a_token() -> None:
    assert subject_token("a_2e") != subject_token("a.")


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        subject_token("")


@pytest.mark.parametrize("token", ["a_zz", "a_", "a_2", "a_ff"])
def test_a_token_that_is_no_keys_is_told_so(token: str) -> None:
    with pytest.raises(ValueError, match=r"escape|hex|decode"):
        key_of(token)
