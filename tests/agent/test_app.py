"""One agent between a bus and a launcher: what it orders, and what it says."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.agent.app import Agent
from keepstep.contracts.duration import seconds
from keepstep.contracts.events import (
    CheckpointSaved,
    FirstStepDone,
    LogMatched,
    PlanApplied,
    RankExited,
    RankRecovered,
    RankStalled,
    TaskJoined,
)
from keepstep.contracts.ids import TaskUid
from keepstep.contracts.orders import Peer
from keepstep.contracts.policy import CheckpointPolicy, DetectionPolicy, LogPattern, Policy, TrainerPolicy
from keepstep.contracts.taxonomy import Applied, Framework, Phase, PlanPhase, StallSign
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Device, TaskLaunch, TaskRef
from keepstep.trainer import progress
from tests.agent.doubles import FakeBus, FakeLauncher
from tests.agent.makers import JOB, NODE, TASK, entry, head, launch, until

QUICK = Policy(
    detection=DetectionPolicy(
        heartbeat_every=seconds(0.05),
        stopped_after=seconds(0.3),
        log_patterns=(LogPattern(name="nan", regex="Loss nan"),),
    ),
    checkpoint=CheckpointPolicy(scan_every=seconds(0.1), stable_for=seconds(0.05)),
    trainer=TrainerPolicy(stop_grace=seconds(1), kill_deadline=seconds(2)),
)


@dataclass
class Scene:
    task_dir: Path
    bus: FakeBus
    launcher: FakeLauncher

    @asynccontextmanager
    async def agent(self, given: TaskLaunch | None = None) -> AsyncIterator["asyncio.Task[None]"]:
        """Run one life of the agent; it is killed at the end, as by SIGTERM."""
        agent = Agent(
            given or launch(policy=QUICK), task_dir=self.task_dir, node=NODE, address="127.0.0.1", clock=SystemClock()
        )
        life = asyncio.create_task(agent.run(self.bus))
        yield life
        life.cancel()
        await asyncio.wait([life])
        if not life.cancelled():
            life.result()

    async def started(self) -> None:
        """Bring generation 1 up."""
        self.bus.plan(head(1), entry(1))
        await self.launcher.start(pid=os.getpid())
        await self.bus.hears(PlanApplied)

    def step(self, local_rank: int, number: int) -> None:
        words = self.launcher.page.words(local_rank)
        now = time.monotonic_ns()
        words[progress.STEP], words[progress.MARK_NS] = number, now
        words[progress.MARKS] += 1
        words[progress.PHASE] = progress.PHASES.index("step")
        words[progress.FIRST_NS] = words[progress.FIRST_NS] or now


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with FakeLauncher(tmp_path) as launcher:
        yield Scene(tmp_path, FakeBus(), launcher)


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


async def test_a_stopped_process_is_called_once_over_restarts_of_the_agent(scene: Scene) -> None:
    sleeper = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        scene.bus.plan(head(1), entry(1))
        async with scene.agent():
            await scene.launcher.start(pid=sleeper.pid)
            await scene.bus.hears(PlanApplied)
            os.kill(sleeper.pid, 19)
            stalled = await scene.bus.hears(RankStalled, 2)
            assert (stalled.sign, stalled.state, stalled.episode) == (StallSign.STOPPED, "T", 1)
        async with scene.agent():
            await until(
                lambda: (
                    scene.bus.beats and scene.bus.beats[-1].boot == "2" and scene.bus.beats[-1].ranks[0].state == "T"
                )
            )
            os.kill(sleeper.pid, 18)
            await scene.bus.hears(RankRecovered, 2)
            os.kill(sleeper.pid, 19)
            again = await scene.bus.hears(RankStalled, 4)
            assert again.episode == 2
    finally:
        sleeper.kill()
        await sleeper.wait()


async def test_a_line_that_a_rule_names_is_said_with_its_offset(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
        scene.launcher.write(2, "step 1\nLoss nan at step 2\n", stream="out")
        matched = await scene.bus.hears(LogMatched)
        assert (matched.rank, matched.rule, matched.source, matched.offset) == (2, "nan", "out", 7)
        await until(lambda: '"offset":26' in (scene.task_dir / "agent" / "offsets.json").read_text().replace(" ", ""))
    async with scene.agent():
        scene.launcher.write(2, "Loss nan again\n", stream="out")
        assert (await scene.bus.hears(LogMatched, 2)).offset == 26
    assert len(scene.bus.of(LogMatched)) == 2


async def test_a_pattern_that_was_taken_out_of_the_policy_names_no_line_any_more(scene: Scene) -> None:
    """What keepstep itself knows is still found: by then the line before it was passed over."""
    without = QUICK.detection.model_copy(update={"log_patterns": ()})
    async with scene.agent(launch(policy=QUICK.model_copy(update={"detection": without}))):
        await scene.started()
        scene.launcher.write(2, "Loss nan at step 2\nCUDA error: uncorrectable ECC error encountered\n")
        matched = await scene.bus.hears(LogMatched)
        assert (matched.rule, matched.offset) == ("gpu-ecc", 19)
    assert len(scene.bus.of(LogMatched)) == 1


async def test_only_whole_checkpoints_are_said_and_only_by_the_first_task(scene: Scene) -> None:
    folder = scene.task_dir / "ckpt"
    folder.mkdir()
    (folder / "step-5.json").write_text(json.dumps({"step": 5}))
    os.utime(folder / "step-5.json", ns=(0, 1_790_000_000_123_456_789))
    (folder / "step-6.json").write_text('{"step": ')
    first = launch(
        policy=QUICK, task=TaskRef(name="worker-0", uid=TaskUid("task-0"), index=0), checkpoint_dir=str(folder)
    )
    async with scene.agent(first):
        saved = await scene.bus.hears(CheckpointSaved)
        assert (saved.step, saved.path, saved.ranks) == (5, str(folder / "step-5.json"), (0, 1, 2, 3))
        assert saved.written == datetime.fromtimestamp(1_790_000_000, UTC) + timedelta(microseconds=123_456)
        (folder / "step-6.json").write_text('{"step": 6}')
        assert (await scene.bus.hears(CheckpointSaved, 2)).step == 6
    async with scene.agent(first):
        await scene.bus.hears(TaskJoined, 2)
    async with scene.agent(launch(policy=QUICK, checkpoint_dir=str(folder))):
        await scene.bus.hears(TaskJoined, 3)
    assert len(scene.bus.of(CheckpointSaved)) == 2


async def test_a_cut_off_agent_stops_ranks_that_make_no_step_and_says_so_later(scene: Scene) -> None:
    fenced = QUICK.model_copy(update={"trainer": TrainerPolicy(self_fence_after=seconds(0.5))})
    async with scene.agent(launch(policy=fenced)):
        await scene.started()
        scene.step(0, 3)
        scene.step(1, 3)
        await scene.bus.hears(FirstStepDone)
        scene.bus.up.clear()
        await scene.launcher.stop()
        scene.bus.up.set()
        exited = await scene.bus.hears(RankExited, 2)
        assert not exited.ordered
        assert "cut off" in exited.last_lines[-1]


async def test_heartbeats_tell_every_rank(scene: Scene) -> None:
    async with scene.agent():
        await scene.started()
        scene.step(0, 4)
        await until(lambda: scene.bus.beats and any(beat.step == 4 for beat in scene.bus.beats[-1].ranks))
        last = scene.bus.beats[-1]
        assert (last.job, last.task, last.node, last.generation, last.boot) == (JOB, TASK, NODE, 1, "1")
        assert [(beat.rank, beat.step, beat.phase) for beat in last.ranks] == [
            (2, 4, Phase.STEP),
            (3, None, Phase.STARTING),
        ]
        assert [beat.sequence for beat in scene.bus.beats] == list(range(1, len(scene.bus.beats) + 1))
        assert last.warm_ready == 2
        scene.launcher.say(say="warm", ready=1)
        await until(lambda: scene.bus.beats[-1].warm_ready == 1)


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
