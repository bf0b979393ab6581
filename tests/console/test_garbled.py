"""What cannot be read is refused by field, header and remedy, and what the stream has of it is passed over."""

from typing import Any

import httpx
import pytest

from keepstep.console.context import Console
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.ids import Pool
from keepstep.runtime.client import Client
from keepstep.runtime.names import stream_name
from tests.console.conftest import tell
from tests.console.said import began, say
from tests.console.test_api import ordered


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": "x", "by": "mallory"}, {"reason": "y" * 501}])
async def test_an_order_needs_a_reason_and_takes_nothing_else(
    client: Client, console: Console, web: httpx.AsyncClient, body: dict[str, str]
) -> None:
    await tell(client, console, *began())
    assert (await web.post("/nodes/n1/isolate", json=body)).status_code == 422
    assert await ordered(client, o.IsolateNode) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"argv": []}, "nothing to run"),
        ({"argv": ["no-such-program-here"]}, "was not found"),
        ({"nodes": 0}, "nodes: 0 is out of range"),
        ({"name": "Not A Name"}, "name:"),
        ({"env": {"RANK": "1"}}, "RANK"),
        ({"policy": {"recovery": {"crsh": {}}}}, "crash"),
        ({"policy": {}, "fault_tolerance_args": "--enable-replace"}, "exclude each other"),
        ({"fault_tolerance_args": "--enable-wonders"}, "--enable-wonders is none of its flags"),
        ({"fault_tolerance_config": "{"}, "fault-tolerance-config"),
        ({"resume_arg": "--resume"}, "{path}"),
    ],
)
async def test_a_mistake_in_a_job_is_told_with_field_and_remedy(
    web: httpx.AsyncClient, client: Client, change: dict[str, Any], told: str
) -> None:
    answer = await web.post("/jobs", json={"argv": ["python3"], "name": "toy"} | change)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert await ordered(client, o.CreateJob) == []


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"{", {"Content-Type": "application/json"}),
        (b"\xff\xfe", {"Content-Type": "application/json"}),
        (b"[" * 100_000, {"Content-Type": "application/json"}),
        (b'{"reason": "x"}', {"Content-Type": "text/plain"}),
        (b"", {}),
    ],
)
async def test_garbled_bodies_are_refused(web: httpx.AsyncClient, body: bytes, headers: dict[str, str]) -> None:
    answer = await web.post("/nodes/n1/isolate", content=body, headers=headers)
    assert 400 <= answer.status_code < 500


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "before=0", "severity=loud", "since=yesterday", "since=2026-01-01T00:00:00", "open=maybe"],
)
async def test_garbled_questions_are_refused(web: httpx.AsyncClient, query: str) -> None:
    path = "/incidents" if query.startswith("open") else "/events"
    assert (await web.get(f"{path}?{query}")).status_code == 422


async def test_garbled_messages_of_the_stream_are_counted_and_the_others_shown(
    client: Client, console: Console, pool: Pool, web: httpx.AsyncClient
) -> None:
    forged = say(e.JobWaiting, 1, because="forged").model_copy(update={"pool": "other"})
    subject = f"keepstep.{pool}.JobWaiting.j.scheduler-adapter"
    for body in (b"", b"{", b'{"id": 1}', forged.model_dump_json().encode(), b"\x00" * 1000):
        await client.js.publish(subject, body)
    await client.js.publish(f"keepstep.{pool}.Unheard.j.nobody", b"{}")
    await tell(client, console, *began())
    assert (console.live.unreadable, console.live.stumbled) == (6, 0)
    assert (await web.get("/overview")).json()["unreadable"] == 6
    assert [row.ref.name for row in console.board.jobs(console.now()).items] == ["train"]
    assert (await client.js.stream_info(stream_name(pool))).state.messages == 10


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({}, "the header Content-Type is missing; send JSON with the header Content-Type: application/json"),
        ({"Content-Type": "text/plain"}, "the header Content-Type is text/plain; send JSON"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "Content-Type: application/json"),
    ],
)
@pytest.mark.parametrize("path", ["/nodes/n1/isolate", "/jobs", "/public-faults", "/jobs/train/stop"])
async def test_a_body_that_does_not_say_what_it_is_is_told_which_header_it_lacks(
    web: httpx.AsyncClient, path: str, headers: dict[str, str], told: str
) -> None:
    """It was told of a dictionary that it should have been, which it was."""
    answer = await web.post(path, content=b'{"reason": "why"}', headers=headers)
    assert answer.status_code == 415
    assert told in answer.json()["detail"]


async def test_a_body_that_says_it_is_json_is_told_what_it_lacks(web: httpx.AsyncClient) -> None:
    for kind in ("application/json", "application/json; charset=utf-8", "application/problem+json"):
        answer = await web.post("/nodes/n1/isolate", content=b"{}", headers={"Content-Type": kind})
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "reason"])
    nothing = await web.post("/nodes/n1/isolate")
    assert nothing.status_code == 422
