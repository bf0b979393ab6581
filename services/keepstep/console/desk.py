"""What people order through the console: checked as on the command line, said once, under the name of who asked."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any, TypeVar

from keepstep.asking.refused import Refused
from keepstep.asking.room import no_room
from keepstep.console.access import User
from keepstep.console.asked import Checked, JobAsked
from keepstep.console.board import Board
from keepstep.console.ground import Ground
from keepstep.console.model.job import KeptJob
from keepstep.contracts import orders as o
from keepstep.contracts.ids import JobUid, NodeName
from keepstep.contracts.message import Message, Order
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef
from keepstep.core.ordering import creation, ordered
from keepstep.ports.errors import Transient
from keepstep.runtime.batch import MOST
from keepstep.runtime.client import Client
from keepstep.runtime.tasks import within

O = TypeVar("O", bound=Order)  # noqa: E741 - one letter, like every type variable
M = TypeVar("M", bound=Message)
SAY_S = 5.0
"""For the stream to take an order; a person waits no longer for an answer."""
REPORT_S = 30.0
"""For all of a system's report; what was not said by then is told, and the system posts the report again."""


class Unknown(Exception):
    """What the order is about is not there."""


class Conflicting(Exception):
    """What is ordered makes no sense as things stand."""


class Asked(Frozen):
    """What was ordered: the stream has it now."""

    id: str
    asked: str
    """In words."""
    job: JobRef | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Desk:
    """Where orders are given."""

    client: Client
    board: Board
    now: Callable[[], datetime]
    ground: Ground
    """What jobs are made on."""
    report_s: float = REPORT_S
    name: str = ""
    """Which console it is, where there are several."""
    orders: Iterator[int] = field(default_factory=count)
    """Numbers of the orders given here since it began."""

    async def isolate(self, node: str, reason: str, user: User) -> Asked:
        """Keep new tasks off a node; what runs there goes on. Raises Unknown, Refused, Transient."""
        return await self._of_node(o.IsolateNode, node, _why(reason), user, "isolate")

    async def release(self, node: str, reason: str, user: User) -> Asked:
        """Let tasks on a node again that keepstep isolated. Raises Unknown, Refused, Transient."""
        return await self._of_node(o.ReleaseNode, node, _why(reason), user, "release")

    async def drain(self, node: str, reason: str, user: User) -> Asked:
        """Keep new tasks off a node and have each job move its tasks away. Raises Unknown, Refused, Transient."""
        known = (one.status for one in self.board.model.nodes if one.status is not None)
        warnings = no_room(known, NodeName(node))
        asked = await self._of_node(o.DrainNode, node, _why(reason), user, "drain")
        for job in self.board.model.places.jobs_on(NodeName(node)):
            await self._say(self._order(o.DrainNode, user, job=job, node=NodeName(node), reason=reason))
        return asked.model_copy(update={"warnings": warnings})

    async def stop(self, job: str, reason: str, user: User) -> Asked:
        """Stop a job for good. Raises Unknown, Conflicting, Refused, Transient."""
        kept = self._living(job, "stop")
        said = await self._say(self._order(o.StopJob, user, job=kept.ref, reason=_why(reason)))
        return Asked(id=said.id, asked=f"stop job {kept.ref.name}: {reason}", job=kept.ref)

    async def pause(self, job: str, user: User) -> Asked:
        """Observe a job only, act on nothing. Raises Unknown, Conflicting, Transient."""
        kept = self._living(job, "pause")
        said = await self._say(self._order(o.PauseActions, user, job=kept.ref))
        return Asked(id=said.id, asked=f"pause actions for job {kept.ref.name}", job=kept.ref)

    async def resume(self, job: str, user: User) -> Asked:
        """Act again. Raises Unknown, Conflicting, Transient."""
        kept = self._living(job, "resume")
        said = await self._say(self._order(o.ResumeActions, user, job=kept.ref))
        return Asked(id=said.id, asked=f"resume actions for job {kept.ref.name}", job=kept.ref)

    async def acknowledge(self, incident: str, user: User) -> Asked:
        """Say that this user looks after the incident. Raises Unknown, Transient."""
        incidents = self.board.model.incidents
        names = incidents.named(incident)
        row = incidents.row(names[0]) if len(names) == 1 else None
        if row is None:
            raise Unknown(f"{'several' if names else 'no'} incidents begin with {incident}")
        said = await self._say(self._order(o.AckIncident, user, job=row.job, node=row.node, incident=row.incident))
        return Asked(id=said.id, asked=f"acknowledge incident {row.incident[:12]}", job=row.job)

    async def create(self, asked: JobAsked, user: User) -> Asked:
        """Create a job. Raises Refused with field and remedy, Conflicting where none can be created, Transient."""
        checked = self.check(asked)
        pool, work = self.client.pool, checked.kubernetes
        order = creation(
            checked.spec, pool, by=user.name, role=user.role, now=self.now(), given=self._given(), kubernetes=work
        )
        await self._say(order)
        ref = JobRef(name=checked.spec.name, uid=JobUid(order.key))
        return Asked(id=order.id, asked=f"create job {ref.name}", job=ref, warnings=checked.warnings)

    def check(self, asked: JobAsked) -> Checked:
        """Return the job that would be created, and cautions. Raises Refused with field and remedy, Conflicting."""
        if self.ground.closed:
            raise Conflicting(self.ground.closed)
        return self.ground.check(asked)

    async def report(self, messages: Sequence[M]) -> Sequence[M]:
        """Say what systems outside reported, many at once; returns those that the bus did not take in time.

        What was said before is not said again. Of those returned some may be in the stream, for which their ids answer.
        """
        new = [one for one in messages if not self.board.model.counts.knows(one.id)]
        left = list(new)

        async def saying() -> None:
            while left:
                await self.client.say_together(left[:MOST])
                del left[:MOST]

        with suppress(TimeoutError):
            await within(saying(), self.report_s)
        return left

    async def _of_node(self, kind: type[Order], node: str, reason: str, user: User, verb: str) -> Asked:
        if self.board.node(node) is None:
            raise Unknown(f"there is no node {node}")
        said = await self._say(self._order(kind, user, node=NodeName(node), reason=reason))
        return Asked(id=said.id, asked=f"{verb} node {node}: {reason}")

    def _living(self, name: str, verb: str) -> KeptJob:
        kept = self.board.job_of(name)
        if kept is None:
            raise Unknown(f"there is no job {name}")
        if kept.ended:
            raise Conflicting(f"job {kept.ref.name} {kept.ref.uid} has ended; there is nothing to {verb}")
        return kept

    def _order(self, kind: type[O], user: User, **about: Any) -> O:
        given = self._given()
        return ordered(kind, self.client.pool, by=user.name, role=user.role, now=self.now(), given=given, **about)

    def _given(self) -> str:
        return f"console {self.name}/{next(self.orders)}"

    async def _say(self, message: Message) -> Message:
        try:
            await within(self.client.say(message), SAY_S)
        except TimeoutError as error:
            wait = timedelta(seconds=SAY_S)
            raise Transient(f"the bus did not take it within {SAY_S:g} s; try again", retry_after=wait) from error
        return message


def _why(reason: str) -> str:
    """Return the reason; raises Refused without one: who reads it later has nothing else."""
    if not reason.strip():
        raise Refused("reason: say why, for those who read it later")
    return reason.strip()
