"""The demo passes only for equal losses and incidents that were all resumed."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.cli import demo
from keepstep.cli.blows import HEAD, Blow, outcome_table
from keepstep.cli.watch import Summary, stored_line
from keepstep.contracts.ids import IncidentId
from keepstep.contracts.taxonomy import Outcome
from keepstep.core import ettr, timeline
from tests.core.telling import Job
from tests.core.test_timeline import JOB, told
from tests.core.test_timeline import story as one_incident

PLAIN = [(1, "0.5"), (2, "0.4"), (3, "0.3")]


@pytest.mark.parametrize(
    ("disturbed", "wrong"),
    [
        (PLAIN, []),
        ([(1, "0.5"), (2, "0.4"), (2, "0.4"), (3, "0.3")], []),
        ([(1, "0.5"), (2, "0.4"), (2, "0.41"), (3, "0.3")], ["step 2: 0.41, not 0.4"]),
        (PLAIN[:2], ["step 3 is missing"]),
        ([*PLAIN, (4, "0.2")], ["step 4: 0.2, not None"]),
        ([], ["step 1 is missing", "step 2 is missing", "step 3 is missing"]),
    ],
)
def test_every_loss_recomputed_or_not_must_be_the_same(disturbed: list[tuple[int, str]], wrong: list[str]) -> None:
    assert demo.differences(disturbed, PLAIN) == wrong


def summary(*incidents: timeline.Timeline) -> Summary:
    return Summary(
        job=JOB,
        state="succeeded",
        exit_code=0,
        ratio=ettr.ratio(ettr.Run(), now=datetime.now(UTC)),
        generations=2,
        incidents=incidents,
    )


HIT = Blow(kind="kill", words="rank 3 killed", rank=3)
MISSED = Blow(kind="node-lost", words="node n1 lost", node="n1")


def test_an_incident_too_few_too_many_not_resumed_or_of_another_fails_the_demo() -> None:
    (good,) = told(one_incident()).incidents
    failed = good.model_copy(update={"outcome": Outcome.FAILED, "incident": IncidentId("i2")})
    assert demo.complaints(0, summary(good, good, good), [HIT] * 3) == []
    assert demo.complaints(0, summary(good, good), [HIT] * 3) == ["2 incidents for 3 faults"]
    assert demo.complaints(0, summary(good, good, failed), [HIT] * 3) == ["incident i2 ended failed"]
    assert demo.complaints(0, summary(good), [HIT]) == ["1 fault injected, 3 are due"]
    assert demo.complaints(0, summary(good, good, good), [HIT, MISSED, HIT]) == [
        "node n1 lost, but rank 3, node n2 was named"
    ]
    assert demo.complaints(1, summary(good, good, good), [HIT] * 3) == ["the run exited with 1: succeeded"]


def test_each_fault_has_its_line_with_who_was_named_and_what_it_cost() -> None:
    (good,) = told(one_incident()).incidents
    head, first, second = outcome_table([HIT, MISSED], [good]).splitlines()
    assert [name for name in HEAD if name in head] == list(HEAD)
    assert " ".join(first.split()) == "rank 3 killed rank 3, node n2 unknown in-place 2.00 s 10"
    assert second.split() == ["node", "n1", "lost", "-", "-", "-", "-", "-"]


@pytest.mark.parametrize(
    ("wrong", "losses", "verdict", "code"),
    [
        ([], PLAIN, "demo: PASS after 9 s\n", 0),
        (["1 incident for 3 faults"], PLAIN, "demo: FAIL after 9 s; 1 incident for 3 faults\n", 1),
        ([], PLAIN[:2], "demo: FAIL after 9 s; step 3 is missing\n", 1),
    ],
)
def test_the_last_line_says_why(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    wrong: list[str],
    losses: list[tuple[int, str]],
    verdict: str,
    code: int,
) -> None:
    one = demo.Demo(tmp_path, tmp_path)
    for path, made in ((one.losses, losses), (one.undisturbed, PLAIN)):
        path.write_text("".join(json.dumps({"step": step, "loss": loss}) + "\n" for step, loss in made))
    assert demo.report(one, summary(), wrong, 9.0) == code
    out = capsys.readouterr().out
    assert out.endswith(verdict)
    assert "effective training time" in out


def test_a_loss_that_is_being_written_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "losses.jsonl"
    assert demo.last_step(path) == 0
    path.write_text(json.dumps({"step": 7, "loss": "0.1"}) + '\n{"step": 8, "lo')
    assert demo.last_step(path) == 7


def test_a_report_of_the_disturbed_run_is_left_and_said_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = demo.Demo(tmp_path, tmp_path)
    job = Job(demo.JOB, "0123456789abcdef")
    folder = tmp_path / "keepstep" / "runs" / f"{demo.JOB}-01234567"
    folder.mkdir(parents=True)
    said = [job.accepted(), job.stepping(10), *job.incident(100), job.succeeded(200, 50)]
    (folder / "events.jsonl").write_text("".join(stored_line(message) + "\n" for message in said), encoding="utf-8")
    one.losses.write_text('{"step": 1, "loss": "0.5"}\n{"step": 2, "loss": "0.4"}\n', encoding="utf-8")
    assert one.write_report() == 0
    assert capsys.readouterr().out == f"wrote {tmp_path / 'report.html'}\n"
    assert "Loss over steps" in (tmp_path / "report.html").read_text(encoding="utf-8")
