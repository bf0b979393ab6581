"""A replica that is active for months keeps nothing of nodes and jobs that are gone."""

import asyncio
import gc
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from keepstep.adapters import kube_sight
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import JOB_LABEL
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.server.access import Ask
from tests.kube.server.deletion import DeleteOptions
from tests.kube.shown import STORED
from tests.kube.stage import Hands, placed, stage


async def test_a_node_that_is_gone_is_remembered_while_pods_of_ours_name_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.PYTORCHJOB)
        await placed(hands)
        name, pod = next(iter(on.pods().items()))
        node, kept = pod["spec"]["nodeName"], {"metadata": {"finalizers": ["a.test/holds"]}}
        free = next(one for one in hands.sight.nodes if one not in {p["spec"]["nodeName"] for p in on.pods().values()})
        on.there.store.patch(kinds.POD, name, kept, "default")
        on.there.store.delete(kinds.NODE, free)
        on.there.store.delete(kinds.NODE, node)
        await until(lambda: set(hands.sight.gone) == {node})
        on.there.store.delete(STORED[JobKind.PYTORCHJOB], "j", "default")
        on.there.store.delete(kinds.POD, name, "default", DeleteOptions(grace=0))
        on.there.store.patch(kinds.POD, name, {"metadata": {"finalizers": None}}, "default")
        await until(lambda: not hands.sight.every_pod())
        assert not hands.sight.gone


async def test_a_node_that_many_pods_name_and_nobody_lists_is_asked_for_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def refuse(ask: Ask) -> None:
        if (ask.verb, ask.resource) == ("get", "nodes"):
            asked.append(ask.name)

    async with stage(tmp_path) as on, on.hands() as hands:
        await hands.sight.opened()
        on.there.server.app.refuse = refuse
        for number in range(5):
            meta = {"name": f"p{number}", "labels": {JOB_LABEL: "j"}, "finalizers": ["a.test/holds"]}
            body: dict[str, Any] = {"metadata": meta}
            spec = {"nodeName": "nowhere", "containers": [{"name": "c", "image": "i"}]}
            on.there.store.create(kinds.POD, body | {"spec": spec}, "default")
        await until(lambda: "nowhere" in hands.sight.gone)
        await asyncio.sleep(kube_sight.NODE_SETTLES.total_seconds() / 2)
        assert asked == ["nowhere"]


async def test_what_was_said_of_a_job_is_forgotten_when_its_object_is_gone(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        said: list[weakref.ref[Any]] = []
        hearing = asyncio.create_task(hear(hands, said))
        await hands.sight.opened()
        on.submit(JobKind.JOB)
        await until(lambda: len(said) == 1)
        on.there.store.delete(STORED[JobKind.JOB], "j", "default")
        await until(lambda: len(said) == 2 and not hands.sight.tops())
        on.submit(JobKind.JOB)
        await until(lambda: len(said) == 3)
        gc.collect()
        assert [one() is None for one in said] == [True, True, False]
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing


async def hear(hands: Hands, said: list[weakref.ref[Any]]) -> None:
    """Note every sighting and keep none."""
    async for sighting in hands.controllers.sightings():
        said.append(weakref.ref(sighting))
        del sighting
