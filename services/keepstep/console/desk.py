"""What people order through the console: checked as on the command line, said once, under the name of who asked."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from keepstep.asking import tolerance_args
from keepstep.asking.cautions import too_often
from keepstep.asking.mistakes import explain
from keepstep.asking.refused import Refused
from keepstep.asking.specification import specify
from keepstep.console.access import User
from keepstep.console.board import Board
from keepstep.console.model.job import KeptJob
from keepstep.contracts import orders as o
from keepstep.contracts.ids import JobUid, NodeName
from keepstep.contracts.message import Message, Order
from keepstep.contracts.model import Frozen, Strict
from keepstep.contracts.policy import Policy
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.core.ordering import creation, ordered
from keepstep.ports.errors import Transient
from keepstep.runtime.client import Client

O = TypeVar("O", bound=Order)  # noqa: E741 - one letter, like every type variable
SAY_S = 5.0
"""For the stream to take an order; a person waits no longer for an answer."""
REPORT_S = 30.0
"""For each event of a system's report, which waits for those before it; the system may post the report again."""
SIDE_BY_SIDE = 64
"""Messages of one report that are on their way at once."""


class Unknown(Exception):
    """What the order is about is not there."""


class Conflicting(Exception):
    """What is ordered makes no sense as things stand."""


class JobAsked(Strict):
    """A job as people describe it in a form: the same fields, checks and words as ``keepstep job create``."""

    argv: tuple[str, ...]
    """A .py file with its arguments, ``-m module``, or any command."""
    name: str | None = None
    nodes: int = 1
    nproc: int = 1
    cwd: str | None = None
    """Where it runs and relative paths begin; where the console was started unless it is said."""
    env: dict[str, str] = Field(default_factory=dict)
    checkpoint_dir: str | None = None
    resume_arg: str | None = None
    policy: dict[str, Any] | None = None
    """As in a policy file."""
    fault_tolerance_args: str | None = None
    """The flags of other platforms, in one text."""
    fault_tolerance_config: str | None = None
    """The same as a JSON object, as text."""


class Checked(Frozen):
    """What would be created, and what a person should know of it."""

    spec: JobSpec
    warnings: tuple[str, ...] = ()


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
    creates: str = ""
    """Why no job can be created here; empty where it can."""

    async def isolate(self, node: str, reason: str, user: User) -> Asked:
        """Keep new tasks off a node; what runs there goes on. Raises Unknown, Refused, Transient."""
        return await self._of_node(o.IsolateNode, node, _why(reason), user, "isolate")

    async def release(self, node: str, reason: str, user: User) -> Asked:
        """Let tasks on a node again that keepstep isolated. Raises Unknown, Refused, Transient."""
        return await self._of_node(o.ReleaseNode, node, _why(reason), user, "release")

    async def drain(self, node: str, reason: str, user: User) -> Asked:
        """Keep new tasks off a node and have each job move its tasks away. Raises Unknown, Refused, Transient."""
        asked = await self._of_node(o.DrainNode, node, _why(reason), user, "drain")
        for job in self.board.model.places.jobs_on(NodeName(node)):
            await self._say(self._order(o.DrainNode, user, job=job, node=NodeName(node), reason=reason))
        return asked

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
        order = creation(checked.spec, self.client.pool, by=user.name, role=user.role, now=self.now())
        await self._say(order)
        ref = JobRef(name=checked.spec.name, uid=JobUid(order.key))
        return Asked(id=order.id, asked=f"create job {ref.name}", job=ref, warnings=checked.warnings)

    def check(self, asked: JobAsked) -> Checked:
        """Return the job that would be created, and cautions. Raises Refused with field and remedy, Conflicting."""
        if self.creates:
            raise Conflicting(self.creates)
        folder = None if asked.checkpoint_dir is None else Path(asked.checkpoint_dir)
        spec = specify(
            asked.argv,
            name=asked.name,
            nodes=asked.nodes,
            nproc=asked.nproc,
            policy=policy_of(asked),
            checkpoint_dir=folder,
            resume_arg=asked.resume_arg,
            env=tuple(f"{name}={value}" for name, value in asked.env.items()),
            cwd=None if asked.cwd is None else Path(asked.cwd),
        )
        return Checked(spec=spec, warnings=too_often(spec.policy))

    async def report(self, messages: tuple[Message, ...]) -> None:
        """Say what systems outside reported; what was said before is not said again. Raises Transient."""
        new = [one for one in messages if not self.board.model.counts.knows(one.id)]
        for start in range(0, len(new), SIDE_BY_SIDE):
            await asyncio.gather(*(self._say(one, within_s=REPORT_S) for one in new[start : start + SIDE_BY_SIDE]))

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
        return ordered(kind, self.client.pool, by=user.name, role=user.role, now=self.now(), **about)

    async def _say(self, message: Message, *, within_s: float = SAY_S) -> Message:
        try:
            await asyncio.wait_for(self.client.say(message), within_s)
        except TimeoutError as error:
            wait = timedelta(seconds=SAY_S)
            raise Transient(f"the bus did not take it within {within_s:g} s; try again", retry_after=wait) from error
        return message


def _why(reason: str) -> str:
    """Return the reason; raises Refused without one: who reads it later has nothing else."""
    if not reason.strip():
        raise Refused("reason: say why, for those who read it later")
    return reason.strip()


def policy_of(asked: JobAsked) -> Policy:
    """Return the policy of a form; raises Refused for a mistake, and where it is said in two forms."""
    forms: Mapping[str, object] = {
        "policy": asked.policy,
        "fault_tolerance_args": asked.fault_tolerance_args,
        "fault_tolerance_config": asked.fault_tolerance_config,
    }
    given = [name for name, value in forms.items() if value is not None]
    if len(given) > 1:
        raise Refused(f"{' and '.join(given)} exclude each other: say it in one form")
    if asked.fault_tolerance_args is not None:
        return tolerance_args.of_flags(asked.fault_tolerance_args)
    if asked.fault_tolerance_config is not None:
        return tolerance_args.of_config(asked.fault_tolerance_config)
    try:
        return Policy.model_validate(asked.policy or {})
    except ValidationError as error:
        raise Refused(f"policy: {explain(error, Policy)}") from error
