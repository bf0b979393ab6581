"""How jobs and incidents end."""

from keepstep.contracts.events import (
    Accounts,
    IncidentClosed,
    JobDeleted,
    JobFailed,
    JobSucceeded,
    TaskReleased,
)
from keepstep.contracts.ids import IncidentId
from keepstep.contracts.orders import PlanHead
from keepstep.contracts.taxonomy import Category, Outcome, PlanPhase
from keepstep.scheduler_adapter.core.state import Closed, Life
from keepstep.scheduler_adapter.core.turn import Turn

FAILED = 1
STOPPED = 143
"""As a process that SIGTERM ended: a job that people stopped has neither succeeded nor failed of itself."""
REMEMBERED = 32
"""Closed incidents kept: a late verdict arrives within seconds, not after 32 more incidents."""


def succeed(turn: Turn) -> None:
    """All ranks exited 0."""
    if turn.state.opened is not None:
        close_opened(turn, Outcome.CLEARED, "all ranks exited 0")
    steps = [exit_.step for exit_ in turn.state.exits.values() if exit_.step is not None]
    turn.say(JobSucceeded, step=max(steps, default=None))
    end(turn, "all ranks exited 0")


def fail(turn: Turn, category: Category, because: str, last_line: str = "") -> None:
    """End the job for good and its incident with it."""
    turn.say(JobFailed, category=category, because=because, last_line=last_line)
    close_any(turn, Outcome.FAILED, because)
    end(turn, because, exit_code=FAILED)


def end(turn: Turn, because: str, *, exit_code: int = 0) -> None:
    """Put out the plan that ends all ranks; tasks are taken out once they have confirmed it.

    Launchers leave with the exit code, which is how a job controller learns what became of its pods.
    """
    job = turn.state.job
    if job is None:
        raise ValueError("a job without a name was created")
    newest = turn.state.generation if turn.state.plan is None else turn.state.plan.generation
    head = PlanHead(
        job=job.uid,
        generation=newest,
        phase=PlanPhase.END,
        world_size=turn.spec.world_size,
        exit_code=exit_code,
    )
    turn.put(life=Life.ENDING, since=turn.now, plan=head, recovery=None, shortage=None)
    turn.why(because)


def close_any(turn: Turn, outcome: Outcome, because: str) -> None:
    """Close the incident of this job, if there is one."""
    if turn.state.recovery is not None:
        close_recovery(turn, outcome, because)
    elif turn.state.opened is not None:
        close_opened(turn, outcome, because)


def close_recovery(turn: Turn, outcome: Outcome, because: str, accounts: Accounts | None = None) -> None:
    """Close the incident whose recovery is under way."""
    recovery = turn.recovery
    turn.say(
        IncidentClosed,
        subject=recovery.incident,
        attempt=recovery.attempt,
        outcome=outcome,
        category=recovery.verdict.category,
        levels=recovery.chain,
        attempts=recovery.attempt,
        accounts=accounts,
        because=because,
        group=recovery.group,
    )
    remember_closed(turn, recovery.incident, recovery.attempt)
    turn.put(recovery=None)


def close_opened(turn: Turn, outcome: Outcome, because: str) -> None:
    """Close an incident that never got a verdict."""
    incident = turn.state.opened
    if incident is not None:
        close_foreign(turn, incident, outcome, because)


def close_foreign(
    turn: Turn, incident: IncidentId, outcome: Outcome, because: str, category: Category = Category.UNKNOWN
) -> None:
    """Close an incident for which nothing was done."""
    turn.say(IncidentClosed, subject=incident, incident=incident, outcome=outcome, category=category, because=because)
    remember_closed(turn, incident, 0)
    turn.why(because)


def remember_closed(turn: Turn, incident: IncidentId, attempt: int) -> None:
    """Remember that an incident is over."""
    closed = (*turn.state.closed, Closed(incident=incident, attempt=attempt))[-REMEMBERED:]
    opened = None if turn.state.opened == incident else turn.state.opened
    turn.put(closed=closed, opened=opened)


def closed_attempt(turn: Turn, incident: IncidentId | None) -> int | None:
    """Return the attempt with which an incident was closed last, or None if it was not."""
    return max((each.attempt for each in turn.state.closed if each.incident == incident), default=None)


def release_task(turn: Turn, event: TaskReleased) -> None:
    """A task that was lost or taken out is gone; the last one of an ending job ends it."""
    uid = event.ref.uid
    task = turn.state.current(event.ref)
    if task is not None and event.proven:
        turn.task(task.ref.name, proved=True)
    leaving = tuple(
        each.model_copy(update={"released": True, "gone": each.gone or event.proven}) if each.ref.uid == uid else each
        for each in turn.state.leaving
    )
    if turn.state.life is not Life.ENDING:
        turn.put(leaving=leaving)
        return
    tasks = {name: task for name, task in turn.state.tasks.items() if task.ref.uid != uid}
    turn.put(tasks=tasks, leaving=tuple(each for each in leaving if not (each.released or each.gone)))
    if not turn.state.tasks and not turn.state.leaving:
        turn.say(JobDeleted)
        turn.put(life=Life.ENDED, since=turn.now)
        turn.why("all tasks are gone")
