"""Carries a restart out: intent on the job object first, then step by step, each looked at before it is done.

Whoever comes after a crash reads the intent and goes on; it never begins a second restart for the same order.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from keepstep.adapters.kube_acts import Acts
from keepstep.adapters.kube_due import Hold, due
from keepstep.adapters.kube_errors import Missing, Refused, Unsent
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_job_object import JobObject
from keepstep.adapters.kube_json import JsonObject, table, text
from keepstep.adapters.kube_marks import RESTART
from keepstep.adapters.kube_observe import Progress, Seen, observed
from keepstep.adapters.kube_overruled import given_back, overruled
from keepstep.adapters.kube_plan import (
    Apply,
    Await,
    Create,
    Delete,
    Evict,
    Patch,
    suspends,
)
from keepstep.adapters.kube_record import LARGEST, Record, Unreadable, begun, note, read, written
from keepstep.adapters.kube_sight import Sight
from keepstep.adapters.kube_view import Refusal
from keepstep.contracts.ids import JobUid
from keepstep.contracts.taxonomy import Level
from keepstep.ports.controllers import RestartOrder
from keepstep.ports.errors import Conflict, LevelRefused, NoRoom, Transient


class Restarts:
    """The one hand on restarts of a cluster's jobs."""

    def __init__(self, sight: Sight, *, now: Callable[[], datetime]) -> None:
        self._sight, self._now, self._acts = sight, now, Acts(sight)
        self._unsent: dict[str, Create] = {}
        """Commands that were noted as sent and surely were not, by the restart's key."""

    async def pursue(self, order: RestartOrder) -> Progress:
        """Look where the restart stands and do what is due. Raises Transient, NoRoom, LevelRefused."""
        try:
            record = await self._record(order, self._top(order.job))
            if isinstance(record, Hold):
                return Progress(Seen.WAITING, record.because)
            waits = await self._carry_on(record, order)
        except (Refused, Missing) as refused:
            raise LevelRefused(f"the API server refuses a step of the restart: {refused}") from refused
        return waits if waits is not None else await self._observe(order.job)

    def recorded(self, job: JobUid) -> Record | None:
        """Return the restart that was begun last, None for none and for what is no record."""
        top = self._sight.job(job)
        with suppress(Unreadable):
            return None if top is None else read(_noted(top.source), top.ref)
        return None

    def _known(self, top: JobObject) -> Record | None:
        """Return the restart that was begun last. Raises LevelRefused where one may be under way that nobody knows."""
        try:
            return read(_noted(top.source), top.ref)
        except Unreadable as unknown:
            raise LevelRefused(f"{unknown}; take it off once no restart is under way") from unknown

    def _top(self, job: JobUid) -> JobObject:
        top = self._sight.job(job)
        if top is None and any(map(self._sight.kinds.hidden, JobKind)):
            raise Transient(f"job {job} is not seen, and not every kind is shown now")
        if top is None:
            raise LevelRefused(f"the object of job {job} is gone: there is nothing to restart; create it anew")
        return top

    async def _record(self, order: RestartOrder, top: JobObject) -> Record | Hold:
        """Return the restart that is under way for this order, begun now if it is not yet."""
        known, view = self._known(top), self._sight.view(top)
        if view.stopped and (known is None or known.written or known.yielded):
            return Hold(view.pause)
        if known is not None and known.order == order.id:
            return known
        if known is not None and not known.written and known.plan.level is Level.JOB and (known.step or view.suspended):
            return await self._write(top, replace(known, order=order.id), why="goes on for the next incident")
        match due(order, view, self._sight.pods(order.job), self._sight.nodes):
            case Hold(unfenced=True, because=because):
                raise NoRoom(because)
            case Hold() as hold:
                return hold
            case Refusal(because=because, remedy=remedy):
                raise LevelRefused(f"{because}: {remedy}")
            case plan:
                fresh = begun(order.id, plan.key(order.incident), plan, self._now())
                if (size := len(written(fresh))) > LARGEST:
                    steps = f"{len(plan.steps)} steps over {len(fresh.before)} pods"
                    raise LevelRefused(f"{steps} make a record of {size} bytes, and {LARGEST} fit on {top.ref}")
                return await self._write(top, fresh, why=plan.because)

    async def _write(self, top: JobObject, record: Record, *, why: str) -> Record:
        """Put the record on the job if there stands what stood on ``top``, also nothing. Raises Conflict otherwise."""
        before = _noted(top.source)

        def change(source: JsonObject) -> JsonObject:
            if _noted(source) != before:
                raise Conflict(f"somebody else goes on with the restart of {top.ref}")
            return note(record)

        await self._sight.edit(top.ref, change, why=f"restart {record.key[:8]}, step {record.step}: {why}")
        return record

    async def _carry_on(self, record: Record, order: RestartOrder) -> Progress | None:
        """Do the steps that are left; return what is waited for, None when all are done."""
        if record.yielded:
            moved, why = given_back(record, await self._acts.pods(self._top(order.job)), self._now())
            record = await self._write(self._top(order.job), moved, why=why)
        while not record.written:
            match await self._overruled(record, order.job) or await self._step(record, order.job):
                case Progress() as waits:
                    return waits
                case moved:
                    record = moved
        await self._send(record.key)
        return None

    async def _overruled(self, record: Record, job: JobUid) -> Record | Progress | None:
        """Return what becomes of the restart where somebody resumed the job that it holds down; None: nobody did."""
        resume = record.plan.resumes(record.step)
        if resume is None or self._sight.view(self._top(job)).suspended:
            return None
        match overruled(record, resume, await self._acts.pods(self._top(job)), self._now()):
            case Progress() as waits:
                return waits
            case (moved, why):
                return await self._write(self._top(job), moved, why=why)

    async def _step(self, record: Record, job: JobUid) -> Record | Progress:
        """Do the next step, and return the record with the one after it, or what is waited for."""
        step = record.plan.steps[record.step]
        match step:
            case Await(what=what, why=why):
                if not await self._acts.emptied(self._top(job), what):
                    return Progress(Seen.WAITING, f"waits until no pod is left: {why}")
            case Patch():
                patched = await self._patch(record, step, job)
                return Progress(Seen.WAITING, self._sight.view(self._top(job)).pause) if patched.yielded else patched
            case Create():
                noted = await self._advance(record, job)
                self._unsent[record.key] = step
                await self._send(record.key)
                return noted
            case Apply() | Delete() | Evict():
                await self._acts.do(step)
            case other:
                assert_never(other)
        return await self._advance(record, job)

    async def _send(self, key: str) -> None:
        """Send a command that is not sent yet, at most once: of one that may have arrived only its effect tells."""
        command = self._unsent.pop(key, None)
        if command is None:
            return
        try:
            await self._sight.client.create(command.namespace, command.body, why=command.why)
        except Unsent:
            self._unsent[key] = command
            raise

    async def _advance(self, record: Record, job: JobUid) -> Record:
        """Note that a step is done; removals in a row are noted together, as each looks at its pod anyway."""
        ahead = record.after(record.step + 1, self._now())
        following = None if ahead.written else ahead.plan.steps[ahead.step]
        if isinstance(following, Delete | Evict) and isinstance(record.plan.steps[record.step], Delete | Evict):
            return ahead
        return await self._write(self._ours(record, job), ahead, why=_next(ahead))

    async def _patch(self, record: Record, step: Patch, job: JobUid) -> Record:
        """Do a step on the job and note that it is done, in one write, and return the record that stands there then.

        So a suspension that is there before ours is noted is somebody else's, and one after ours was taken back too.
        """
        top, ahead = self._ours(record, job), record.after(record.step + 1, self._now())
        before = _noted(top.source)

        def change(source: JsonObject) -> JsonObject:
            if _noted(source) != before:
                raise Conflict(f"somebody else goes on with the restart of {top.ref}")
            if suspends(step) and _holds(source, step.body):
                return note(replace(record, yielded=True))
            return {**step.body, **note(ahead)}

        why = f"restart {record.key[:8]}, step {ahead.step}: {_next(ahead)}; {step.why}"
        await self._sight.edit(step.target, change, why=why)
        return self._known(self._top(job)) or ahead

    def _ours(self, record: Record, job: JobUid) -> JobObject:
        """Return the job. Raises Conflict where somebody else went on with its restart."""
        top = self._top(job)
        known = self._known(top)
        if known is None or (known.order, known.key) != (record.order, record.key) or known.step > record.step:
            raise Conflict(f"somebody else goes on with the restart of {top.ref}")
        return top

    async def _observe(self, job: JobUid) -> Progress:
        """Return what came of the steps; asks again where a command left no trace. Raises LevelRefused."""
        top = self._top(job)
        record = self._known(top)
        if record is None:
            raise Conflict(f"the record of the restart of {top.ref} was taken away")
        pods = self._sight.pods(job)
        plan = record.seen_with(pods)
        seen = observed(plan, self._sight.view(top), pods, since=record.since, now=self._now())
        if seen.seen is Seen.FAILED:
            raise LevelRefused(seen.because)
        if seen.seen is Seen.UNTOUCHED:
            again = next(at for at, step in enumerate(plan.steps) if isinstance(step, Create))
            await self._write(top, record.after(again, self._now()), why=seen.because)
        return seen


def _noted(source: JsonObject) -> str:
    """Return what stands where the record of a restart belongs, "" for nothing."""
    return text(source, "metadata", "annotations", RESTART)


def _holds(found: JsonObject, body: JsonObject) -> bool:
    """Return whether a merge patch would change nothing."""
    return all(
        _holds(table(found, key), said) if isinstance(said, Mapping) else found.get(key, False) == said
        for key, said in body.items()
    )


def _next(record: Record) -> str:
    """Return what comes after the step that was done last, for people who read the audit."""
    if record.written:
        return "done"
    step = record.plan.steps[record.step]
    return f"next: {type(step).__name__.lower()}: {step.why}"
