"""What the agent sees of its ranks, whatever becomes of the page."""

import os
from pathlib import Path

from keepstep.agent.ranks import Ranks
from keepstep.trainer.progress import Page
from keepstep.trainer.wire import PAGE


def test_an_agent_outlives_a_page_that_is_cut_and_reads_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / PAGE
    ranks = Ranks(tmp_path, tmp_path / "exits")
    assert ranks.slot(0, 1) is None, "there is no page yet"
    path.mkdir()
    assert ranks.slot(0, 1) is None, "a folder is no page"
    path.rmdir()
    Page.create(str(path), 1).begin(0, 42, 1, 0)
    slot = ranks.slot(0, 1)
    assert slot is not None
    assert slot.pid == 42
    os.truncate(path, 0)
    assert ranks.slot(0, 1) is None
    Page.create(str(path), 1).begin(0, 43, 2, 0)
    slot = ranks.slot(0, 2)
    assert slot is not None
    assert slot.pid == 43
