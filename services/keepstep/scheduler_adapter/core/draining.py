"""Whether a drain can be done at all: it is an order of people and no fault, so what no level can move runs on."""

from collections.abc import Iterable, Iterator

from keepstep.contracts.events import JobWaiting, Verdict
from keepstep.contracts.ids import IncidentId
from keepstep.contracts.taxonomy import Category, Level, LossCause
from keepstep.core.levels import Choice, choose, first_level
from keepstep.scheduler_adapter.core.recovery import Joining, Recovery
from keepstep.scheduler_adapter.core.situation import situation
from keepstep.scheduler_adapter.core.state import Drain
from keepstep.scheduler_adapter.core.task import Loss, Task
from keepstep.scheduler_adapter.core.turn import Turn


def hindrance(turn: Turn, tasks: Iterable[Task]) -> str:
    """Return why no level could move these tasks, were they taken away now; "" where one can.

    Asked of a fold of which nothing is kept. A recovery that is under way must be able to take them in as well.
    """
    for recovery in _recoveries(turn):
        trial = Turn(turn.state, turn.cause, turn.now, turn.supports)
        trial.put(recovery=recovery)
        for task in tasks:
            trial.task(task.ref.name, lost=Loss(by=LossCause.DRAINED, proven=False))
        choice = choose(situation(trial))
        if choice.level is Level.FAIL:
            return _obstacles(trial, choice)
    return ""


def _recoveries(turn: Turn) -> Iterator[Recovery]:
    verdict = Verdict(category=Category.PREEMPTED, confidence=1.0, because="drained", rule="drained")
    known = turn.state.recovery
    if known is not None:
        yield known
        yield known.model_copy(update={"verdict": verdict})
        return
    generation, now = turn.state.generation, turn.now
    yield Recovery(
        incident=IncidentId(""), cause=turn.cause.id, verdict=verdict, faults=(), from_generation=generation,
        to_generation=turn.state.following, stage=Joining(since=now), occurred=now, detected=now, diagnosed=now,
    )  # fmt: skip


def _obstacles(trial: Turn, choice: Choice) -> str:
    """Return what keeps from every level, without the one that it would begin with."""
    return choice.because.removeprefix(f"{first_level(situation(trial))[1]}; ")


def decline(turn: Turn, asked: Drain, tasks: Iterable[Task], why: str) -> None:
    """Tell that the tasks stay where they are; the node takes no others meanwhile, which is the isolator's doing."""
    names = ", ".join(task.ref.name for task in tasks)
    because = f"{asked.by} drains {asked.node}; no level can move {names} from there: {why}"
    turn.say(JobWaiting, subject=f"drain/{asked.node}", node=asked.node, because=because, runs=True)
    turn.why(because)
