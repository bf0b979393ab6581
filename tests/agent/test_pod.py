"""A pod's agent and launcher as processes on a real bus: which task they are comes late, in any order, and anew."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from keepstep.contracts.events import FirstStepDone, PlanApplied, TaskJoined
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.taxonomy import Applied, PlanPhase
from keepstep.contracts.topology import Script, TaskLaunch, TaskRef
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import dying_with
from tests.agent.makers import NODE, entry, head, launch, until
from tests.agent.test_system import POLICY, SCRIPT, Stage

pytestmark = pytest.mark.system

POD = "0b7c2d5e-1c1f-4f4e-9d6a-2b1a9b3c4d5e"


class Pod:
    """The two containers of one pod, and what was said of it."""

    def __init__(self, folder: Path, url: str, client: Client) -> None:
        self.task_dir = folder / "task"
        self.task_dir.mkdir()
        self.stage = Stage(self.task_dir, url, client)
        self._folder = folder
        self._stack = AsyncExitStack()

    def launch(self, uid: str = "task-1") -> TaskLaunch:
        script = self._folder / "train.py"
        script.write_text(SCRIPT)
        task = TaskRef(name="worker-1", uid=TaskUid(uid), index=1)
        pool = self.stage.client.pool
        return launch(pool=pool, policy=POLICY, task=task, entrypoint=Script(path=str(script)), cwd=str(self._folder))

    async def agent(self, **env: str) -> asyncio.subprocess.Process:
        return await self._container("agent", "keepstep.agent", "--pod", **env)

    async def launcher(self, *more: str) -> asyncio.subprocess.Process:
        return await self._container("launcher", "keepstep.trainer.launch", "--wait", *more)

    def log(self, container: str) -> str:
        return (self._folder / f"{container}.log").read_text()

    async def _container(self, name: str, module: str, *arguments: str, **env: str) -> asyncio.subprocess.Process:
        told = {"KEEPSTEP_NATS_URL": self.stage.url, "KEEPSTEP_POOL": self.stage.client.pool, "KEEPSTEP_NODE": NODE}
        environment = os.environ | told | {"KEEPSTEP_POD_UID": POD} | env
        with (self._folder / f"{name}.log").open("ab") as log:
            running = await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, "--dir", str(self.task_dir), *arguments,
                env=environment, stdout=log, stderr=log, preexec_fn=dying_with(os.getpid()),
            )  # fmt: skip
        self._stack.push_async_callback(_ended, running)
        return running

    async def close(self) -> None:
        await self._stack.aclose()


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        await asyncio.wait_for(process.wait(), 10)


@pytest.fixture
async def pod(tmp_path: Path, nats_url: str, client: Client) -> AsyncIterator[Pod]:
    pod = Pod(tmp_path, nats_url, client)
    listening = asyncio.create_task(pod.stage.follow())
    yield pod
    await pod.close()
    listening.cancel()


async def bound_and_stepping(pod: Pod) -> FirstStepDone:
    await pod.stage.client.bindings.bind(POD, pod.launch())
    await pod.stage.hears(TaskJoined)
    await pod.stage.client.plans.publish(head(1), [entry(1)])
    return await pod.stage.hears(FirstStepDone)


@pytest.mark.parametrize("first", ["launcher", "agent", "binding"])
async def test_the_task_is_joined_whoever_comes_up_first(pod: Pod, first: str) -> None:
    if first == "binding":
        await pod.stage.client.bindings.bind(POD, pod.launch())
    if first == "launcher":
        await pod.launcher()
        await until(lambda: "waits until" in pod.log("launcher"))
        await pod.agent()
    else:
        await pod.agent()
        await until(lambda: "event=connected" in pod.log("agent"))
        await pod.launcher()
    if first != "binding":
        assert not (pod.task_dir / "task.json").exists()
    done = await bound_and_stepping(pod)
    assert (done.task, done.generation) == ("task-1", 1)
    joined = await pod.stage.hears(TaskJoined)
    assert joined.versions.python.startswith("3.")


@pytest.mark.parametrize("code", [0, 1])
async def test_the_end_of_the_plan_makes_the_container_succeed_or_fail(pod: Pod, code: int) -> None:
    agent, launcher = await pod.agent(), await pod.launcher()
    await bound_and_stepping(pod)
    await pod.stage.client.plans.publish(head(1, PlanPhase.END, exit_code=code))
    assert await asyncio.wait_for(launcher.wait(), 10) == code
    assert await asyncio.wait_for(agent.wait(), 10) == 0
    assert [said.applied for said in pod.stage.of(PlanApplied)] == [Applied.STARTED, Applied.ENDED]


async def test_an_agent_that_restarts_goes_on_with_the_task_that_stands_in_the_pod(pod: Pod) -> None:
    agent, _ = await pod.agent(), await pod.launcher()
    await bound_and_stepping(pod)
    await pod.stage.client.bindings.unbind(POD)
    agent.kill()
    await agent.wait()
    await pod.agent()
    assert (await pod.stage.hears(TaskJoined, 2)).applied == 1


async def test_a_pod_that_is_bound_anew_stops_the_old_ranks_and_joins_as_the_new_task(pod: Pod) -> None:
    _, launcher = await pod.agent(), await pod.launcher()
    await bound_and_stepping(pod)
    log = pod.task_dir / "logs"
    assert log.exists()
    await pod.stage.client.bindings.bind(POD, pod.launch("task-2"))
    joined = await pod.stage.hears(TaskJoined, 2)
    assert (joined.task, joined.applied) == ("task-2", 0)
    assert not log.exists()
    assert launcher.returncode is None
    anew = entry(2).model_copy(update={"task": TaskUid("task-2"), "node": NodeName("n1")})
    await pod.stage.client.plans.publish(head(2), [anew])
    assert (await pod.stage.hears(FirstStepDone, 2)).task == "task-2"


async def test_a_plain_sidecar_ends_soon_after_its_launcher_was_killed(pod: Pod) -> None:
    agent, launcher = await pod.agent(KEEPSTEP_SIDECAR="plain"), await pod.launcher()
    await bound_and_stepping(pod)
    launcher.kill()
    assert await asyncio.wait_for(agent.wait(), 20) == 0


async def test_a_launcher_that_waits_is_ended_by_sigterm_and_says_what_it_waits_for(pod: Pod) -> None:
    launcher = await pod.launcher()
    await until(lambda: "waits until this pod is given its task" in pod.log("launcher"))
    launcher.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(launcher.wait(), 10) == 128 + signal.SIGTERM


async def test_a_second_launcher_of_one_pod_is_refused(pod: Pod) -> None:
    await pod.launcher()
    await until(lambda: "waits until" in pod.log("launcher"))
    assert await asyncio.wait_for((await pod.launcher()).wait(), 10) == 2
    assert "one is there already" in pod.log("launcher")
