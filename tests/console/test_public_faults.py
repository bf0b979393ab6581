"""Faults that systems outside report: checked, bounded, idempotent, and an end to what is not known."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest
import structlog
from nats.aio.client import Client as NatsConnection

from keepstep.console.context import Console
from keepstep.console.public_codes import known
from keepstep.console.public_faults import MOST_AT_ONCE, PublicFaults, TooMany, taken
from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.ports.errors import Permanent
from keepstep.runtime import batch
from keepstep.runtime.client import Client
from keepstep.runtime.letter import Letter
from tests.console.conftest import asking, tell
from tests.console.said import POOL, began, now

SENDERS = ("CCAE",)


def fault(number: int = 0, *, nodes: int = 1, **change: Any) -> dict[str, Any]:
    return {
        "faultId": f"fault-{number:04}",
        "faultType": "Node",
        "faultCode": "120001002",
        "faultTime": 1_767_000_000_000,
        "assertion": "occur",
        "influence": [{"nodeName": f"n{node + 1}"} for node in range(nodes)],
        "description": "CPU fault",
    } | change


def report(*faults: dict[str, Any], **change: Any) -> dict[str, Any]:
    return {
        "id": "report-0001", "timestamp": 1_767_000_000_000, "version": "1.0", "resource": "CCAE", "faults": faults,
    } | change  # fmt: skip


async def reported(client: Client) -> list[Any]:
    return [one.message async for one in client.read(kind=e.PublicFaultReported.__name__)]


async def test_a_report_is_in_the_stream_once_however_often_it_is_posted(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    await tell(client, console, *began())
    device = fault(1, faultType="NPU", faultCode="020001004", influence=[{"nodeName": "n2", "deviceIds": [0, 3]}])
    for _ in range(3):
        answer = await web.post("/public-faults", json=report(fault(), device))
        assert (answer.status_code, answer.json()) == (202, {"taken": 3, "dropped": []})
    said = await reported(client)
    assert [(one.node, one.device, one.code) for one in said] == [
        ("n1", None, "120001002"),
        ("n2", "0", "020001004"),
        ("n2", "3", "020001004"),
    ]
    assert {one.source for one in said} == {"CCAE"}
    await tell(client, console)
    shown = (await web.get("/faults", params={"source": "public", "active": True})).json()["items"]
    assert {hurt["job"]["name"] for one in shown for hurt in one["hurt"]} == {"train"}


async def test_what_is_reported_to_be_over_is_over(client: Client, console: Console, web: httpx.AsyncClient) -> None:
    await web.post("/public-faults", json=report(fault()))
    await web.post("/public-faults", json=report(fault(assertion="recover")))
    await tell(client, console)
    (shown,) = (await web.get("/faults", params={"source": "public"})).json()["items"]
    assert shown["active"] is False


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (report(fault(), resource="stranger"), "sender 'stranger' is not known"),
        (report(fault(faultCode="999999999")), "code '999999999' is not known"),
        (report(fault(faultType="NPU")), "is of no NPU"),
        (report(fault(influence=[{"nodeSN": "SN1"}])), "1 influences without nodeName"),
    ],
)
async def test_unknown_senders_and_codes_are_dropped_told_and_logged(
    client: Client, web: httpx.AsyncClient, asked: dict[str, Any], told: str
) -> None:
    structlog.reset_defaults()  # the room's tests log nothing that is expected, and this one is about just that
    with structlog.testing.capture_logs() as lines:
        answer = (await web.post("/public-faults", json=asked)).json()
    assert answer["taken"] == 0
    (line,) = [line for line in lines if line["event"] == "a public fault was dropped"]
    assert (told in line["because"], line["by"], line["report"]) == (True, "local", "report-0001")
    assert told in answer["dropped"][0]
    assert await reported(client) == []


@pytest.mark.parametrize(
    "asked",
    [
        report(*(fault(number) for number in range(101))),
        report(fault(nodes=1001)),
        report(),
        report(fault(influence=[])),
        report(fault(influence=[{"nodeName": "n1", "deviceIds": list(range(33))}])),
        report(fault(), version="2.0"),
        report(fault(), id="short"),
        report(fault(assertion="perhaps")),
        report(fault(description="x" * 513)),
    ],
)
async def test_a_report_beyond_its_limits_is_refused(
    client: Client, web: httpx.AsyncClient, asked: dict[str, Any]
) -> None:
    assert (await web.post("/public-faults", json=asked)).status_code == 422
    assert await reported(client) == []


def events(asked: dict[str, Any]) -> tuple[Message, ...]:
    return taken(PublicFaults.model_validate(asked), POOL, senders=SENDERS, codes=known(), now=now()).said


def test_a_hundred_faults_and_a_thousand_influences_are_taken() -> None:
    assert len(events(report(*(fault(number) for number in range(100))))) == 100
    assert len(events(report(fault(nodes=1000)))) == 1000


async def test_a_thousand_nodes_in_one_report_are_in_the_stream_when_it_is_answered(
    client: Client, web: httpx.AsyncClient
) -> None:
    async with asyncio.timeout(60):
        answer = await web.post("/public-faults", json=report(fault(nodes=1000)), timeout=60)
    assert answer.json()["taken"] == 1000
    assert len(await reported(client)) == 1000


def test_a_report_of_more_than_a_pool_s_worth_is_refused_as_a_whole() -> None:
    many = [fault(number, nodes=1000) for number in range(MOST_AT_ONCE // 1000 + 1)]
    with pytest.raises(TooMany, match="50000"):
        events(report(*many))


def test_levels_that_hurt_no_training_are_told_and_are_no_fault() -> None:
    slow, cpu = events(report(fault(0, faultCode="110001010"), fault(1)))
    assert (slow.hurts, cpu.hurts) == (False, True)  # type: ignore[attr-defined]  # both are NodeReported by what was posted
    assert "SubHealthFault" in slow.text  # type: ignore[attr-defined]  # as above


def test_a_user_s_own_code_is_taken_once_it_is_configured() -> None:
    assert known(["100010001=SeparateNPU"])["100010001"] == "SeparateNPU"
    for wrong in ("1", "100010001", "100010001=Whatever", "900010001=SeparateNPU"):
        with pytest.raises(Permanent, match="CODE=LEVEL"):
            known([wrong])


@pytest.mark.parametrize(
    ("influence", "field", "remedy"),
    [
        ({"nodeName": "n1\n\x1b[2J"}, "nodeName", "keepstep node list"),
        ({"nodeName": "../n1"}, "nodeName", "keepstep node list"),
        ({"nodeName": "n 1"}, "nodeName", "keepstep node list"),
        ({"nodeName": " "}, "nodeName", "keepstep node list"),
        ({"nodeName": "n\u202e1"}, "nodeName", "keepstep node list"),
        ({"nodeName": "n1", "nodeSN": "SN\x1b]0;x\x07"}, "nodeSN", "without control characters"),
        ({"nodeName": "n1", "deviceIds": [-1]}, "deviceIds", "from 0 to"),
        ({"nodeName": "n1", "deviceIds": [1_767_000_000_000]}, "deviceIds", "from 0 to"),
        ({"nodeName": "n1", "deviceIds": [True]}, "deviceIds", "from 0 to"),
        ({"nodeName": "n1", "deviceIds": ["0"]}, "deviceIds", "from 0 to"),
        ({"nodeName": "n1", "deviceIds": [0.0]}, "deviceIds", "from 0 to"),
    ],
)
async def test_a_node_or_device_that_cannot_be_is_refused_with_field_and_remedy(
    client: Client, web: httpx.AsyncClient, influence: dict[str, Any], field: str, remedy: str
) -> None:
    answer = await web.post("/public-faults", json=report(fault(), fault(1, influence=[influence])))
    assert answer.status_code == 422
    mistake = answer.json()["detail"][0]
    assert mistake["loc"][:6] == ["body", "faults", 1, "influence", 0, field]
    assert remedy in mistake["msg"]
    assert await reported(client) == []


async def test_thousands_of_nodes_are_said_in_a_few_writes(
    client: Client, web: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by one the disk takes 4 to 16 ms for each: with 9,000 a sender waited over two minutes."""
    put, sizes = batch.put, list[int]()

    async def counted(connection: NatsConnection, letters: Sequence[Letter]) -> bool:
        sizes.append(len(letters))
        return await put(connection, letters)

    async def never(*_: object, **__: object) -> None:
        raise AssertionError("a message was said by itself")

    monkeypatch.setattr(batch, "put", counted)
    monkeypatch.setattr(client.js, "publish_async", never)
    answer = await web.post("/public-faults", json=report(fault(nodes=1000), fault(1, nodes=300)), timeout=60)
    assert (answer.status_code, answer.json()["taken"]) == (202, 1300)
    assert sizes == [500, 500, 300]
    assert len(await reported(client)) == 1300


