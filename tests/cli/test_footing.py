"""A run whose bus or folder is taken away says so and ends, instead of waiting for what nobody will say."""

import asyncio
from pathlib import Path

import pytest

from keepstep.cli.errors import Failed
from keepstep.cli.footing import bus_silent, folder_lost, room_lost, room_on, stream_lost
from keepstep.ports.errors import Transient
from keepstep.runtime.nats_health import ROOM

FAST_S = 0.002


class Bus:
    """Answers with these identities, then with the last of them; None is an outage."""

    def __init__(self, *identities: str | None) -> None:
        self.left = list(identities)

    async def identity(self) -> str:
        now = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if now is None:
            raise Transient("away")
        return now


async def test_a_stream_that_was_made_anew_ends_the_run_with_the_remedy() -> None:
    """It said that it ran, for as long as anybody cared to look, while its ranks had finished or died."""
    with pytest.raises(Failed, match=r"lost its stream.*run the job again"):
        await asyncio.wait_for(stream_lost(Bus("a", None, None, "b"), look_s=FAST_S), 10)


async def test_an_outage_is_no_loss() -> None:
    bus = Bus(None, "a", None, "a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stream_lost(bus, look_s=FAST_S), 0.2)
    assert bus.left == ["a"]


async def test_a_bus_that_does_not_come_back_is_told_once_and_so_is_its_return() -> None:
    """Its binary was gone: the run said that it ran, while nobody decided anything any more."""
    told: list[str] = []
    bus = Bus("a", *[None] * 20, "a", None, "a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bus_silent(bus, told.append, look_s=FAST_S, silent_s=5 * FAST_S), 0.5)
    silent, back = told
    assert "the bus has not answered for" in silent
    assert "away" in silent, "why is told too"
    assert back == "the bus answers again"


async def test_a_restart_of_the_bus_is_not_told() -> None:
    told: list[str] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bus_silent(Bus("a", None, None, "a"), told.append, look_s=FAST_S), 0.2)
    assert not told


async def test_ranks_that_step_go_on_without_their_folder_and_it_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(folder_lost(tmp_path / "gone", told.append, lambda: False, look_s=FAST_S), 0.2)
    (line,) = told
    assert "was taken away: ranks that run go on" in line


async def test_an_incident_that_a_missing_folder_keeps_open_ends_the_run(tmp_path: Path) -> None:
    cluster, told = tmp_path / "cluster", list[str]()
    cluster.mkdir()
    with pytest.raises(TimeoutError):  # an incident alone is no loss
        await asyncio.wait_for(folder_lost(cluster, told.append, lambda: True, look_s=FAST_S), 0.2)
    assert not told
    cluster.rmdir()
    with pytest.raises(Failed, match="cannot be started again; run the job again"):
        await asyncio.wait_for(folder_lost(cluster, told.append, lambda: True, look_s=FAST_S), 10)


async def test_a_full_disk_is_told_once_and_so_is_its_end(tmp_path: Path) -> None:
    """A run waited silently for hours: it could not store that its rank had died, nor that it had succeeded."""
    left = [9 * ROOM, ROOM - 1, 0, ROOM, 2 * ROOM, ROOM, 0]
    told: list[str] = []
    with pytest.raises(IndexError):
        await asyncio.wait_for(room_lost(tmp_path, told.append, look_s=FAST_S, room=lambda _: left.pop(0)), 10)
    assert [line.partition(str(tmp_path))[2].partition(":")[0] for line in told] == [" is full", " again", " is full"]
    assert "nothing that happens is stored or decided" in told[0]


async def test_a_folder_that_was_taken_away_is_not_told_as_a_full_disk(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(room_lost(tmp_path / "gone", told.append, look_s=FAST_S), 0.2)
    assert not told
    assert room_on(tmp_path) > 0
