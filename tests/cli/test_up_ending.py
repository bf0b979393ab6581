"""A signal to ``keepstep up`` while its stream is asked which jobs run: the answer is waited for, within bounds."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from keepstep.cli import history, up
from keepstep.cli.signals import Interruptions
from keepstep.contracts.message import Message
from keepstep.ports.errors import Transient
from tests.cli.test_aimed import runs

STACK: Any = SimpleNamespace(address="of a stack")


def asking(monkeypatch: pytest.MonkeyPatch, *told: Message, silent: bool = False) -> None:
    """Let the stream tell this, and then be silent."""

    async def said(_source: history.Source) -> AsyncIterator[Message]:
        for message in told:
            yield message
        if silent:
            await asyncio.Event().wait()

    monkeypatch.setattr(history, "Running", lambda address: address)
    monkeypatch.setattr(history, "said", said)


async def test_the_jobs_that_have_not_ended_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    asking(monkeypatch, *runs("old", "n1", ended=True), *runs("train", "n1"))
    found = await up._living(STACK, Interruptions())
    assert found is not None
    assert [job.ref.name for job in found] == ["train"]


async def test_a_bus_that_does_not_tell_is_waited_for_no_longer_than_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    asking(monkeypatch, silent=True)
    monkeypatch.setattr(up, "READ_LIMIT_S", 0.05)
    async with asyncio.timeout(5):
        assert await up._living(STACK, Interruptions()) is None


async def test_a_second_signal_waits_for_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asking(monkeypatch, silent=True)
    interruptions = Interruptions()
    interruptions.second.set()
    async with asyncio.timeout(5):
        assert await up._living(STACK, interruptions) is None


async def test_what_the_bus_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def said(_source: history.Source) -> AsyncIterator[Message]:
        raise Transient("cut off")
        yield

    monkeypatch.setattr(history, "Running", lambda address: address)
    monkeypatch.setattr(history, "said", said)
    with pytest.raises(Transient, match="cut off"):
        await up._living(STACK, Interruptions())


async def test_jobs_that_could_not_be_told_to_stop_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their ranks ended under them, and nothing said why the next keepstep up found them unfinished."""
    asking(monkeypatch, *runs("train", "n1"), *runs("eval", "n1"), *runs("eval", "n2", uid="0123456789ab"))
    monkeypatch.setattr(up, "READ_LIMIT_S", 0.05)

    async def order_stop(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(up, "_order_stop", order_stop)
    interruptions = Interruptions()
    interruptions.number = 2
    async with asyncio.timeout(5):
        await up._stop_jobs(STACK, interruptions)
    assert (
        "SIGINT: the bus did not take the order to stop train, eval uid-eval, eval 0123456789ab in time"
        in capsys.readouterr().out
    )
