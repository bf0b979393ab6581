"""What a stream held before subjects told who speaks is decided on, folded again, and buried by nobody."""

import json
from pathlib import Path

import pytest

from keepstep.contracts.ids import Pool, subject_token
from keepstep.contracts.message import messages
from keepstep.runtime.client import Client
from keepstep.runtime.intake import Garbled, Heard, recognise
from keepstep.runtime.tail import Stored
from tests.runtime.conftest import Running, until_said
from tests.runtime.stages import NOON, Probe, report

GOLDEN = Path(__file__).parents[1] / "contracts/golden"
FORMER: dict[str, str] = json.loads((GOLDEN / "former_subjects.json").read_text(encoding="utf-8"))
"""By message: where its golden event was stored."""


def stored(name: str, subject: str) -> Stored:
    return Stored(1, NOON, subject, {}, (GOLDEN / "v1" / f"{name}.json").read_bytes())


@pytest.mark.parametrize("name", FORMER)
def test_a_golden_event_is_heard_under_the_subject_that_it_was_stored_under(name: str) -> None:
    kind = messages()[name]
    assert len(FORMER[name].split(".")) == 4
    assert recognise(stored(name, FORMER[name]), (kind,)) == Heard(kind.read(stored(name, "").body))


@pytest.mark.parametrize("wrong", ["keepstep.pool-1.RankExited.uid-2", "keepstep.pool-2.RankExited.uid-1"])
def test_a_body_of_another_pool_or_key_is_garbled_there_too(wrong: str) -> None:
    found = recognise(stored("RankExited", wrong), (messages()["RankExited"],))
    assert isinstance(found, Garbled)


async def test_what_an_earlier_version_stored_is_decided_on_and_no_letter_is_dead(
    client: Client, pool: Pool, start: Running
) -> None:
    probe = Probe()
    former = f"keepstep.{subject_token(pool)}.NodeReported.job-1"
    await client.js.publish(former, report(pool, "a").model_dump_json().encode())
    async with start(probe.app()):
        await client.say(report(pool, "b"))
        await until_said(client, "a", "b")
    assert await client.dead_letters.list() == ()
    assert probe.decided == ["a", "b"]
