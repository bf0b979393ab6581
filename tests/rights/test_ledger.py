"""The ledger is kept with the rights that its service has, and the lag is asked with those of each."""

import asyncio
from pathlib import Path

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.store_nats import NatsStore
from keepstep.contracts.ids import Pool
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.ledger import KEPT_BY, KEY, Around, Ledger
from keepstep.runtime.log import logger
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.rights import OPERATOR, all_rights
from keepstep.runtime.tasks import end
from tests.active import BRISK
from tests.core.telling import Job
from tests.rights.guarded import guarded
from tests.runtime.stages import until

POOL = Pool("default")


async def test_the_user_of_its_service_may_keep_the_ledger_and_write_it_down(tmp_path: Path) -> None:
    async with guarded(tmp_path, all_rights(POOL)) as server:
        notifier = await Client.open(server.url(KEPT_BY).get_secret_value(), POOL, name=KEPT_BY)
        operator = await Client.open(server.url(OPERATOR).get_secret_value(), POOL, name=OPERATOR)
        await notifier.provision()
        store, metrics = NatsStore(notifier.js, names.folds_room(POOL, KEPT_BY)), Metrics()
        around = Around(notifier, store, SystemClock(), metrics, logger(KEPT_BY), BRISK)
        keeping = asyncio.create_task(Ledger(around, fence=1).keep())
        try:
            for message in Job(pool=POOL).incident(100):
                await operator.say(message)
            opened = "keepstep_incidents_opened_total"
            await until(lambda: keeping.done() or metrics.registry.get_sample_value(opened) == 1, within=30)

            async def written() -> bool:
                return await store.load(KEY) is not None

            await until(written, within=30)
            assert not keeping.done()
        finally:
            await end([keeping])
            await operator.close()
            await notifier.close()
    refused = [line for line in (tmp_path / "nats.log").read_text(encoding="utf-8").splitlines() if "iolation" in line]
    assert refused == []
