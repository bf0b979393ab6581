"""``keepstep run``: one job on this machine under fault tolerance, from its first rank to its exit code."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from keepstep.adapters.local_nodes import LocalNodes
from keepstep.cli import places, show
from keepstep.cli.connect import connected
from keepstep.cli.errors import Failed
from keepstep.cli.folders import make, make_folder
from keepstep.cli.footing import bus_silent, folder_lost, room_lost, stream_lost
from keepstep.cli.last_resort import Closing, unhurried
from keepstep.cli.nodes_down import nodes_down
from keepstep.cli.say import give, order
from keepstep.cli.screen import Screen
from keepstep.cli.signals import Interruptions
from keepstep.cli.stack import embedded
from keepstep.cli.tasks_gone import tasks_gone
from keepstep.cli.waiting import first_of, outcome
from keepstep.cli.watch import Watch
from keepstep.contracts.ids import JobUid, Pool, derive
from keepstep.contracts.orders import CreateJob, StopJob
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.core.sentences import counted
from keepstep.ports.errors import KeepstepError
from keepstep.runtime.client import Client

STOP_LIMIT_S = 20.0
"""The ranks' grace and kill take 8 s by default; after this long a stop becomes a kill."""
ENDING_LIMIT_S = 10.0
"""How long the last events and the tasks' orderly end may take after the job's own."""


@dataclass(frozen=True)
class Request:
    """What is to be run, and where its things are kept."""

    spec: JobSpec
    spares: int
    data: Path
    output: bool = True
    """Show what rank 0 prints."""


async def run_job(request: Request, screen: Screen, closing: Closing = unhurried) -> int:
    """Run the job to its end and return its exit code; 128 + signal after a stop by a signal. Raises Failed.

    ``closing`` is told the code when only a private stack is left to close.
    """
    interruptions = Interruptions()
    interruptions.listen()
    uid = JobUid(derive("run", request.spec.name, os.getpid(), time.time_ns()))
    job = JobRef(name=request.spec.name, uid=uid)
    folder = _prepare(request, job)
    async with AsyncExitStack() as room:
        async with interruptions.may_end():
            address, broken = await room.enter_async_context(_stack(request.data, folder, job, screen))
            client = await room.enter_async_context(connected(address))
        spec = request.spec.model_copy(update={"node_group": f"{job.name}-{job.uid[:8]}"})
        watch = Watch(job, screen, cluster=address.cluster, events=folder / "events.jsonl", output=request.output)
        kept = None if address.folder == folder else folder
        async with _nodes(address, spec, request.spares, keep=kept, interruptions=interruptions):
            code = await Session(client, watch, address, interruptions).supervise(spec, broken)
        closing(code)
    _report(watch, screen, folder, code)
    return code


def _prepare(request: Request, job: JobRef) -> Path:
    """Make the run's folder, which is returned, and the checkpoint folder that the script was promised."""
    folder = places.run_folder(request.data, job)
    make(request.data)
    make_folder(folder, "--data")
    if request.spec.checkpoint_dir is not None:
        make_folder(Path(request.spec.checkpoint_dir), "--checkpoint-dir")
    return folder


@asynccontextmanager
async def _stack(
    data: Path, folder: Path, job: JobRef, screen: Screen
) -> AsyncIterator[tuple[places.StackAddress, "asyncio.Future[None]"]]:
    """Yield the stack of a running ``keepstep up``, or a private one; with a future that ends when it breaks."""
    shared = places.find_up(data)
    if shared is not None:
        if shared.console:
            screen.say(f"console: {shared.console}/jobs/{job.uid}")
        yield shared, asyncio.get_running_loop().create_future()
        return
    async with embedded(folder, pool=Pool(f"run-{job.uid[:8]}"), job=job) as stack:
        stack.console.add_done_callback(lambda served: _say_console(served, screen))
        yield stack.address, stack.broken


def _say_console(served: "asyncio.Future[str]", screen: Screen) -> None:
    """Tell where the console is; a run that has none goes on."""
    if served.cancelled():
        return
    if (error := served.exception()) is not None:
        screen.say(f"no console: {error}")
    else:
        screen.say(f"console: {served.result()}")


