"""``keepstep deadletter``: several letters at once, and one that cannot be helped keeps no other."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from keepstep.cli import main
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import cloud_headers
from keepstep.contracts.subjects import subject_of
from keepstep.runtime.client import Client
from keepstep.runtime.tail import Stored
from tests.runtime.stages import report


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, nats_url: str, pool: Pool) -> None:
    monkeypatch.setenv("KEEPSTEP_NATS_URL", nats_url)
    monkeypatch.setenv("KEEPSTEP_POOL", pool)


async def buried(client: Client, *services: str) -> None:
    for sequence, service in enumerate(services, start=1):
        message = report(client.pool, f"{service}-{sequence}")
        subject, body = subject_of(message), message.model_dump_json().encode()
        stored = Stored(sequence, datetime.now(UTC), subject, cloud_headers(message), body)
        await client.dead_letters.bury(service, stored, reason="garbled", incident=None)


async def run(*line: str) -> int:
    return await asyncio.to_thread(main.run, ["deadletter", *line])


async def numbers(client: Client) -> list[int]:
    return [one.number for one in await client.dead_letters.list()]


async def test_several_letters_and_all_of_a_service_are_replayed_at_once(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a channel was added, two hundred letters were to be sent again one by one."""
    await buried(client, "notifier", "detector", "notifier", "notifier", "isolator")
    first, detector, *_, isolator = await numbers(client)
    assert await run("replay", str(first), str(first)) == 0
    assert "replayed 1 dead letter\n" in capsys.readouterr().out
    assert await run("replay", "--all", "--service", "notifier") == 0
    assert "replayed 2 dead letters\n" in capsys.readouterr().out
    assert await numbers(client) == [detector, isolator]
    assert await client.last_sequence() == 3
    assert await run("drop", "--all") == 0
    assert "dropped 2 dead letters\n" in capsys.readouterr().out
    assert await numbers(client) == []
    assert await client.last_sequence() == 3, "what is dropped is not replayed"


async def test_a_letter_that_is_not_there_keeps_no_other_and_is_told(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    await buried(client, "notifier", "notifier")
    first, second = await numbers(client)
    assert await run("drop", str(first), "999", str(second)) == 1
    told = capsys.readouterr()
    assert "dropped 2 dead letters" in told.out
    assert "there is no dead letter 999" in told.err
    assert await numbers(client) == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["replay"], "which letters?"),
        (["drop", "1", "--all"], "which letters?"),
        (["replay", "1", "--service", "notifier"], "--service goes with --all"),
        (["drop", "--all", "--service", "mailer"], "'notifier'"),
    ],
)
async def test_nothing_is_guessed(line: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run(*line) == 2
    assert told in capsys.readouterr().err


async def test_an_object_of_the_list_names_what_replay_takes(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    await buried(client, "notifier")
    assert await run("list", "--json") == 0
    (letter,) = json.loads(capsys.readouterr().out)
    assert letter["number"] in await numbers(client)
