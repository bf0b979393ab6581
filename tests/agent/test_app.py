"""One agent between a bus and a launcher: what it orders, and what comes of it."""

import asyncio
import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.events import FirstStepDone, PlanApplied, RankExited, TaskJoined
from keepstep.contracts.orders import Peer
from keepstep.contracts.taxonomy import Applied, Framework, Phase, PlanPhase
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Device
from tests.agent.makers import NODE, TASK, entry, head, launch, until
from tests.agent.scene import QUICK, Scene


async def test_a_task_joins_and_starts_its_ranks(scene: Scene) -> None:
    async with scene.agent():
        joined = await scene.bus.hears(TaskJoined)
        assert (joined.ref, joined.node, joined.applied, joined.warm_ready) == (TASK, NODE, 0, 2)
        assert joined.versions.torch == "2.13.0"
        assert len(set(joined.port_offers)) == 2
        await scene.started()
        order = scene.launcher.orders("start")[0]
        assert [(each["rank"], each["local_rank"], each["env"]["RANK"]) for each in order["ranks"]] == [
            (2, 0, "2"),
            (3, 1, "3"),
        ]
        (applied,) = scene.bus.of(PlanApplied)
        assert (applied.applied, applied.generation, applied.warm_used) == (Applied.STARTED, 1, 2)


