"""Follows one job from the outside: keeps its story, tells the screen what matters, and writes the story down."""

import asyncio
import signal
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from keepstep.cli import show
from keepstep.cli.columns import terminal_width
from keepstep.cli.output_tail import OutputTail, task_folders
from keepstep.cli.screen import Screen
from keepstep.cli.story import told
from keepstep.contracts import events as e
from keepstep.contracts.ids import IncidentId, NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.telemetry import Heartbeat
from keepstep.contracts.topology import JobRef
from keepstep.core import ettr, timeline
from keepstep.core.job_now import ENDED, JobNow, JobState
from keepstep.runtime.client import Client

LOOK_S = 0.25
"""How often the state line and the rank's output are looked at: as fast as people read."""

PATIENCE_S = 0.05
"""Before the story is told on: the services, which may share this process, decide first. Nobody reads faster."""


STOPPED = 128 + signal.SIGTERM
"""What a process leaves with that was asked to end: a script tells it from a failure, and from success."""


class Summary(Frozen):
    """What is left of a run: ``summary.json`` in its folder."""

    job: JobRef
    state: str
    exit_code: int
    because: str = ""
    ratio: ettr.Ratio
    generations: int
    incidents: tuple[timeline.Timeline, ...]


class Watch:
    """One job's story so far."""

    def __init__(self, job: JobRef, screen: Screen, *, cluster: Path, events: Path, output: bool = True) -> None:
        self.job = job
        self.view = JobNow()
        self.record = timeline.Record()
        self.run = ettr.Run()
        self.ended = asyncio.Event()
        self.closed = asyncio.Event()
        """Set once the job has ended and none of its incidents is open."""
        self._screen, self._cluster, self._events, self._output = screen, cluster, events, output
        self._tail = OutputTail(0)
        self._uids: set[str] = set()
        self._fences: dict[NodeName | None, tuple[type[Message], str]] = {}

    async def follow(self, client: Client, *, first: int) -> None:
        """Follow the stream for ever, from sequence ``first`` on."""
        with told(self._events) as story:
            async for said in client.follow(first=first, patience_s=PATIENCE_S):
                if said.message is None or not self._concerns(said.message):
                    continue
                story.add(stored_line(said.message))
                self.hear(said.message)

    def _concerns(self, message: Message) -> bool:
        return message.job is None or message.job.uid == self.job.uid

    def hear(self, message: Message) -> None:
        """Take in one message and tell the screen."""
        self.view.hear(message)
        self.record = timeline.tell(self.record, message)
        self.run = ettr.tell(self.run, message)
        if isinstance(message, e.TaskJoined):
            self._uids.add(message.ref.uid)
        if isinstance(message, show.TOLD) and not self._told_already(message):
            self._screen.say(show.event_line(message, self.record.tasks, terminal_width()))
        if isinstance(message, e.IncidentClosed) and message.incident is not None:
            self.tell_incident(message.incident)
        if self.view.state in ENDED:
            self.ended.set()
            if not self.hurt():
                self.closed.set()

    def _told_already(self, message: Message) -> bool:
        """Return whether a node's isolation was told: who drains a node orders it of the pool and of each job on it."""
        if not isinstance(message, e.NodeIsolated | e.NodeReleased):
            return False
        told = self._fences.get(message.node)
        self._fences[message.node] = (type(message), message.because)
        return told == self._fences[message.node]

    def hurt(self) -> bool:
        """Return whether one of the job's incidents is open; one of a node concerns others."""
        return any(one.outcome is None and one.job == self.job for one in self.record.incidents)

    def tell_incident(self, incident: IncidentId) -> None:
        """Print an incident's timeline."""
        self._screen.say("")
        for line in show.timeline_lines(self.record.timelines[incident], terminal_width()):
            self._screen.say(line)
        self._screen.say("")

    def tell(self, text: str) -> None:
        """Print a line."""
        self._screen.say(text)

    def feel(self, beat: Heartbeat) -> None:
        """Take in a heartbeat."""
        if beat.job.uid == self.job.uid:
            self.view.feel(beat)

    async def look(self) -> None:
        """Keep the state line and rank 0's output on the screen for ever."""
        while True:
            self.show_output()
            self._screen.status(self.view.line())
            await asyncio.sleep(LOOK_S)

    def show_output(self, *, last: bool = False) -> None:
        """Print what rank 0 printed since the last look, if that is wanted; folders may go away meanwhile."""
        if not self._output:
            return
        with suppress(OSError):
            for line in self._tail.lines(task_folders(self._cluster, self._uids), last=last):
                self._screen.say(f"[rank 0] {line}")

    @property
    def exit_code(self) -> int:
        """0 if the job succeeded, 143 if somebody stopped it, else the code of the rank to blame, else 1."""
        if self.view.state is JobState.SUCCEEDED:
            return 0
        if self.view.state is JobState.STOPPED:
            return STOPPED
        blamed = [found.culprit.rank for found in self.record.incidents if found.culprit is not None]
        for rank in [*(rank for rank in reversed(blamed) if rank is not None), *self.view.exits]:
            exited = self.view.exits.get(rank)
            if exited is not None and exited.exit.code:
                return exited.exit.code
        return 1

    def summary(self, exit_code: int) -> Summary:
        """Return what is left of the run."""
        return Summary(
            job=self.job,
            state=JobState.STOPPED if self.view.state is JobState.STOPPING else self.view.state,
            exit_code=exit_code,
            because=self.view.because,
            ratio=ettr.ratio(self.run, now=datetime.now(UTC)),
            generations=self.view.generation,
            incidents=self.record.incidents,
        )


def stored_line(message: Message) -> str:
    """Return the message as one line of ``events.jsonl``: its type's name, a tab, its JSON."""
    return f"{type(message).__name__}\t{message.model_dump_json()}"
