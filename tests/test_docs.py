"""The documents name only what is there: commands, options, files, messages, libraries."""

import re
import tomllib
from pathlib import Path

import pytest

from keepstep.asking import policy_file
from keepstep.cli.schemas import ORDERS
from keepstep.contracts.events import SAID_BY
from tests.commands import wrong_in

ROOT = Path(__file__).parents[1]
README, ARCHITECTURE, AGENTS, DECISIONS = (
    (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "ARCHITECTURE.md", "AGENTS.md", "docs/decisions.md")
)


def commands() -> list[str]:
    """Return every keepstep command line of the documents, in code blocks and in running text."""
    blocks = re.findall(r"```sh\n(.*?)```", README + AGENTS, flags=re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`(keepstep [^`]+)`", README + ARCHITECTURE + AGENTS + DECISIONS)
    return sorted({line for line in [*lines, *inline] if line.startswith("keepstep ")})


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_documents_exists_with_its_options(line: str) -> None:
    assert not wrong_in(line)


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 8


def test_make_targets_of_the_documents_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"^make ([\w-]+)|`make ([\w-]+)`", README + AGENTS, flags=re.MULTILINE)):
        assert re.search(rf"^{''.join(target)}:", makefile, flags=re.MULTILINE), target


def test_links_and_named_files_exist() -> None:
    named = re.findall(r"\]\(([^):]+)\)", README) + re.findall(r"`((?:libs|tests|benchmarks|schemas)/[\w./]*)`", README)
    named += re.findall(r"\]\(([^):]+)\)", ARCHITECTURE)
    named += re.findall(r"`((?:libs|tests|services|k8s)/[\w./]+)`", ARCHITECTURE + AGENTS + DECISIONS)
    assert named
    for name in named:
        assert (ROOT / name).exists(), name


def test_the_policy_of_the_readme_is_a_policy(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README, flags=re.DOTALL)
    path = tmp_path / "policy.toml"
    path.write_text(block, encoding="utf-8")
    assert policy_file.load(path).detection.log_patterns[0].name == "loss-is-nan"


def test_the_table_of_who_says_what_is_the_one_in_the_contracts() -> None:
    rows = dict(re.findall(r"^\| ([\w-]+) \| ([A-Z]\w+(?:, \w+)*) \|$", ARCHITECTURE, flags=re.MULTILINE))
    expected = {str(who): ", ".join(kind.__name__ for kind in kinds) for who, kinds in SAID_BY.items()}
    assert rows == {**expected, "people": ", ".join(ORDERS)}


def test_every_library_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["services"], *extras["redis"], *extras["torch"]]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in wanted}
    table = ARCHITECTURE.partition("## Libraries")[2]
    given = {name for row in re.findall(r"^\| ([\w, -]+) \|", table, flags=re.MULTILINE) for name in row.split(", ")}
    assert names <= given