async def test_a_report_that_the_bus_takes_in_part_tells_which_and_is_completed_by_sending_it_again(
    client: Client, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, said = client.say_together, 0

    async def stopping(messages: Sequence[Message]) -> None:
        nonlocal said
        if said == 2:
            raise TimeoutError
        said += 1
        await together(messages)

    monkeypatch.setattr(client, "say_together", stopping)
    many = report(*(fault(number, nodes=400) for number in range(3)))
    async with asking(console) as web:
        answer = await web.post("/public-faults", json=many, timeout=60)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        told = answer.json()
        assert (told["taken"], told["left"], told["faults"]) == (1000, 200, ["fault-0002"])
        assert "send the report again" in told["detail"]
        monkeypatch.setattr(client, "say_together", together)
        again = await web.post("/public-faults", json=many, timeout=60)
    assert (again.status_code, again.json()) == (202, {"taken": 1200, "dropped": []})
    assert len(await reported(client)) == 1200


async def test_a_report_takes_no_longer_than_it_may(
    console: Console, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_messages: Sequence[Message]) -> None:
        await asyncio.Event().wait()  # as on a bus that is away

    monkeypatch.setattr(client, "say_together", never)
    async with asking(replace(console, desk=replace(console.desk, report_s=0.1))) as web:
        answer = await web.post("/public-faults", json=report(fault(), fault(1)), timeout=60)
    assert (answer.status_code, answer.json()["taken"], answer.json()["left"]) == (503, 0, 2)
    assert answer.json()["faults"] == ["fault-0000", "fault-0001"]
