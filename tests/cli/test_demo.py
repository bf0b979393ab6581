"""The demo passes only for equal losses and incidents that were all resumed."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.cli import demo
from keepstep.cli.watch import Summary
from keepstep.contracts.ids import IncidentId
from keepstep.contracts.taxonomy import Outcome
from keepstep.core import ettr, timeline
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


def test_an_incident_too_few_too_many_or_not_resumed_fails_the_demo() -> None:
    (good,) = told(one_incident()).incidents
    failed = good.model_copy(update={"outcome": Outcome.FAILED, "incident": IncidentId("i2")})
    assert demo.complaints(0, summary(good), 1) == []
    assert demo.complaints(0, summary(good), 2) == ["1 incidents for 2 faults"]
    assert demo.complaints(0, summary(good, failed), 2) == ["incident i2 ended failed"]
    assert demo.complaints(1, summary(good), 1) == ["the run exited with 1: "]


def test_a_loss_that_is_being_written_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "losses.jsonl"
    assert demo.last_step(path) == 0
    path.write_text(json.dumps({"step": 7, "loss": "0.1"}) + '\n{"step": 8, "lo')
    assert demo.last_step(path) == 7
