"""What a job left behind is dropped some time after its end, by every service, and no late word revives it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from typing import Any
from unittest import mock

import pytest

from keepstep.contracts.events import (
    SAID_BY,
    DeadlinePassed,
    FaultDetected,
    IncidentOpened,
    JobDeleted,
    RecoveryPlanned,
)
from keepstep.contracts.ids import EventId, JobUid, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import JobRef
from keepstep.runtime.advance import Step, advance, fold_key, hears_of
from keepstep.runtime.app import Context
from keepstep.runtime.stage import Stage
from tests.pipeline.hands import POOL, app_of
from tests.pipeline.life import Life
from tests.pipeline.loop import START, LoopClock, simulate
from tests.pipeline.outside import Blow, Strike
from tests.pipeline.story import Harm, kill_rank_3, lose_the_second_node, tell
from tests.pipeline.world import World

DAY_S = 20.0
"""How long a job is remembered in the story that is told to its end."""
LIVING = {Service.ISOLATOR: {"pool"}}
"""What is left of a pool without jobs: its isolations."""


@contextmanager
def short_days() -> Iterator[None]:
    """Let what is kept for a day be kept for some seconds."""
    with ExitStack() as stack:
        for name in ("keepstep.core.forgetting.KEPT", "keepstep.scheduler_adapter.core.due.KEPT"):
            stack.enter_context(mock.patch(name, timedelta(seconds=DAY_S)))
        stack.enter_context(mock.patch("keepstep.scheduler_adapter.core.due.REMOVING", timedelta(seconds=5)))
        yield


async def kept(world: World) -> dict[Service, set[str]]:
    """Return the keys of all folds in the stores of services."""
    names = {service: await store.keys("fold/") for service, store in world.stores.items()}
    return {service: {name.removeprefix("fold/") for name in found} for service, found in names.items() if found}


async def lived(world: World, harm: Harm) -> dict[Service, set[str]]:
    """Tell a job's whole life and the days after it, and return what is still kept."""
    world.days_s = 4 * DAY_S
    await tell(world, harm)
    return await kept(world)


@pytest.mark.parametrize("harm", [kill_rank_3, lose_the_second_node])
def test_a_job_that_ended_is_forgotten_by_every_service_and_by_the_board(harm: Harm) -> None:
    with short_days():
        world = World()
        assert simulate(lived(world, harm)) == LIVING
    assert world.board.is_empty()
    assert len(world.said(JobDeleted)) == 1


@pytest.mark.parametrize("blow", Blow)
def test_a_blow_while_a_job_is_forgotten_leaves_nothing_behind(blow: Blow) -> None:
    with short_days():
        calm = World()
        simulate(lived(calm, kill_rank_3))
        for service in Service:
            for step in _last_steps(calm, service):
                struck = World([Strike(service, step, blow)])
                assert simulate(lived(struck, kill_rank_3)) == LIVING, f"{service} at {step}"
                assert struck.board.is_empty()


def _last_steps(world: World, service: Service) -> list[int]:
    """Return the first, a middle and the last of the steps that a service makes when it forgets."""
    steps = world.steps[service]
    first = next((at for at, what in enumerate(steps, start=1) if what == "say DeadlinePassed"), len(steps))
    late = [at for at, what in enumerate(steps, start=1) if what == "say DeadlinePassed" and at >= first]
    return sorted({late[-1], (late[-1] + len(steps)) // 2, len(steps)}) if late else []


@cache
def told(number: int) -> tuple[Message, ...]:
    """Return all that was said in the life of one of many jobs; of each fourth one a node was lost."""
    job = JobRef(name="main", uid=JobUid(f"job-{number}"))
    with mock.patch("tests.pipeline.story.JOB", job):
        return tuple(simulate(tell(World(), lose_the_second_node if number % 4 == 0 else kill_rank_3)).stream.said)


@dataclass
class Desk:
    """One service's stage and folds; messages come in order, deadlines when nothing else is left."""

    stage: Stage[Any]
    folds: dict[str, Any] = field(default_factory=dict)
    said: list[Message] = field(default_factory=list)
    sequence: int = 0

    def hear(self, message: Message) -> None:
        """Fold one message, and drop the fold if it is over."""
        self.sequence += 1
        key = fold_key(self.stage, message) if isinstance(message, hears_of(self.stage)) else None
        if key is None:
            return
        result = advance(self.stage, key, self.folds.get(key), [Step(self.sequence, message.time, message)])
        assert result.error is None, result.error
        assert result.fold is not None
        self.folds[key] = replace(result.fold, said=True)
        self.said += result.fold.outbox
        if self.stage.over(result.fold.state):
            del self.folds[key]

    def pass_all_deadlines(self) -> None:
        """Let every deadline pass, earliest first, until there is none."""
        while due := sorted(
            (d.due, d.what, key) for key, f in self.folds.items() for d in self.stage.deadlines(f.state)
        ):
            at, what, key = due[0]
            name = EventId(derive("passed", self.stage.service, key, what, at.isoformat()))
            about = {"id": name, "time": at, "pool": POOL, "job": self.folds[key].job}
            self.hear(DeadlinePassed(**about, service=self.stage.service, scope=key, what=what, due=at))


def desk(service: Service) -> Desk:
    """Return a service's desk with nothing on it."""
    world = World()
    app = app_of(Life(world, service))
    context: Context[Any] = Context(
        pool=POOL,
        clock=LoopClock(),
        plans=None,  # type: ignore[arg-type]  # nothing is done at a desk
        telemetry=world.telemetry,
        say=world.stream.publish,  # type: ignore[arg-type]  # its stream takes a message and returns at once
        folds=dict,
        bindings=None,  # type: ignore[arg-type]  # no pod is bound here
    )
    return Desk(app.stage(context))


JOBS = 200


@pytest.mark.parametrize("service", Service)
def test_of_200_jobs_that_ended_nothing_is_left(service: Service) -> None:
    at_desk = desk(service)
    for number in range(JOBS):
        for message in told(number):
            at_desk.hear(message)
    assert len(at_desk.folds) >= (1 if service is Service.ISOLATOR else JOBS)
    at_desk.pass_all_deadlines()
    assert set(at_desk.folds) == LIVING.get(service, set())
    assert all(len(fold.state.model_dump_json()) < 60_000 for fold in at_desk.folds.values())


@pytest.mark.parametrize("service", Service)
def test_what_agents_say_of_forgotten_jobs_revives_none(service: Service) -> None:
    at_desk = desk(service)
    late = [message for message in told(1) if isinstance(message, SAID_BY["agent"])]
    assert len({type(message) for message in late}) >= 5
    for message in late:
        at_desk.hear(message.model_copy(update={"time": START + timedelta(days=3)}))
    assert not [said for said in at_desk.said if isinstance(said, FaultDetected | IncidentOpened | RecoveryPlanned)]
    at_desk.pass_all_deadlines()
    assert at_desk.folds == {}
