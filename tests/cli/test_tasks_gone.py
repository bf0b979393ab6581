"""The end of a job is waited for only where somebody can tell of it."""

import asyncio
from pathlib import Path

import pytest

from keepstep.cli.tasks_gone import tasks_gone
from keepstep.contracts.ids import JobUid


async def test_a_cluster_whose_folder_was_taken_away_is_not_asked_again(tmp_path: Path) -> None:
    """A job whose ranks had all succeeded ended with code 1, because its folder was deleted while it ran."""
    await asyncio.wait_for(tasks_gone(tmp_path / "gone", {JobUid("job")}), 5)


@pytest.mark.parametrize("made", [False, True])
async def test_a_cluster_without_tasks_has_none_left(tmp_path: Path, made: bool) -> None:
    if made:
        (tmp_path / "nodes").mkdir()
    await asyncio.wait_for(tasks_gone(tmp_path, {JobUid("job")}), 5)
