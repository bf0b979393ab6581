"""From plan, launcher and memory to the one next thing."""

import pytest

from keepstep.agent.reconcile import (
    Action,
    EndTask,
    Launcher,
    Memory,
    SayApplied,
    StartRanks,
    StopRanks,
    applied,
    reconcile,
)
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Applied, PlanPhase
from tests.agent.makers import entry, head, launcher, memory

STOP, RUN, END = PlanPhase.STOP, PlanPhase.RUN, PlanPhase.END
NO_RANKS = "the plan of generation 2 has no ranks for this task"

CASES: list[tuple[str, PlanHead | None, PlanEntry | None, Launcher, Memory, Action | None]] = [
    ("no plan", None, None, launcher(0), memory(), None),
    ("first run needs no stop", head(1), entry(1), launcher(0), memory(), StartRanks(head(1), entry(1))),
    ("started is said", head(1), entry(1), launcher(1), memory(), SayApplied(1, Applied.STARTED)),
    ("started is said once", head(1), entry(1), launcher(1), memory(started=1), None),
    ("a restarted agent disturbs nothing", head(3), entry(3), launcher(3), memory(started=3, stopped=3), None),
    (
        "and says what its former life could not",
        head(3),
        entry(3),
        launcher(3),
        memory(stopped=3),
        SayApplied(3, Applied.STARTED),
    ),
    (
        "also when all ranks ended since",
        head(3),
        entry(3),
        launcher(3, alive=False),
        memory(stopped=3),
        SayApplied(3, Applied.STARTED),
    ),
    ("stop ends older ranks", head(2, STOP), None, launcher(1), memory(started=1), StopRanks(1)),
    (
        "stop also where they exited by themselves",
        head(2, STOP),
        None,
        launcher(1, alive=False),
        memory(started=1),
        StopRanks(1),
    ),
    (
        "stopped is said",
        head(2, STOP),
        None,
        launcher(1, alive=False, stopped=1),
        memory(started=1),
        SayApplied(2, Applied.STOPPED),
    ),
    (
        "stopped is said once",
        head(2, STOP),
        None,
        launcher(1, alive=False, stopped=1),
        memory(started=1, stopped=2),
        None,
    ),
    ("stop of a task that never ran", head(2, STOP), None, launcher(0), memory(), StopRanks(1)),
    (
        "run after stop",
        head(2),
        entry(2),
        launcher(1, alive=False, stopped=1),
        memory(started=1, stopped=2),
        StartRanks(head(2), entry(2)),
    ),
    ("run without having seen the stop", head(2), entry(2), launcher(1), memory(started=1), StopRanks(1)),
    (
        "a new agent lets the stop be confirmed again",
        head(2),
        entry(2),
        launcher(1, alive=False),
        memory(started=1, stopped=2),
        StopRanks(1),
    ),
    ("a replaced task waits for the stop of its own plan", head(2), entry(2), launcher(0), memory(), StopRanks(1)),
    ("and then starts", head(2), entry(2), launcher(0, stopped=1), memory(), StartRanks(head(2), entry(2))),
    ("older stop plan", head(2, STOP), None, launcher(3), memory(started=3), None),
    ("older run plan", head(2), entry(2), launcher(1, alive=False, stopped=2), memory(started=1, stopped=3), None),
    ("older end plan", head(2, END), None, launcher(3), memory(started=3), None),
    ("stop of what already runs", head(2, STOP), None, launcher(2), memory(started=2), None),
    (
        "no entry: refused",
        head(2),
        None,
        launcher(1, alive=False, stopped=1),
        memory(started=1),
        SayApplied(2, Applied.REFUSED, NO_RANKS),
    ),
    (
        "older entry: refused",
        head(2),
        entry(1),
        launcher(1, alive=False, stopped=1),
        memory(started=1),
        SayApplied(2, Applied.REFUSED, NO_RANKS),
    ),
    ("but its old ranks go first", head(2), None, launcher(1), memory(started=1), StopRanks(1)),
    ("refused once", head(2), None, launcher(1, alive=False, stopped=1), memory(started=1, refused=2), None),
    ("newer entry: wait for its head", head(2), entry(3), launcher(1, alive=False, stopped=1), memory(started=1), None),
    (
        "the launcher refused",
        head(2),
        entry(2),
        launcher(1, alive=False, stopped=1, refused=2, because="busy"),
        memory(started=1),
        SayApplied(2, Applied.REFUSED, "busy"),
    ),
    ("end stops all", head(2, END), None, launcher(2), memory(started=2), StopRanks(2)),
    (
        "end is said",
        head(2, END),
        None,
        launcher(2, alive=False, stopped=2),
        memory(started=2),
        SayApplied(2, Applied.ENDED),
    ),
    (
        "then the task ends",
        head(2, END),
        None,
        launcher(2, alive=False, stopped=2),
        memory(started=2, ended=2),
        EndTask(),
    ),
]


@pytest.mark.parametrize(("plan", "own", "has", "knows", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_next_action(
    plan: PlanHead | None, own: PlanEntry | None, has: Launcher, knows: Memory, expected: Action | None
) -> None:
    assert reconcile(plan, own, has, knows) == expected


@pytest.mark.parametrize(
    ("word", "field"),
    [
        (Applied.STOPPED, "stopped"),
        (Applied.STARTED, "started"),
        (Applied.REFUSED, "refused"),
        (Applied.ENDED, "ended"),
    ],
)
def test_what_was_said_is_remembered(word: Applied, field: str) -> None:
    assert applied(memory(boots=3), SayApplied(2, word)) == memory(boots=3, **{field: 2})


def test_every_plan_settles() -> None:
    """Answering each order as the launcher would leads through every phase to the end."""
    has, knows, log = launcher(0), memory(), []
    for plan, own in ((head(1), entry(1)), (head(2, STOP), None), (head(2), entry(2)), (head(2, END), None)):
        while (action := reconcile(plan, own, has, knows)) is not None:
            log.append(action)
            match action:
                case StopRanks(generation):
                    has = has.model_copy(update={"stopped": generation, "ranks": ()})
                case StartRanks(wanted, _):
                    has = launcher(wanted.generation, stopped=has.stopped)
                case SayApplied():
                    knows = applied(knows, action)
                case EndTask():
                    break
    words = [action.applied.value if isinstance(action, SayApplied) else type(action).__name__ for action in log]
    assert words == [
        "StartRanks",
        "started",
        "StopRanks",
        "stopped",
        "StartRanks",
        "started",
        "StopRanks",
        "ended",
        "EndTask",
    ]
