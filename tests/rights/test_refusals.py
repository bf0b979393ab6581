"""The server refuses every word that is not a user's own, and every key and stream that is not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nats
import pytest
from nats.errors import Error

from keepstep.contracts.events import SAID_BY
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.orders import PauseActions, ResumeActions
from keepstep.contracts.subjects import AGENT, PEOPLE, former_subject, kind_pattern
from keepstep.contracts.taxonomy import Service
from keepstep.core.ordering import ordered
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.rights import CONSOLE, DEFAULT, OPERATOR, Rights, all_rights, inbox, service_rights
from keepstep.runtime.rights_of_pods import agent_rights, cluster_rights, node_agent_rights
from tests.rights.guarded import Guarded, guarded
from tests.rights.voice import EVERYTHING, Voice, words
from tests.runtime.stages import NOON

POOL = DEFAULT
Speaks = Callable[[str], Awaitable[Voice]]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Guarded]:
    async with guarded(tmp_path, all_rights(POOL)) as running:
        client = await Client.open(running.url(Service.DETECTOR).get_secret_value(), POOL, name="test")
        await client.provision()
        await client.close()
        yield running


@pytest.fixture
async def speaks(server: Guarded) -> AsyncIterator[Speaks]:
    async with AsyncExitStack() as open_ones:

        async def speak(user: str) -> Voice:
            voice = Voice()
            url = server.url(user).get_secret_value()
            voice.connection = await nats.connect(url, error_cb=voice.failed, inbox_prefix=inbox(user))
            open_ones.push_async_callback(voice.connection.close)
            return voice

        yield speak


@pytest.mark.parametrize("user", [*Service, AGENT, "outside"])
async def test_a_user_says_its_own_words_and_nobody_else_s(speaks: Speaks, user: str) -> None:
    refused = await (await speaks(user)).tries(*sorted(EVERYTHING))
    assert refused == sorted(EVERYTHING - words()[user])


@pytest.mark.parametrize("user", [*Service, AGENT, PEOPLE, "outside"])
async def test_nobody_says_anything_under_a_subject_without_a_speaker(speaks: Speaks, user: str) -> None:
    """It is still read where it is stored, so nobody may get around his own row by it."""
    former = sorted({former_subject(subject) for subject in EVERYTHING})
    assert await (await speaks(user)).tries(*former) == former


async def test_people_give_orders_and_inject_one_fault_and_say_nothing_else(speaks: Speaks) -> None:
    refused = await (await speaks(PEOPLE)).tries(*sorted(EVERYTHING))
    injected = kind_pattern(POOL, "DeviceReported", speaker=AGENT, key="job-1", place="task-1")
    assert refused == sorted(EVERYTHING - words()[PEOPLE] - {injected})


async def test_a_service_may_not_say_its_own_word_under_another_s_name(speaks: Speaks) -> None:
    detector = await speaks(Service.DETECTOR)
    forged = [
        kind_pattern(POOL, "DeadlinePassed", speaker=each, key="job-1")
        for each in Service
        if each is not Service.DETECTOR
    ]
    assert await detector.tries(*forged) == sorted(forged)


@pytest.mark.parametrize("user", [each for each in all_rights(POOL) if each.user != Service.SCHEDULER_ADAPTER])
async def test_plans_and_bindings_are_written_by_the_scheduler_adapter_alone(speaks: Speaks, user: object) -> None:
    keys = [f"$KV.{bucket}.job-1" for bucket in (names.plans_bucket(POOL), names.pods_bucket(POOL))]
    who = getattr(user, "user", "")
    assert await (await speaks(who)).tries(*keys) == sorted(keys)
    assert await (await speaks(Service.SCHEDULER_ADAPTER)).tries(*keys) == []


@pytest.mark.parametrize("service", Service)
async def test_a_service_writes_its_own_folds_lease_and_letters_alone(speaks: Speaks, service: Service) -> None:
    def of(who: Service) -> list[str]:
        folds, leases = names.folds_room(POOL, who), names.leases_bucket(POOL)
        return [f"$KV.{folds}.fold", f"$KV.{leases}.{who}", names.deadletter_subject(POOL, who)]

    voice = await speaks(service)
    assert await voice.tries(*of(service)) == []
    others = [subject for each in Service if each is not service for subject in of(each)]
    assert await voice.tries(*others) == sorted(others)


async def test_no_user_changes_or_removes_a_stream(speaks: Speaks) -> None:
    streams = [names.stream_name(POOL), names.deadletter_stream(POOL), f"KV_{names.plans_bucket(POOL)}"]
    wanted = [f"$JS.API.STREAM.{verb}.{stream}" for verb in ("UPDATE", "DELETE") for stream in streams]
    wanted += [f"$JS.API.STREAM.PURGE.{stream}" for stream in streams[:2]]
    for rights in all_rights(POOL):
        voice = await speaks(rights.user)
        assert await voice.tries(*wanted) == sorted(wanted), rights.user


async def test_the_console_says_who_came_in_and_what_people_and_systems_outside_say(speaks: Speaks) -> None:
    refused = await (await speaks(CONSOLE)).tries(*sorted(EVERYTHING))
    assert refused == sorted(EVERYTHING - words()[CONSOLE] - words()[PEOPLE] - words()["outside"])


async def test_the_console_follows_the_stream_and_gives_orders(server: Guarded) -> None:
    console = await Client.open(server.url(CONSOLE).get_secret_value(), POOL, name="test")
    people = await Client.open(server.url(PEOPLE).get_secret_value(), POOL, name="test")
    said = ordered(PauseActions, POOL, by="ann", now=NOON)
    await people.say(said)
    async with asyncio.timeout(20):
        async for one in console.paced():
            assert one.message == said
            break
    assert [one.message async for one in console.window(first=1, last=9)] == [said]
    await console.say(ordered(ResumeActions, POOL, by="bob", now=NOON))
    assert await console.last_sequence() == 2
    for client in (console, people):
        await client.close()


async def test_nobody_listens_to_another_s_answers(speaks: Speaks) -> None:
    for rights in all_rights(POOL):
        voice = await speaks(rights.user)
        spied = [f"{inbox(other.user)}.>" for other in all_rights(POOL) if other.user != rights.user]
        for subject in (*spied, "_INBOX.>", ">"):
            await voice.connection.subscribe(subject)
        assert len(await voice.refusals([*spied, "_INBOX.>", ">"])) == len(spied) + 2, rights.user


async def test_a_wrong_password_is_refused(server: Guarded) -> None:
    url = server.url(Service.DETECTOR).get_secret_value().replace("secret-of", "guess-of")
    with pytest.raises(Error):
        await nats.connect(url, allow_reconnect=False, max_reconnect_attempts=0)


def test_orders_and_plans_have_no_other_speaker() -> None:
    """Of all rights on the board of plans, one user's may write."""
    plans = names.plans_bucket(POOL)
    writers = {rights.user for rights in all_rights(POOL) if any(s.startswith(f"$KV.{plans}") for s in rights.publish)}
    assert writers == {Service.SCHEDULER_ADAPTER}
    assert OPERATOR not in writers
    assert {str(service) for service in SAID_BY} & writers == writers


