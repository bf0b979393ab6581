"""Templates, styles and scripts are in the wheel, others' with their licences; nothing comes from afar."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from keepstep.console.pages.rendering import STATIC, TEMPLATES
from tests.console.pages.site import Site

ROOT = Path(__file__).parents[3]


def test_the_wheel_holds_every_template_and_asset(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=ROOT,
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"keepstep/console/{path.relative_to(STATIC.parent)}"
        for folder in (STATIC, TEMPLATES)
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert len(wanted) > 20
    assert wanted <= names


def test_whoever_s_script_it_is_its_licence_stands_beside_it() -> None:
    vendor = STATIC / "vendor"
    told = (vendor / "README.md").read_text(encoding="utf-8")
    for script in vendor.glob("*.js"):
        licence = vendor / f"{script.name.removesuffix('.min.js')}.LICENSE.txt"
        assert "Permission to use, copy, modify" in licence.read_text(encoding="utf-8")
        assert script.name in told


@pytest.mark.parametrize("path", sorted((*STATIC.glob("*.*"), *TEMPLATES.glob("*.html"))), ids=lambda path: path.name)
def test_nothing_is_loaded_from_elsewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(?:https?:)?//[a-z]", text.replace("// ", ""))
    assert "@import" not in text


async def test_assets_are_served_with_their_kind_and_nothing_else_is() -> None:
    async with Site().asked() as browser:
        for name, kind in (
            ("console.css", "text/css"),
            ("console.js", "javascript"),
            ("vendor/htmx.min.js", "javascript"),
        ):
            answer = await browser.get(f"/static/{name}")
            assert (answer.status_code, kind in answer.headers["content-type"]) == (200, True)
        for name in ("../app.py", "%2e%2e/app.py", "", "vendor/"):
            assert (await browser.get(f"/static/{name}")).status_code == 404
