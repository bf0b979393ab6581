"""One agent between a bus and a launcher: what it sees by itself and says."""

import asyncio
import json
import os
import time
from datetime import UTC, datetime, timedelta

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
from keepstep.contracts.policy import TrainerPolicy
from keepstep.contracts.taxonomy import Phase, StallSign
from keepstep.contracts.topology import TaskRef
from tests.agent.makers import JOB, NODE, TASK, entry, head, launch, until
from tests.agent.scene import QUICK, Scene


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


async def test_how_long_a_save_took_is_said_where_the_ranks_told(scene: Scene) -> None:
    folder = scene.task_dir / "ckpt"
    folder.mkdir()
    first = launch(
        policy=QUICK, task=TaskRef(name="worker-0", uid=TaskUid("task-0"), index=0), checkpoint_dir=str(folder)
    )
    async with scene.agent(first):
        await scene.started()
        (folder / "step-5.json").write_text('{"step": 5}')
        assert (await scene.bus.hears(CheckpointSaved)).save_s is None
        ended = time.monotonic_ns()
        words = scene.launcher.page.save_words(1)
        words[0], words[1] = ended - 2_500_000_000, ended
        (folder / "step-6.json").write_text('{"step": 6}')
        assert (await scene.bus.hears(CheckpointSaved, 2)).save_s == 2.5


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
