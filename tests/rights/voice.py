"""One user's connection that collects what the server refuses."""

import asyncio
from collections.abc import Iterable

from nats.aio.client import Client as NatsConnection

from keepstep.contracts.ids import Pool
from keepstep.contracts.message import messages
from keepstep.contracts.subjects import kind_pattern, speakers
from keepstep.runtime.rights import DEFAULT

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


def words(place: str = "task-1", *, job: str = "job-1", pool: Pool = DEFAULT) -> dict[str, set[str]]:
    """Return every subject of every speaker about one job."""
    found: dict[str, set[str]] = {}
    for name, kind in messages().items():
        for who in speakers(kind):
            found.setdefault(who, set()).add(kind_pattern(pool, name, speaker=who, key=job, place=place))
    return found


EVERYTHING = {subject for each in words().values() for subject in each}