@pytest.mark.parametrize(
    "rights",
    [
        *all_rights(POOL),
        *cluster_rights(POOL),
        agent_rights(POOL, pod="p", job=JobUid("j"), task=TaskUid("t")),
        node_agent_rights(POOL, pod="p", node=NodeName("n")),
    ],
    ids=lambda rights: rights.user,
)
def test_nobody_has_direct_gets_on_what_he_may_write(rights: Rights) -> None:
    """The bare value, sent to a subject of his choice, would speak there in another's name."""
    got = {
        subject.partition(".DIRECT.GET.")[2].split(".")[0] for subject in rights.publish if ".DIRECT.GET." in subject
    }
    written = {f"KV_{subject.split('.')[1]}" for subject in rights.publish if subject.startswith("$KV.")}
    said = {names.stream_name(POOL)} if any(one.startswith("keepstep.") for one in rights.publish) else set()
    assert not got & (written | said)


def test_folds_kept_in_redis_leave_no_bucket_to_write() -> None:
    rights = service_rights(POOL, Service.DETECTOR, folds_on_bus=False)
    assert not [subject for subject in rights.publish if subject.startswith("$KV.keepstep-folds")]


@pytest.mark.parametrize("bucket", [names.leases_bucket(POOL), names.folds_room(POOL, Service.DETECTOR)])
async def test_an_answer_of_the_server_cannot_be_sent_where_one_may_not_speak(server: Guarded, bucket: str) -> None:
    """The server asks nobody where an answer goes: a direct get of one's own lease or fold said whatever it held."""
    detector = await Client.open(server.url(Service.DETECTOR).get_secret_value(), POOL, name="test")
    own, plan = f"$KV.{bucket}.{Service.DETECTOR}", f"$KV.{names.plans_bucket(POOL)}.job-1"
    forged = kind_pattern(POOL, "JobFailed", speaker=Service.SCHEDULER_ADAPTER, key="job-1")
    await detector.js.publish(own, b"forged")
    for place in (forged, plan):
        await detector.connection.publish(f"$JS.API.DIRECT.GET.KV_{bucket}.{own}", b"", reply=place)
        await detector.connection.publish(f"$JS.API.STREAM.MSG.GET.KV_{bucket}", b'{"seq": 1}', reply=place)
    await detector.connection.flush()
    people = await Client.open(server.url(PEOPLE).get_secret_value(), POOL, name="test")
    said = [(heard.message, b"forged" in heard.body) async for heard in people.read()]
    assert said == [(None, False)]
    adapter = await Client.open(server.url(Service.SCHEDULER_ADAPTER).get_secret_value(), POOL, name="test")
    stored = await adapter.js.get_msg(f"KV_{names.plans_bucket(POOL)}", subject=plan)
    assert b"forged" not in (stored.data or b"")
    await adapter.close()
    for client in (detector, people):
        await client.close()


async def test_the_console_may_ask_the_bus_for_the_time(server: Guarded) -> None:
    """It goes by the bus's clock; refused, the question is answered by nobody and the machine's own time counts."""
    client = await Client.open(server.url(CONSOLE).get_secret_value(), POOL, name="console")
    try:
        assert abs(await client.time() - datetime.now(UTC)) < timedelta(minutes=1)
    finally:
        await client.close()
