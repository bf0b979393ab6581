"""What can never be decided on goes to the dead letters, once, and its key goes on."""

import asyncio
import json
from base64 import b64encode
from random import Random
from urllib.parse import urlsplit

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client as NatsConnection

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.events import DeadLettered, NodeReported, NotificationQueued
from keepstep.contracts.ids import Pool, subject_token
from keepstep.contracts.message import Message
from keepstep.contracts.subjects import subject_of
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Permanent
from keepstep.runtime.burial import Burial
from keepstep.runtime.client import Client
from keepstep.runtime.stored_msg import hand_over_whatever_comes
from tests.contracts.examples import example
from tests.runtime.conftest import BRISK, Running, until_said
from tests.runtime.stages import Probe, report


async def raw(client: Client, kind: str, key: str, body: bytes, *, speaker: str = "agent.task-1") -> None:
    """Put bytes into the stream as they are."""
    await client.js.publish(f"keepstep.{subject_token(client.pool)}.{kind}.{subject_token(key)}.{speaker}", body)


async def test_a_garbled_body_goes_to_the_dead_letters_once(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe()
    async with start(probe.app()):
        await raw(client, "NodeReported", "job-1", b"{no json")
        await raw(client, "NodeReported", "job-1", b'{"id": 1, "incident": "i-1"}')
        await client.say(report(pool, "a"))
        await until_said(client, "a")
    async with start(probe.app()):
        await client.say(report(pool, "b"))
        await until_said(client, "a", "b")
    letters = await client.dead_letters.list()
    assert [letter.body for letter in letters] == [b"{no json", b'{"id": 1, "incident": "i-1"}']
    assert [letter.incident for letter in letters] == [None, "i-1"]
    assert {letter.service for letter in letters} == {"diagnoser"}
    assert "JSON" in letters[0].reason
    told = [said.message async for said in client.read(kind="DeadLettered")]
    assert [(one.about, one.incident) for one in told if isinstance(one, DeadLettered)] == [
        ("NodeReported", None),
        ("NodeReported", "i-1"),
    ]


async def test_a_garbled_body_under_a_subject_that_is_no_keys_stops_nobody(
    client: Client, pool: Pool, start: Running
) -> None:
    probe = Probe()
    async with start(probe.app()):
        await client.js.publish(f"keepstep.{subject_token(pool)}.NodeReported.a_zz.agent.-", b"{no json")
        await client.say(report(pool, "a"))
        await until_said(client, "a")
    (letter,) = await client.dead_letters.list()
    assert letter.subject.endswith(".a_zz.agent.-")


GARBAGE = (
    b"[" * 100_000,
    b'{"incident": "\\ud800"}',
    b'{"incident": "one\\r\\ntwo: three"}',
    b"\xff\xfe",
    b"NaN",
    b"",
)


@pytest.mark.parametrize("body", GARBAGE)
async def test_no_garbage_ends_a_service_or_gets_into_the_headers_of_its_letter(
    client: Client, pool: Pool, start: Running, body: bytes
) -> None:
    probe = Probe()
    async with start(probe.app()):
        await raw(client, "NodeReported", "job-1", body)
        await client.say(report(pool, "a"))
        await until_said(client, "a")
    (letter,) = await client.dead_letters.list()
    assert (letter.body, letter.incident) == (body, None)


@pytest.mark.parametrize("word", ["Idle Heartbeat", "FlowControl Request"])
async def test_an_empty_message_dressed_as_the_servers_own_word_is_buried_like_any_other(
    client: Client, pool: Pool, start: Running, word: str
) -> None:
    """The client took it for a heartbeat of the consumer and kept it: nothing behind it was ever decided on."""
    probe = Probe()
    subject = f"keepstep.{subject_token(pool)}.NodeReported.job-1.agent.task-1"
    async with start(probe.app()):
        await client.js.publish(subject, b"", headers={"Status": "100", "Description": word})
        await client.say(report(pool, "a"))
        await until_said(client, "a", within=10)
    (letter,) = await client.dead_letters.list()
    assert (letter.subject, letter.body) == (subject, b"")
    assert len([one async for one in client.read(kind="NodeReported")]) == 2, "a reader gets past it too"


@pytest.mark.parametrize(
    ("key", "headers"),
    [
        (b"job-1", b"NATS/1.0"),
        (b"job-1", b"NATS"),
        (b"job-1", b"NATS/1.0\r"),
        (b"job-1", b"JUNK\r\n\r\n"),
        (b"job-1", b"NATS/1.0\r\n"),
        (b"job-1", b"\x00" * 12),
        (b"job-1", b"NATS/1.0\r\nno colon\r\n\r\n"),
        (b"job-1", b"NATS/1.0 100 \xff\r\na: \xfe\r\n\r\n"),
        (b"\xff", b"NATS/1.0\r\n\r\n"),
    ],
)
async def test_bytes_that_are_no_headers_or_no_subject_are_buried_like_any_other_garbage(
    client: Client, start: Running, nats_url: str, key: bytes, headers: bytes
) -> None:
    """The client stopped reading over them; the connection was made anew and they were delivered again, for ever."""
    probe, pool = Probe(), client.pool
    async with start(probe.app()):
        await off_the_wire(nats_url, b".".join((pool.encode(), b"NodeReported", key, b"agent.task-1")), headers)
        await client.say(report(pool, "a"))
        await until_said(client, "a")
    (letter,) = await client.dead_letters.list()
    assert letter.body == b"{no json"
    assert client.link.outages == 0, "nor did a reader stop"


@given(st.one_of(st.binary(max_size=80), st.binary(max_size=80).map(b"NATS/1.0".__add__)))
def test_no_bytes_for_headers_stop_the_client(block: bytes) -> None:
    connection = NatsConnection()
    hand_over_whatever_comes(connection)
    asyncio.run(connection._process_headers(block))


async def off_the_wire(url: str, subject: bytes, headers: bytes) -> None:
    """Publish as no client would: the server takes whatever is as long as it was said to be."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    login = json.dumps({"auth_token": address.username, "headers": True, "verbose": False}).encode()
    length = b"%d %d" % (len(headers), len(headers) + len(b"{no json"))
    writer.write(b"CONNECT %s\r\nHPUB keepstep.%s %s\r\n%s{no json\r\nPING\r\n" % (login, subject, length, headers))
    while not (await reader.readline()).startswith(b"PONG"):
        assert not reader.at_eof(), "the server hung up"
    writer.close()


@pytest.mark.parametrize("there", ["another pool", "another key"])
async def test_a_body_under_a_subject_that_is_not_its_own_is_garbled(
    client: Client, pool: Pool, start: Running, there: str
) -> None:
    """What a stage says of such a body belongs to a stream that nobody may have: it was said again for ever."""
    probe = Probe()
    stray = report(Pool("elsewhere"), "a") if there == "another pool" else report(pool, "a", job="job-9")
    async with start(probe.app()):
        await raw(client, "NodeReported", "job-1", stray.model_dump_json().encode())
        await client.say(report(pool, "b"))
        await until_said(client, "b")
    (letter,) = await client.dead_letters.list()
    assert letter.reason == f"the body belongs under {subject_of(stray)}"
    assert probe.decided == ["b"]


@pytest.mark.parametrize("speaker", ["isolator", "agent.task-2", "agent"])
async def test_a_word_under_the_subject_of_another_speaker_decides_nothing(
    client: Client, pool: Pool, start: Running, speaker: str
) -> None:
    """The bus holds everybody to the subjects of his own: what a body claims beyond them is a lie."""
    probe = Probe()
    body = report(pool, "a").model_dump_json().encode()
    async with start(probe.app()):
        await client.js.publish(f"keepstep.{subject_token(pool)}.NodeReported.job-1.{speaker}", body)
        await client.say(report(pool, "b"))
        await until_said(client, "b")
    (letter,) = await client.dead_letters.list()
    assert letter.reason == f"the body belongs under {subject_of(report(pool, 'a'))}"
    assert probe.decided == ["b"]


async def test_a_message_on_which_a_service_always_stumbles_is_buried_and_its_key_goes_on(
    client: Client, pool: Pool, start: Running
) -> None:
    probe = Probe(raises={"a": [OverflowError("date value out of range") for _ in range(99)]})
    async with start(probe.app()):
        await client.say(report(pool, "a"))
        await client.say(report(pool, "b"))
        await until_said(client, "b")
    (letter,) = await client.dead_letters.list()
    assert "date value out of range" in letter.reason


async def test_a_message_as_large_as_the_bus_takes_is_buried_in_part(
    client: Client, pool: Pool, start: Running
) -> None:
    """Its letter has more headers than it: the server ended the connection over every try, for ever."""
    probe = Probe()
    body = b'{"id": "' + b"x" * (client.connection.max_payload - 10) + b'"'
    async with start(probe.app()):
        await raw(client, "NodeReported", "job-1", body)
        await client.say(report(pool, "a"))
        await until_said(client, "a")
        (letter,) = await client.dead_letters.list()
        assert body.startswith(letter.body)
        assert len(letter.body) > 0.99 * len(body)
        with pytest.raises(Permanent, match=f"of {len(body)} bytes"):
            await client.dead_letters.replay(letter.number)
        await client.dead_letters.drop(letter.number)


async def test_a_fold_that_grows_past_what_the_bus_takes_buries_the_message_that_did_it(
    client: Client, pool: Pool, start: Running
) -> None:
    probe = Probe()
    noise = b64encode(Random(1).randbytes(client.connection.max_payload * 2 // 5)).decode()  # which packing leaves long
    large = report(pool, noise)
    async with start(probe.app()):
        await client.say(report(pool, "b"))
        await client.js.publish(subject_of(large), large.model_dump_json().encode())
        await client.say(report(pool, "c"))
        await until_said(client, "b", "c")
    (letter,) = await client.dead_letters.list()
    assert "larger than the bus takes" in letter.reason


async def test_what_is_too_large_to_be_said_is_refused_before_the_connection_is_lost(
    client: Client, pool: Pool
) -> None:
    bare = len(report(pool, "a").model_dump_json())
    with pytest.raises(Permanent, match="larger than the bus takes"):
        await client.say(report(pool, "a", text="x" * (client.connection.max_payload - bare)))
    assert client.link.outages == 0


async def test_what_has_no_subject_is_buried_and_its_service_goes_on(
    client: Client, pool: Pool, start: Running
) -> None:
    """The service ended over its own word, began anew, and found the same word in its fold."""
    probe = Probe()
    async with start(probe.app()):
        await client.say(report(pool, "a", condition="nameless"))
        await client.say(report(pool, "b"))
        await until_said(client, "b")
    (letter,) = await client.dead_letters.list()
    assert (letter.subject, letter.sequence) == (f"keepstep.{pool}.FaultCleared.-.-", 0)
    assert "no subject" in letter.reason


async def test_a_letter_about_a_letter_is_not_written(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe(hears=(NodeReported, DeadLettered))
    async with start(probe.app()):
        await raw(client, "DeadLettered", "job-1", b"{no json")
        await client.say(report(pool, "a"))
        await until_said(client, "a")
    assert len(await client.dead_letters.list()) == 1
    assert [said async for said in client.read(kind="DeadLettered") if said.message is not None] == []


async def test_an_unknown_word_is_retried_then_buried(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe()
    body = report(pool, "a").model_dump_json().replace('"condition":"fine"', '"service":"astrologer","scope":"s"')
    body = body[:-1] + ',"what":"w","due":"2026-01-01T00:00:00Z"}'
    async with start(probe.app()):
        await raw(client, "DeadlinePassed", "job-1", body.encode(), speaker="diagnoser")
        await client.say(report(pool, "b"))
        await until_said(client, "b")
    (letter,) = await client.dead_letters.list()
    assert "service" in letter.reason


async def test_many_unknown_words_hold_their_key_up_no_longer_than_one(
    client: Client, pool: Pool, start: Running
) -> None:
    probe = Probe()
    body = report(pool, "a").model_dump_json().replace('"condition":"fine"', '"service":"astrologer","scope":"s"')
    body = body[:-1] + ',"what":"w","due":"2026-01-01T00:00:00Z"}'
    async with start(probe.app()):
        began = asyncio.get_running_loop().time()
        for _ in range(20):
            await raw(client, "DeadlinePassed", "job-1", body.encode(), speaker="diagnoser")
        await client.say(report(pool, "b"))
        await until_said(client, "b", within=20)
        lasted = asyncio.get_running_loop().time() - began
    assert len(await client.dead_letters.list()) == 20
    assert lasted < 10 * BRISK.unfamiliar_s, "one by one it is twenty times that"


async def test_what_is_permanent_is_buried_and_replayed_by_hand(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe(raises={"a": [Permanent("no such node") for _ in range(3)]})
    async with start(probe.app()):
        await client.say(report(pool, "a"))
        await client.say(report(pool, "b"))
        await until_said(client, "b")
        (letter,) = await client.dead_letters.list()
        assert (letter.reason, letter.service) == ("no such node", "diagnoser")
        await client.dead_letters.replay(letter.number)
        await until_said(client, "b", "a")
    assert await client.dead_letters.list() == ()
    with pytest.raises(Permanent, match="no dead letter"):
        await client.dead_letters.drop(letter.number)


async def test_the_letter_of_a_message_to_people_says_for_whom_it_was_and_no_other_does(
    client: Client, pool: Pool
) -> None:
    said: list[Message] = []

    async def say(message: Message) -> None:
        said.append(message)

    burial = Burial(
        Service.NOTIFIER, client, say, clock=SystemClock(), pace=BRISK, log=structlog.get_logger("keepstep.test")
    )
    queued = example(NotificationQueued)
    assert isinstance(queued, Message)
    queued = queued.model_copy(update={"pool": pool, "channel": "ops", "address": "a1"})
    await burial.bury_message(queued, "gone")
    await burial.bury_message(report(pool, "a"), "a bug")
    told = [(one.about, one.channel, one.address) for one in said if isinstance(one, DeadLettered)]
    assert told == [("NotificationQueued", "ops", "a1"), ("NodeReported", "", "")]
