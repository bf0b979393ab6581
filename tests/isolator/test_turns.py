"""Turns at nodes: one after the other at one node, and none is remembered when it is over."""

import asyncio

from keepstep.contracts.ids import NodeName
from keepstep.isolator.turns import Turns


async def test_one_node_is_taken_in_turns_and_forgotten_after_the_last() -> None:
    turns, order = Turns(), list[str]()

    async def visit(node: str, name: str) -> None:
        async with turns.of(NodeName(node)):
            order.append(f"{name} comes")
            await asyncio.sleep(0.01)
            order.append(f"{name} goes")

    visits = [asyncio.create_task(visit("n1", name)) for name in ("a", "b")]
    await asyncio.sleep(0)
    assert len(turns) == 1
    await asyncio.gather(*visits)
    await asyncio.gather(*(visit(f"node-{number}", "c") for number in range(50)))
    assert order[:4] == ["a comes", "a goes", "b comes", "b goes"]
    del visits
    assert len(turns) == 0
