"""A service on the real bus: order, outbox, errors, dead letters, deadlines, effects."""

from keepstep.contracts.ids import Pool
from keepstep.runtime.client import Client
from tests.runtime.conftest import Running, said
from tests.runtime.stages import Probe, report, until


async def test_what_is_said_is_decided_on_and_answered(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe()
    async with start(probe.app()):
        for name in ("a", "b", "c"):
            await client.say(report(pool, name))
        await until(lambda: probe.decided == ["a", "b", "c"])
    assert await said(client) == ["a", "b", "c"]
