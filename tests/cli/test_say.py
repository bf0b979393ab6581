"""Who gives an order from a terminal, and how long the bus has for it."""

import asyncio
import getpass
import os

import pytest

from keepstep.cli.errors import Failed
from keepstep.cli.say import give, order
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PauseActions


def test_a_user_without_a_name_gives_orders_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers run under numbers that no file of users knows."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert order(PauseActions, Pool("p")).by == f"uid {os.getuid()}"


class Silent:
    """A bus that takes nothing."""

    async def say(self, _message: Message) -> None:
        await asyncio.Event().wait()


async def test_an_order_that_the_bus_does_not_take_is_told_and_not_waited_for_for_ever() -> None:
    """On a full disk keepstep pause waited silently until somebody thought of Ctrl-C."""
    with pytest.raises(Failed, match=r"within 0.05 s that it has the PauseActions.*keepstep events"):
        await asyncio.wait_for(give(Silent(), order(PauseActions, Pool("p")), within_s=0.05), 5)
