"""Tokens and their file: what is taken, what is refused with line and remedy, what changes while the console runs."""

import asyncio
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from argon2.low_level import Type

from keepstep.console.login import token_file
from keepstep.console.login.token_file import TokenFile
from keepstep.console.login.tokens import Entry, made, matches, name_in, read
from keepstep.contracts.taxonomy import Role
from keepstep.ports.errors import Permanent, Transient
from tests.console.login.entrance import CHEAP, People

HASH = CHEAP.hash("whatever")


def test_a_made_token_is_its_own_line_s_and_nobody_else_s() -> None:
    ann, bob = made("ann", Role.OPERATOR), made("bob", Role.VIEWER)
    entries = read(f"{ann.line}\n{bob.line}\n")
    assert (entries["ann"].role, name_in(ann.token)) == (Role.OPERATOR, "ann")
    assert matches(entries["ann"], ann.token)
    assert not matches(entries["ann"], bob.token)
    assert not matches(entries["ann"], ann.token[:-1] + "A" * (ann.token[-1] != "A") + "B" * (ann.token[-1] == "A"))
    assert not matches(None, ann.token)
    assert ann.token not in ann.line
    assert ann.line.split()[2].startswith("$argon2id$v=19$m=19456,t=2,p=1$")


@pytest.mark.parametrize("name", ["", "Ann", "-ann", ".ann", "ann_b", "ann b", "a" * 64, "änn", "ann\n"])
def test_a_name_that_no_token_can_have_is_refused(name: str) -> None:
    with pytest.raises(Permanent, match="small letters"):
        made(name, Role.VIEWER)


@pytest.mark.parametrize(
    "text", ["", "ann", "ks_ann_short", "ks__" + "a" * 43, "KS_ann_" + "a" * 43, "ks_ann_" + "ä" * 43]
)
def test_what_is_no_token_has_no_name(text: str) -> None:
    assert name_in(text) is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("ann viewer", "line 2: 2 words"),
        (f"Ann viewer {HASH}", "line 2: the first word is no name"),
        (f"ann root {HASH}", "line 2: ann has no role; roles are viewer, operator, admin"),
        ("ann viewer secret", "line 2: what follows ann is no argon2 hash"),
        (f"ann viewer {PasswordHasher(1, 8, 1, type=Type.I).hash('x')}", "line 2: ann's hash is no argon2id"),
        ("ann viewer $argon2id$v=19$m=4194304,t=1,p=1$c29tZXNhbHQ$" + "a" * 43, "of at most 256 MiB"),
        (f"bob viewer {HASH}\nbob admin {HASH}", "line 3: bob is there twice"),
    ],
)
def test_a_line_that_is_of_no_use_is_named_with_the_remedy_and_without_the_hash(line: str, says: str) -> None:
    with pytest.raises(Permanent) as refused:
        read(f"# people\n{line}\n")
    assert says in str(refused.value)
    assert "$argon2" not in str(refused.value)


def test_a_file_that_anybody_may_write_is_refused(people: People) -> None:
    people.path.chmod(0o666)
    with pytest.raises(Permanent, match="chmod o-w"):
        TokenFile(people.path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"KEEPSTEP_CONSOLE_TOKENS .*tokens cannot be read: No such file"):
        TokenFile(tmp_path / "tokens")


async def test_a_token_that_was_right_is_known_without_hashing_until_its_line_changes(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, token = TokenFile(people.path), people.of(Role.VIEWER)
    hashed: list[str] = []

    def counted(entry: Entry | None, text: str) -> bool:
        hashed.append(text)
        return matches(entry, text)

    monkeypatch.setattr(token_file, "matches", counted)
    assert file.known(token) is None
    for _ in range(3):
        found = await file.owner(token)
        assert found is not None
        assert found.role is Role.VIEWER
    assert hashed == [token]
    people.put("viewer-ann", Role.VIEWER)
    assert file.known(token) is None
    assert await file.owner(token) is None
    assert await file.owner(people.of(Role.VIEWER)) is not None


async def test_a_token_of_a_name_that_is_not_there_costs_a_hash_as_well(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[object] = []
    monkeypatch.setattr(token_file, "matches", lambda entry, _text: hashed.append(entry))
    assert await TokenFile(people.path).owner("ks_nobody_" + "a" * 43) is None
    assert hashed == [None]


async def test_a_file_that_breaks_leaves_the_last_good_one_in_force(people: People) -> None:
    file, token = TokenFile(people.path), people.of(Role.ADMIN)
    people.path.write_text("nonsense\n", encoding="utf-8")
    assert await file.owner(token) is not None
    people.path.unlink()
    assert await file.owner(token) is not None
    people.drop("admin-ann")
    assert await file.owner(token) is None


async def test_more_at_once_than_can_be_hashed_are_told_to_come_again(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = TokenFile(people.path)
    monkeypatch.setattr(token_file, "WAITING", 3)
    results = await asyncio.gather(
        *(file.owner(f"ks_nobody_{number:043}") for number in range(5)), return_exceptions=True
    )
    assert [type(one) for one in results] == [type(None)] * 3 + [Transient] * 2
    assert await file.owner(people.of(Role.VIEWER)) is not None
