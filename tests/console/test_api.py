"""``/api/v1``: what is read, what is ordered, and how too much, too wrong and too foreign is answered."""

import asyncio
from typing import Any

import httpx
import pytest

from keepstep.console.access import User, current_user
from keepstep.console.api import application
from keepstep.console.context import Console
from keepstep.console.settings import ConsoleSettings
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Role
from keepstep.ports.cluster import NodeStatus
from keepstep.runtime.client import Client
from tests.console.conftest import asking, consoled, tell
from tests.console.said import began, say, struck

REASON = {"reason": "fan is loud"}


async def ordered(client: Client, kind: type[Message]) -> list[Any]:
    return [one.message async for one in client.read(kind=kind.__name__)]


async def test_jobs_incidents_nodes_faults_events_and_statistics_are_read(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    await tell(client, console, *began(), *struck("i1", 10, victims=(0, 1)))
    (job,) = (await web.get("/jobs")).json()["items"]
    assert (job["ref"]["name"], job["state"], job["incidents"]) == ("train", "running", 1)
    shown = (await web.get("/jobs/train")).json()
    assert shown["tolerance"][0]["reason"] == "FaultDetected"
    assert (await web.get("/jobs/train/tolerance")).json() == shown["tolerance"]
    (row,) = (await web.get("/incidents", params={"open": False})).json()["items"]
    incident = (await web.get(f"/incidents/{row['incident']}")).json()
    assert sum(stage["seconds"] for stage in incident["stages"]) == incident["wall_s"]
    assert [node["node"] for node in (await web.get("/nodes")).json()] == ["n1", "n2"]
    assert (await web.get("/nodes/n2")).json()["jobs"] == [job["ref"]]
    assert (await web.get("/faults", params={"source": "process"})).json()["total"] == 3
    assert (await web.get("/events", params={"name": "IncidentOpened"})).json()["items"][0]["incident"] == "i1"
    assert (await web.get("/statistics")).json()["faults"] == 1
    overview = (await web.get("/overview")).json()
    assert (overview["running"], overview["open_incidents"], overview["caught_up"]) == (1, 0, True)


@pytest.mark.parametrize("path", ["/jobs/none", "/incidents/none", "/nodes/none", "/jobs/none/tolerance"])
async def test_what_is_not_there_is_told_by_name(web: httpx.AsyncClient, path: str) -> None:
    answer = await web.get(path)
    assert (answer.status_code, "none" in answer.json()["detail"]) == (404, True)


async def test_statistics_equal_what_was_injected_after_a_restart(client: Client, settings: ConsoleSettings) -> None:
    story = [message for number in range(7) for message in struck(f"i{number}", 10 + 5 * number, victims=(0, 1, 2))]
    async with consoled(settings, client) as first:
        await tell(client, first, *began(), *story)
        before = first.board.statistics()
    async with consoled(settings, client) as second:
        after = second.board.statistics()
        assert after == before
        assert (after.faults, after.incidents, after.by_job[0].faults) == (7, 7, 7)
        assert after.by_job[0].last_fault == after.last_fault
        assert second.board.job("train", second.now()) is not None


async def test_the_eleventh_query_in_a_second_is_answered_429(settings: ConsoleSettings, client: Client) -> None:
    async with consoled(settings.model_copy(update={"console_queries": 10}), client) as console, asking(console) as web:
        answers = await asyncio.gather(*(web.get("/statistics") for _ in range(11)))
        assert sorted(answer.status_code for answer in answers) == [200] * 10 + [429]
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["Retry-After"] == "1"


async def test_a_person_isolates_and_releases_a_node_under_his_name(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    await tell(client, console, *began())
    assert (await web.post("/nodes/n1/isolate", json=REASON)).status_code == 202
    assert (await web.post("/nodes/n1/release", json=REASON)).status_code == 202
    (isolate,) = await ordered(client, o.IsolateNode)
    (release,) = await ordered(client, o.ReleaseNode)
    assert (isolate.node, isolate.reason, isolate.by) == ("n1", "fan is loud", "local")
    assert (release.node, release.by) == ("n1", "local")
    assert (await web.post("/nodes/n9/isolate", json=REASON)).status_code == 404


async def test_draining_a_node_asks_each_job_there_to_move(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    await tell(client, console, *began())
    assert (await web.post("/nodes/n1/drain", json=REASON)).status_code == 202
    assert [order.job and order.job.name for order in await ordered(client, o.DrainNode)] == [None, "train"]


async def test_who_drains_a_node_reads_that_no_other_is_free(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    await tell(client, console, *began())
    busy = {name: NodeStatus(NodeName(name), ready=True, tasks=(TaskUid(name),)) for name in ("n1", "n2")}
    console.board.model.nodes.fleet({NodeName(name): status for name, status in busy.items()})
    (warning,) = (await web.post("/nodes/n1/drain", json=REASON)).json()["warnings"]
    assert warning.startswith("no other node is free")


async def test_a_person_stops_a_job_once(client: Client, console: Console, web: httpx.AsyncClient) -> None:
    await tell(client, console, *began())
    assert (await web.post("/jobs/train/stop", json=REASON)).status_code == 202
    (stop,) = await ordered(client, o.StopJob)
    assert (stop.job.name, stop.reason, stop.by) == ("train", "fan is loud", "local")
    await tell(client, console, say(e.JobStopRequested, 60, by="local"), say(e.JobDeleted, 61))
    again = await web.post("/jobs/train/stop", json=REASON)
    assert (again.status_code, "has ended" in again.json()["detail"]) == (409, True)


async def test_a_person_acknowledges_an_incident(client: Client, console: Console, web: httpx.AsyncClient) -> None:
    await tell(client, console, *began(), *struck("i1", 10, end=False))
    assert (await web.post("/incidents/i1/ack")).status_code == 202
    (ack,) = await ordered(client, o.AckIncident)
    assert (ack.incident, ack.job.name, ack.by) == ("i1", "train", "local")
    await tell(client, console, say(e.IncidentAcknowledged, 12, incident="i1", by="local"))
    assert (await web.get("/incidents/i1")).json()["acknowledged"] == "local"


async def test_a_job_is_created_as_on_the_command_line(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    asked = {"argv": ["python3", "-c", "pass"], "name": "toy", "nodes": 2, "env": {"A": "1"}}
    answer = await web.post("/jobs", json=asked)
    assert answer.status_code == 202
    (create,) = await ordered(client, o.CreateJob)
    assert create.job.uid == answer.json()["job"]["uid"]
    assert (create.spec.nodes, create.spec.env, create.by) == (2, {"A": "1"}, "local")


async def test_settings_that_restart_too_often_are_told_before_and_at_creation(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    asked = {"argv": ["python3"], "name": "toy", "fault_tolerance_args": "--unconditional-retry-observe-seconds 10"}
    checked = (await web.post("/jobs", params={"check": True}, json=asked)).json()
    assert "an hour" in checked["warnings"][0]
    assert await ordered(client, o.CreateJob) == []
    assert (await web.post("/jobs", json=asked)).json()["warnings"] == checked["warnings"]
    assert len(await ordered(client, o.CreateJob)) == 1


async def test_who_may_only_read_orders_nothing(console: Console) -> None:
    app = application(console)
    app.dependency_overrides[current_user] = lambda: User(name="vic", role=Role.VIEWER)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1") as web:
        assert (await web.get("/statistics")).status_code == 200
        answer = await web.post("/nodes/n1/isolate", json=REASON)
        assert (answer.status_code, "vic is viewer" in answer.json()["detail"]) == (403, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8700"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
    ],
)
async def test_a_page_of_another_site_orders_nothing_of_a_console_without_login(
    client: Client, console: Console, web: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    await tell(client, console, *began())
    assert (await web.post("/nodes/n1/isolate", json=REASON, headers=headers)).status_code == 403
    assert await ordered(client, o.IsolateNode) == []


LINKED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
BESIDE = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [("GET", {}, 200), ("GET", LINKED, 200), ("GET", BESIDE, 403), ("POST", LINKED, 403),
     ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
     ("GET", {"Sec-Fetch-Site": "same-origin"}, 200), ("GET", {"Sec-Fetch-Site": "none"}, 200)],
)  # fmt: skip
async def test_a_page_of_another_site_may_link_here_and_load_nothing(
    web: httpx.AsyncClient, method: str, headers: dict[str, str], status: int
) -> None:
    """A picture from here on any page would take the reader's queries, and a stream one of those that are served."""
    path = "/overview" if method == "GET" else "/jobs/none/pause"
    assert (await web.request(method, path, headers=headers)).status_code == status


async def test_another_user_of_the_machine_reads_nothing(
    web: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepstep.console.guard.owner_of", lambda *_: 12345)
    assert (await web.get("/statistics")).status_code == 403


async def test_the_description_of_the_interface_has_every_route(web: httpx.AsyncClient) -> None:
    paths = (await web.get("/openapi.json")).json()["paths"]
    for route in (one for methods in paths.values() for one in methods.values()):
        assert {"401", "403", "413", "429", "503"} <= set(route["responses"]), route["summary"]
    assert {path.removeprefix("/api/v1") for path in paths} >= {
        "/jobs", "/incidents", "/events", "/nodes", "/faults", "/statistics", "/stream", "/public-faults",
        "/nodes/{node}/isolate", "/nodes/{node}/release", "/incidents/{incident}/ack", "/jobs/{job}/stop",
    }  # fmt: skip
