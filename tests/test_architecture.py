"""The house rules that a program can check: docstrings, layers, sizes, banners, who catches everything."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for source in ("libs", "services") for path in (ROOT / source).rglob("*.py"))
MODULES = [*SOURCES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_why_it_exists(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{name_of(path)} has no docstring"


def test_the_source_roots_are_no_packages_so_that_they_can_share_a_namespace() -> None:
    assert not list(ROOT.glob("*/keepstep/__init__.py"))


def test_the_layers_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout


def everything_caught(path: Path) -> list[int]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]


ALLOWED_TO_CATCH_ALL = ("libs/keepstep/runtime/", "libs/keepstep/trainer/")
"""Runtime turns an error into nack, metric and traceback; the trainer runs other people's code and must not end it."""


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_only_runtime_catches_everything(path: Path) -> None:
    if not name_of(path).startswith(ALLOWED_TO_CATCH_ALL):
        assert not everything_caught(path)


def test_the_check_for_catch_all_sees_one(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("try:\n    pass\nexcept Exception:\n    pass\n", encoding="utf-8")
    assert everything_caught(tmp_path / "bad.py") == [3]


LONGEST = 260
"""Lines; past 250 a file is looked at, and a table of data may be some lines longer."""


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_file_has_room_for_one_idea(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST, f"{name_of(path)} has {lines} lines: do two ideas share it?"


def banners(path: Path) -> list[str]:
    return re.findall(r"^\s*# ?[-=*#~]{4,}.*", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_file_needs_banners_to_be_found_one_s_way_in(path: Path) -> None:
    assert not banners(path)


def test_the_check_for_banners_sees_one(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = 1\n\n# ---- people ----\n", encoding="utf-8")
    assert banners(tmp_path / "bad.py")


IMPURE = {"asyncio", "os", "time", "random", "logging", "nats", "faststream", "redis", "structlog"}


def cores() -> list[Path]:
    services = sorted((ROOT / "services" / "keepstep").glob("*/core"))
    packages = [path for folder in services for path in folder.rglob("*.py")]
    return [
        *sorted((ROOT / "services" / "keepstep").glob("*/core.py")),
        *packages,
        *(ROOT / "libs/keepstep/core").glob("*.py"),
    ]


@pytest.mark.parametrize("path", cores(), ids=name_of)
def test_a_core_imports_nothing_that_acts(path: Path) -> None:
    """The import linter sees this for modules it is told of; a core that became a package is seen here too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        assert not {name.split(".")[0] for name in names} & IMPURE, f"{name_of(path)} imports {names}"


def test_no_committed_text_names_a_path_of_the_machine_it_was_written_on() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".yml", ".yaml", ".json"} and path.is_file():
            assert f"{ROOT}/" not in path.read_text(encoding="utf-8"), name