async def test_the_first_step_is_said_once_when_every_rank_made_it(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
        scene.step(0, 1)
        await until(lambda: scene.bus.beats and any(beat.step == 1 for beat in scene.bus.beats[-1].ranks))
        assert scene.bus.of(FirstStepDone) == []
        scene.step(1, 1)
        done = await scene.bus.hears(FirstStepDone)
        assert (done.generation, done.step) == (1, 1)
    async with scene.agent():
        await scene.bus.hears(TaskJoined, 2)
        await until(lambda: scene.bus.beats[-1].boot == "2")
    assert len(scene.bus.of(FirstStepDone)) == 1


async def test_an_exit_is_said_with_its_last_lines_and_then_acknowledged(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
        scene.step(1, 7)
        scene.launcher.write(3, "Traceback\nValueError: bad batch\n")
        scene.launcher.exit(3, code=1)
        exited = await scene.bus.hears(RankExited)
        assert (exited.rank, exited.exit, exited.ordered) == (3, Exit(code=1), False)
        assert (exited.step, exited.phase, exited.ran_s) == (7, Phase.STEP, 3.5)
        assert exited.last_lines == ("Traceback", "ValueError: bad batch")
        await scene.launcher.ordered("ack")
        await until(
            lambda: (
                scene.bus.beats and scene.bus.beats[-1].ranks[1:] and scene.bus.beats[-1].ranks[1].exit == Exit(code=1)
            )
        )
    assert scene.launcher.exits == []


class Behind(SystemClock):
    """The machine's clock is an hour behind the bus's."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=1)

    def wall(self) -> datetime:
        return super().now()


async def test_an_exit_is_told_in_the_buss_time(scene: Scene) -> None:
    """The launcher knows its machine's time alone; an hour of detection stood in the accounts."""
    async with scene.agent(clock=Behind()):
        await scene.started()
        scene.launcher.exit(2, signal=9)
        exited = await scene.bus.hears(RankExited)
    assert abs(exited.time - exited.at) < timedelta(minutes=1)


async def test_an_exit_while_the_agent_was_dead_is_said_by_the_next(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
    scene.launcher.exit(2, signal=9)
    async with scene.agent():
        exited = await scene.bus.hears(RankExited)
        assert exited.exit == Exit(signal=9)
        joined = await scene.bus.hears(TaskJoined, 2)
        assert joined.applied == 1
        await scene.launcher.ordered("ack")
    assert len(scene.launcher.orders("start")) == 1
    assert scene.launcher.orders("stop") == []


async def test_without_an_answer_of_the_server_an_exit_is_not_acknowledged(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
        scene.bus.up.clear()
        scene.launcher.exit(2, signal=9)
        await until(lambda: "RankExited" in (scene.task_dir / "agent" / "outbox.jsonl").read_text())
        assert scene.launcher.orders("ack") == []
    scene.bus.up.set()
    async with scene.agent():
        await scene.bus.hears(RankExited)
        await scene.launcher.ordered("ack")
    assert len(scene.bus.of(RankExited)) == 1


async def test_a_restart_goes_through_stopped_with_fresh_ports_to_started(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
        scene.bus.plan(head(2, PlanPhase.STOP))
        order = await scene.launcher.ordered("stop")
        assert (order["generation"], order["grace_s"], order["kill_s"]) == (1, 1.0, 2.0)
        await scene.launcher.stop(unkillable=(3,))
        stopped = await scene.bus.hears(PlanApplied, 2)
        assert (stopped.generation, stopped.applied, stopped.unkillable) == (2, Applied.STOPPED, (3,))
        assert len(stopped.port_offers) == 2
        scene.bus.plan(head(2), entry(2))
        await scene.launcher.start(count=2)
        started = await scene.bus.hears(PlanApplied, 3)
        assert (started.generation, started.applied) == (2, Applied.STARTED)
    assert all(exited.ordered for exited in scene.bus.of(RankExited))


async def test_an_older_plan_is_ignored_and_a_refusal_is_said(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
        scene.bus.plan(head(3, PlanPhase.STOP))
        await scene.launcher.stop()
        await scene.bus.hears(PlanApplied, 2)
        scene.bus.plan(head(2), entry(2))
        await scene.bus.hears(RankExited, 2)
        scene.bus.plan(head(3), entry(3))
        await scene.launcher.ordered("start", 2)
        scene.launcher.say(say="refused", generation=3, why="rank 3 is still there")
        refused = await scene.bus.hears(PlanApplied, 3)
        assert (refused.applied, refused.because) == (Applied.REFUSED, "rank 3 is still there")
    assert [order["generation"] for order in scene.launcher.orders("start")] == [1, 3]


async def test_the_end_of_the_plan_ends_launcher_and_agent(scene: Scene) -> None:
    async with scene.agent() as life:
        await scene.started()
        scene.bus.plan(head(1, PlanPhase.END))
        await scene.launcher.stop()
        assert (await scene.launcher.ordered("end"))["code"] == 0
        assert (await scene.bus.hears(PlanApplied, 2)).applied is Applied.ENDED
        await asyncio.wait_for(life, 5)


async def test_the_rank_table_is_whole_on_disk_before_a_rank_is_ordered(scene: Scene) -> None:
    given = launch(policy=QUICK, framework=Framework.MINDSPORE)
    devices = tuple(Device(id=str(slot), address=f"192.168.0.{slot}") for slot in range(2))
    peers = (Peer(address="10.0.0.1", devices=devices), Peer(address="10.0.0.2", devices=devices))
    async with scene.agent(given):
        scene.bus.plan(head(1, peers=peers), entry(1))
        order = await scene.launcher.ordered("start")
        assert status_of(order["ranks"][0]["env"]["RANK_TABLE_FILE"]) == "completed"


def status_of(table: str) -> str:
    return str(json.loads(Path(table).read_text())["status"])


async def test_a_garbled_entry_is_told_and_read_again(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    async with scene.agent():
        scene.bus.garbled = True
        scene.bus.plan(head(1), entry(1))
        await until(lambda: "cannot be read" in caplog.text)
        scene.bus.garbled = False
        await scene.launcher.start(pid=os.getpid())
        assert (await scene.bus.hears(PlanApplied)).applied is Applied.STARTED
        assert caplog.text.count("cannot be read") == 1


async def test_a_stop_waits_for_no_entry(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
        scene.bus.garbled = True
        scene.bus.plan(head(2, PlanPhase.STOP))
        await until(lambda: scene.launcher.orders("stop"))
