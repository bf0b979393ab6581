"""In which language people are told is chosen in two places: by who reads a page, and for whom a channel is."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [path for room in ("libs", "services") for path in (ROOT / room).rglob("*.py")]


def naming(pattern: str) -> set[str]:
    """Return the modules whose source names something."""
    return {path.name for path in SOURCES if re.search(pattern, path.read_text(encoding="utf-8"))}


def test_what_a_browser_prefers_is_read_in_one_place() -> None:
    assert naming(r"accept-language") == {"reader.py"}
    assert naming(r"keepstep_\{|\"lang\"") == {"reader.py"}


def test_the_machine_s_own_language_chooses_nothing() -> None:
    assert naming(r"environ[^\n]*LANG|\bLC_(?:ALL|MESSAGES)\b|\bgetlocale\b|\bgettext\b") == set()


def test_a_channel_s_language_is_its_own_and_nobody_else_has_a_default() -> None:
    assert naming(r": Language = ") == {"channel_parts.py"}
