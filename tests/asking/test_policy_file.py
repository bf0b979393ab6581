"""A policy is read from TOML or JSON; every mistake in it is told with line, field and remedy, and none is lost."""

import json
from pathlib import Path

import pytest

from keepstep.asking import policy_file
from keepstep.cli.errors import Refused


def refusal(tmp_path: Path, text: str, name: str = "p.toml") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Refused) as refused:
        policy_file.load(path)
    return str(refused.value).removeprefix(f"policy {path}: ")


def test_toml_and_json_policies_say_the_same(tmp_path: Path) -> None:
    toml, text = tmp_path / "policy.toml", tmp_path / "policy.json"
    toml.write_text('[detection]\nhang_limit = 5\n[recovery]\nlevels = ["in-place"]\n')
    text.write_text(json.dumps({"detection": {"hang_limit": "PT5S"}, "recovery": {"levels": ["in-place"]}}))
    assert policy_file.load(toml) == policy_file.load(text)
    assert policy_file.load(toml).detection.hang_limit.total_seconds() == 5


DURATION = 'is not a duration: write seconds, as in 600, or ISO 8601, as in "PT10M"'
PATTERN = '[[detection.log_patterns]]\nname = "a"\n'
WHOLE = "is not a whole number"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[detection]\nhang_limt = 5", "line 2, detection.hang_limt: unknown field; did you mean hang_limit?"),
        (
            "[xyz]\na = 1",
            "line 1, xyz: unknown field; known are checkpoint, detection, isolation, notification, recovery, trainer",
        ),
        (
            PATTERN + 'regex = "b"\nregx = "c"',
            "line 4, detection.log_patterns.0.regx: unknown field; did you mean regex?",
        ),
        ("[detection]\n\nblind_share = 3", "line 3, detection.blind_share: 3 is out of range; write at most 1.0"),
        ('[detection]\nhang_limit = "10m"', f'line 2, detection.hang_limit: "10m" {DURATION}'),
        ("[detection]\nhang_limit = nan", f"line 2, detection.hang_limit: NaN {DURATION}"),
        (
            "[detection]\nhang_limit = -5",
            "line 2, detection.hang_limit: -5 s is out of range; write at least 0 seconds",
        ),
        (
            "[detection]\nhang_limit = true",
            "line 2, detection.hang_limit: true is not a duration: write seconds, as in 600",
        ),
        ("[recovery.crash]\ncount = 2.5", f"line 2, recovery.crash.count: 2.5 {WHOLE}"),
        ("[recovery]\ncrash = 3", "line 2, recovery.crash: 3 is not a table of fields"),
        ('[recovery]\nenabled = "maybe"', 'line 2, recovery.enabled: "maybe" is not true or false'),
        (
            '[recovery]\nlevels = "pod"',
            'line 2, recovery.levels: "pod" is not a list: write it in brackets, as in ["pod", "job"]',
        ),
        (
            '[recovery]\nlevels = ["pods"]',
            'line 2, recovery.levels.0: "pods" is not known; write one of wait, in-place, pod, job, fail;'
            " did you mean pod?",
        ),
        (
            '[recovery]\npending = "never"',
            'line 2, recovery.pending: "never" is not known; write one of wait, fail',
        ),
        ('[checkpoint]\npattern = "x"', r"line 2, checkpoint.pattern: pattern needs a named group (?P<step>\d+)"),
        (
            PATTERN + 'regex = "("',
            "line 3, detection.log_patterns.0.regex: regex '(' cannot be used: unclosed group",
        ),
        (PATTERN, "line 1, detection.log_patterns.0.regex: is missing; it has no default"),
        (
            "[detection.phase_limits]\nsteps = 5",
            'line 2, detection.phase_limits.steps: "steps" is not known; write one of starting, init, load, compile,'
            " step, evaluation, checkpoint; did you mean step?",
        ),
        (
            "[detection]\nhang_limit 600",
            "line 2 reads \"hang_limit 600\", not TOML: Expected '=' after a key in a key/value pair;"
            " a JSON policy is named *.json",
        ),
    ],
)
def test_a_mistake_is_told_with_line_field_and_remedy(tmp_path: Path, text: str, told: str) -> None:
    assert refusal(tmp_path, text) == told


def test_no_mistake_of_several_is_lost(tmp_path: Path) -> None:
    told = refusal(tmp_path, '[recovery]\nrestart_limit = "a"\n[trainer]\nstop_grace = "x"\nwarm_rank = 1\n')
    assert told.split("; line ") == [
        f'line 2, recovery.restart_limit: "a" {WHOLE}',
        f'4, trainer.stop_grace: "x" {DURATION}',
        "5, trainer.warm_rank: unknown field; did you mean warm_ranks?",
    ]


def test_a_json_policy_is_told_its_lines_too(tmp_path: Path) -> None:
    text = '{"detection": {\n "log_patterns": [\n{"name": "a", "regex": "b"},\n{"name": "c",\n"regex": "("}]}}'
    assert refusal(tmp_path, text, "p.json").startswith("line 5, detection.log_patterns.1.regex: regex '('")
    assert refusal(tmp_path, "{\n1}", "p.json").startswith('line 2 reads "1}", not JSON: Expecting property name')
    assert refusal(tmp_path, "[]", "p.json") == "[] is not a table of fields"


@pytest.mark.parametrize(
    ("text", "name"), [('{"recovery":' * 100_000, "p.json"), ("a = " + "[" * 100_000, "p.toml")], ids=["json", "toml"]
)
def test_a_policy_that_is_nested_beyond_reading_is_refused(tmp_path: Path, text: str, name: str) -> None:
    """It was a traceback of the parser."""
    assert "nested too deep" in refusal(tmp_path, text, name)


def test_a_policy_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    for name in ("none.toml", "latin.toml", "."):
        with pytest.raises(Refused, match="cannot be read"):
            policy_file.load(tmp_path / name)
