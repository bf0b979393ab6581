"""``keepstep console token``: a token is shown once, and its line opens the console to it."""

import json
from pathlib import Path

import pytest

from keepstep.cli.main import run
from keepstep.console.login.token_file import TokenFile
from keepstep.console.login.tokens import matches, read
from keepstep.contracts.taxonomy import Role


def test_what_is_printed_is_a_token_and_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["console", "token", "ann", "--role", "operator"]) == 0
    token, line = capsys.readouterr().out.splitlines()
    entry = read(line)["ann"]
    assert (entry.role, matches(entry, token)) == (Role.OPERATOR, True)


async def test_a_line_is_added_to_a_file_that_its_owner_alone_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tokens"
    for name in ("ann", "bob"):
        assert run(["console", "token", name, "--role", "admin", "--file", str(path), "--json"]) == 0
        token = json.loads(capsys.readouterr().out)["token"]
        owner = await TokenFile(path).owner(token)
        assert owner is not None
        assert (owner.name, owner.role) == (name, Role.ADMIN)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["ann", "--role", "root"], 2, "root is none of viewer, operator, admin"),
        (["Ann"], 1, "small letters, digits, dots and dashes"),
        (["ann", "--file", "FILE"], 2, "has a line for ann already"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, says: str
) -> None:
    path = tmp_path / "tokens"
    assert run(["console", "token", "ann", "--file", str(path)]) == 0
    before = path.read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(["console", "token", *(str(path) if word == "FILE" else word for word in words)]) == code
    told = capsys.readouterr()
    assert says in told.err
    assert told.out == ""
    assert path.read_text(encoding="utf-8") == before
