"""What a successor finds in the store: folds that are over go, whatever their predecessor had not come to do."""

from types import SimpleNamespace
from typing import Any

import pytest

from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.runtime.advance import Wants
from keepstep.runtime.fold import Fold
from keepstep.runtime.folds import Folds
from keepstep.runtime.log import logger
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.rebuild import Rebuild
from keepstep.runtime.stage import Stage
from tests.runtime.stages import Count, Probe, report

STAGE = Stage(
    service=Service.DIAGNOSER,
    hears=(),
    state=Count,
    fold_key=lambda message: message.key,
    decide=Probe().decide,
    over=lambda count: count.seen == ("last",),
)


@pytest.mark.parametrize(
    ("seen", "acknowledged", "left"),
    [(("last",), 5, set()), (("last",), 4, {"job-1"}), (("first",), 5, {"job-1"})],
    ids=["over", "over, and what ended it comes again", "not over"],
)
async def test_a_fold_that_is_over_is_dropped_once_what_ended_it_is_acknowledged(
    seen: tuple[str, ...], acknowledged: int, left: set[str]
) -> None:
    store = MemoryStore()
    first = Folds(store, Count, fence=1, stream="s")
    await first.load()
    await first.save("job-1", Fold(Count(seen=seen), 5, outbox=(report(Pool("p"), "said"),), said=False))
    await first.mark(acknowledged)
    second = Folds(store, Count, fence=2, stream="s")
    wanted: dict[str, Wants] = {}
    rebuild = Rebuild(STAGE, second, metrics=Metrics(), log=logger(Service.DIAGNOSER))
    nobody: Any = SimpleNamespace()
    await rebuild.run(nobody, first=await second.load(), last=acknowledged)
    rebuild.resume(lambda key, wants, _job: wanted.update({key: wants}))
    assert set(second.states) == set(wanted) == left
    await second.mark(acknowledged)
    assert set(await store.keys("fold/")) == {f"fold/{key}" for key in left}
