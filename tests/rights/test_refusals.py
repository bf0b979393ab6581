"""The server refuses every word that is not a user's own, and every key and stream that is not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client as NatsConnection
from nats.errors import Error

from keepstep.contracts.events import SAID_BY
from keepstep.contracts.ids import JobUid, Pool, TaskUid
from keepstep.contracts.message import messages
from keepstep.contracts.subjects import AGENT, PEOPLE, former_subject, kind_pattern, speakers
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.rights import OPERATOR, agent_rights, all_rights, inbox, service_rights
from tests.rights.guarded import Guarded, guarded

POOL = Pool("default")
OWN = {"job": JobUid("job-1"), "task": TaskUid("task-1")}
POD = agent_rights(POOL, pod="1", **OWN)  # type: ignore[arg-type]
UNBOUND = agent_rights(POOL, pod="2")

LAST = "nobody.may.say.this"


class Voice:
    """One user's connection that collects what the server refuses."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.changed = asyncio.Event()
        self.connection: NatsConnection

    async def failed(self, error: Exception) -> None:
        """Keep the subject of a refusal."""
        said = str(error)
        assert "permissions violation for" in said.lower(), said
        self.refused.append(said.split('"')[1])
        self.changed.set()

    async def tries(self, *subjects: str) -> list[str]:
        """Publish to each and return those that were refused; core publishing, so that nothing waits for an answer."""
        self.refused.clear()
        for subject in subjects:
            await self.connection.publish(subject, b"{}")
        return await self.refusals(subjects)

    async def refusals(self, subjects: Iterable[str]) -> list[str]:
        """Return those of the subjects that the server refused; the client hands its words on in small letters.

        What nobody may say comes last: once that is refused, the server has answered everything before it.
        """
        await self.connection.publish(LAST, b"")
        async with asyncio.timeout(10):
            while LAST not in self.refused:
                await self.changed.wait()
                self.changed.clear()
        return sorted(subject for subject in subjects if subject.lower() in self.refused)


Speaks = Callable[[str], Awaitable[Voice]]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Guarded]:
    async with guarded(tmp_path, (*all_rights(POOL), POD, UNBOUND)) as running:
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


def words(place: str = "task-1") -> dict[str, set[str]]:
    """Return every subject of every speaker about one job."""
    found: dict[str, set[str]] = {}
    for name, kind in messages().items():
        for who in speakers(kind):
            found.setdefault(who, set()).add(kind_pattern(POOL, name, speaker=who, key="job-1", place=place))
    return found


EVERYTHING = {subject for each in words().values() for subject in each}


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


async def test_an_agent_speaks_for_its_task_alone(speaks: Speaks) -> None:
    pod = await speaks(POD.user)
    nodes = {
        kind_pattern(POOL, k, speaker=AGENT, key="job-1", place="task-1")
        for k in ("DeviceReported", "NodeReported", "LinkReported")
    }
    beats = [names.telemetry_subject(POOL, "task-1"), names.telemetry_subject(POOL, "task-2")]
    assert await pod.tries(*sorted(EVERYTHING)) == sorted(EVERYTHING - words()[AGENT] | nodes)
    assert await pod.tries(*words("task-2")[AGENT]) == sorted(words("task-2")[AGENT])
    assert await pod.tries(*beats) == beats[1:]


async def test_an_agent_without_a_task_says_nothing(speaks: Speaks) -> None:
    pod = await speaks(UNBOUND.user)
    assert await pod.tries(*sorted(EVERYTHING)) == sorted(EVERYTHING)


async def test_an_agent_reads_its_own_binding_and_plan_and_no_other(server: Guarded) -> None:
    agent = await Client.open(server.url(POD.user).get_secret_value(), POOL, name="test")
    assert await agent.bindings.bound("1") is None
    assert await agent.plans.read(OWN["job"]) is None  # type: ignore[arg-type]
    assert await agent.plans.entry(OWN["job"], OWN["task"]) is None  # type: ignore[arg-type]
    await agent.close()


async def test_an_agent_cannot_follow_a_key_that_is_not_its_own(speaks: Speaks) -> None:
    pod, plans = await speaks(POD.user), names.plans_bucket(POOL)
    stream = f"KV_{plans}"
    own = f"$JS.API.CONSUMER.CREATE.{stream}.reader.$KV.{plans}.job-1"
    others = [
        f"$JS.API.CONSUMER.CREATE.{stream}",
        f"$JS.API.CONSUMER.CREATE.{stream}.reader",
        f"$JS.API.CONSUMER.CREATE.{stream}.reader.$KV.{plans}.job-2",
        f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.reader",
        f"$JS.API.CONSUMER.CREATE.{names.stream_name(POOL)}.reader.>",
        f"$JS.API.DIRECT.GET.{stream}.$KV.{plans}.job-2",
        f"$JS.API.STREAM.MSG.GET.{stream}",
    ]
    assert await pod.tries(own, *others) == sorted(others)


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


def test_folds_kept_in_redis_leave_no_bucket_to_write() -> None:
    rights = service_rights(POOL, Service.DETECTOR, folds_on_bus=False)
    assert not [subject for subject in rights.publish if subject.startswith("$KV.keepstep-folds")]


async def test_an_answer_of_the_server_cannot_be_sent_where_one_may_not_speak(server: Guarded) -> None:
    """The server asks nobody where an answer goes: a direct get of one's own lease said whatever it held."""
    detector = await Client.open(server.url(Service.DETECTOR).get_secret_value(), POOL, name="test")
    leases, plan = names.leases_bucket(POOL), f"$KV.{names.plans_bucket(POOL)}.job-1"
    forged = kind_pattern(POOL, "JobFailed", speaker=Service.SCHEDULER_ADAPTER, key="job-1")
    await detector.js.publish(f"$KV.{leases}.{Service.DETECTOR}", b"forged")
    for place in (forged, plan):
        lease = f"$KV.{leases}.{Service.DETECTOR}"
        await detector.connection.publish(f"$JS.API.DIRECT.GET.KV_{leases}.{lease}", b"", reply=place)
        await detector.connection.publish(f"$JS.API.STREAM.MSG.GET.KV_{leases}", b'{"seq": 1}', reply=place)
    await detector.connection.flush()
    people = await Client.open(server.url(PEOPLE).get_secret_value(), POOL, name="test")
    said = [heard.message async for heard in people.read()]
    assert said == [None]
    for client in (detector, people):
        await client.close()