@asynccontextmanager
async def _nodes(
    address: places.StackAddress, spec: JobSpec, spares: int, *, keep: Path | None, interruptions: Interruptions
) -> AsyncIterator[None]:
    """Keep the run's nodes up for the block; afterwards nothing of them runs and their folders lie in the run's.

    ``keep`` is that folder where the nodes are made in another, the one of a shared stack.
    """
    environment = {"KEEPSTEP_NATS_URL": address.url.get_secret_value(), "KEEPSTEP_POOL": address.pool}
    os.environ.update(environment)
    nodes = LocalNodes(address.cluster, grace_s=spec.policy.trainer.stop_grace.total_seconds())
    tag = "" if keep is None else f"-{keep.name.rpartition('-')[2]}"
    names = [f"n{number}{tag}" for number in range(1, spec.nodes + spares + 1)]
    try:
        async with interruptions.may_end():
            await asyncio.to_thread(nodes.start_all, names, spec.node_group)
        yield
    except KeepstepError as error:
        raise Failed(str(error)) from error
    finally:
        await nodes_down(nodes, interruptions)
        if keep is not None:
            for name in names:
                _keep(nodes.folder(name).root, keep / "cluster" / "nodes" / name)


def _keep(node: Path, kept: Path) -> None:
    """Move a node's folder, logs and all, out of the shared cluster, where it would stand as a lost node for ever.

    Where that fails, on a full disk or in a folder taken away, it stands there: how the job ended counts more.
    """
    with suppress(OSError):
        if node.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            node.rename(kept)


class Session:
    """One submitted job: the connection, the watch and the signals that may end it."""

    def __init__(
        self, client: Client, watch: Watch, address: places.StackAddress, interruptions: Interruptions
    ) -> None:
        self._client, self._watch, self._address, self._interruptions = client, watch, address, interruptions
        self._asked = False

    async def supervise(self, spec: JobSpec, broken: "asyncio.Future[None]") -> int:
        """Submit the job, follow it to its end or to a signal, and return the exit code."""
        first = await self._client.last_sequence() + 1
        watch = self._watch
        async with _beside(
            watch.follow(self._client, first=first), self._client.telemetry.hear(watch.feel), watch.look()
        ):
            await give(self._client, order(CreateJob, self._address.pool, job=watch.job, spec=spec))
            await first_of(
                watch.ended.wait(),
                self._interruptions.first.wait(),
                outcome(broken),
                stream_lost(self._client),
                folder_lost(self._address.cluster, watch.tell, watch.hurt),
                room_lost(self._address.folder, watch.tell),
                bus_silent(self._client, watch.tell),
            )
            if broken.done():
                raise Failed(f"the services ended: {broken.exception() or 'without a reason'}")
            if self._interruptions.first.is_set():
                await self._stop()
                return 128 + self._interruptions.number
            await first_of(self._settled(), self._interruptions.first.wait(), limit_s=ENDING_LIMIT_S)
            watch.show_output(last=True)
            return watch.exit_code

    async def _stop(self) -> None:
        """Ask for the job's end and wait until it is told and no task is left; a second signal or the limit ends it."""
        name = signal.Signals(self._interruptions.number).name
        self._watch.tell(f"{name}: stopping the job; once more ends it at once")
        say = order(StopJob, self._address.pool, job=self._watch.job, reason=f"{name} to keepstep run")
        await first_of(self._stopped(say), self._interruptions.second.wait(), limit_s=STOP_LIMIT_S)
        if not self._asked and not self._interruptions.second.is_set():
            self._watch.tell(f"{name}: the bus did not take the order in {STOP_LIMIT_S:g} s; stopping the nodes anyway")
        self._watch.view.abandon()

    async def _stopped(self, say: StopJob) -> None:
        await self._client.say(say)
        self._asked = True
        await self._settled()

    async def _settled(self) -> None:
        """Wait for what follows the end of a job: its incidents close and its tasks go."""
        await self._watch.closed.wait()
        await tasks_gone(self._address.cluster, {self._watch.job.uid})


@asynccontextmanager
async def _beside(*work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run the coroutines beside the block and cancel them at its end; one that fails ends the block with its error."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        yield
        for task in tasks:
            task.cancel()


def _report(watch: Watch, screen: Screen, folder: Path, code: int) -> None:
    summary = watch.summary(code)
    try:
        (folder / "summary.json").write_text(summary.model_dump_json(indent=1), encoding="utf-8")
    except OSError as error:  # what became of the job does not depend on it
        screen.say(f"there is no summary.json: {error.strerror}")
    for timeline in summary.incidents:
        if timeline.outcome is None:
            watch.tell_incident(timeline.incident)
    screen.say(
        f"job {watch.job.name} {summary.state}, exit code {code}: {counted(len(summary.incidents), 'incident')},"
        f" {show.ratio_line(summary.ratio)}"
    )
    screen.say(f"everything is in {folder}" if folder.is_dir() else f"nothing is kept: {folder} was taken away")
