"""The levels of each kind on real trainings: who is made anew, where ranks go on, and what it costs the job itself."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import pytest

from keepstep.adapters import kube_kinds
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import RESTART
from keepstep.adapters.kube_plan import Ground, RestartPlan
from keepstep.adapters.kube_view import Refusal
from keepstep.contracts.events import (
    CheckpointChosen,
    CheckpointCommitted,
    FaultDiagnosed,
    IncidentOpened,
    JobResumed,
    RecoveryPlanned,
)
from keepstep.contracts.taxonomy import Level
from tests.kube import shown
from tests.share import share_of, todays
from tests.system.record import read_losses, read_steps

from ..server import kinds
from .services import Keepstep, keepstep_on
from .stack import kube_stack
from .story import SAVE_EVERY, data, in_seat, recovered, seated, started, uids
from .trainings import NAME

V, P, T, S, J = JobKind.VOLCANO, JobKind.PYTORCHJOB, JobKind.TRAINJOB, JobKind.JOBSET, JobKind.JOB
SHARE = share_of(4)
"""One of four cells, of every kind, every level and both blows; KEEPSTEP_TEST_SHARE=1 runs them all."""
LAST_RANK = 1
pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]


class Blow(StrEnum):
    """What befalls the last pod of the job."""

    RANK_KILLED = "a rank is killed"
    POD_DELETED = "somebody deletes the pod"


@dataclass(frozen=True)
class Cell:
    """One kind at one level; ``cost`` is what the job's own budget loses by it."""

    kind: JobKind
    level: Level
    blow: Blow = Blow.RANK_KILLED
    cost: int = 0
    levels: tuple[Level, ...] = ()
    """Those that the job allows, () for the defaults."""
    restart: str = "Never"
    """A PyTorchJob's restartPolicy."""
    refused: str = ""
    """Why a milder level that the job allows cannot be had, in the words of its plan."""

    def __str__(self) -> str:
        return f"{self.kind}-{self.level}-{self.blow.replace(' ', '-')}"


IN_PLACE = tuple(Cell(kind, Level.IN_PLACE) for kind in (V, P, T, S, J))
PODS = tuple(
    Cell(kind, Level.POD, blow, cost, () if blow is Blow.POD_DELETED else (Level.POD,), "ExitCode")
    for blow in (Blow.RANK_KILLED, Blow.POD_DELETED)
    for kind, cost in ((V, 0), (P, 0), (T, 1), (S, 1), (J, 1))
)
"""A pod of a child Job counts against that Job's backoffLimit; the set or TrainJob itself counts nothing."""
JOBS = (
    Cell(V, Level.JOB, cost=1, levels=(Level.JOB,)),
    Cell(P, Level.JOB, levels=(Level.POD, Level.JOB), refused="restartPolicy Never for Master, Worker"),
    Cell(T, Level.JOB, levels=(Level.JOB,)),
    Cell(S, Level.JOB, levels=(Level.JOB,)),
    Cell(J, Level.JOB, levels=(Level.JOB,)),
)
CELLS = (*IN_PLACE, *PODS, *JOBS)


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=1) as k, keepstep_on(k) as stack:
        yield stack


@pytest.mark.parametrize("cell", todays(CELLS, SHARE), ids=str)
async def test_a_level_makes_only_its_pods_anew_at_the_cost_foretold(
    s: Keepstep, tmp_path: Path, undisturbed: Mapping[int, float], cell: Cell
) -> None:
    before = await started(s, cell.kind, restart=cell.restart, options=asked(tmp_path, cell.levels))
    struck = max(before)
    foretold, spent, seats = dry_run(s, cell, struck), paid(s, cell.kind), seated(s, 1)
    assert foretold.cost.amount == cell.cost, foretold.because
    strike(s, cell.blow, struck)
    await recovered(s, cell.level, first=Level.IN_PLACE if cell.blow is Blow.POD_DELETED else None)
    assert len(s.all(IncidentOpened)) == 1
    assert cell.blow is Blow.POD_DELETED or first_to_die(s) == LAST_RANK
    assert cell.refused in s.all(RecoveryPlanned)[-1].because
    assert made_anew(before, uids(s)) == fresh(cell.level, before, struck)
    assert seated(s, s.all(JobResumed)[0].generation or 0) == seats
    assert paid(s, cell.kind) - spent == cell.cost
    assert written_plan(s, cell.kind) == carried_out(cell, foretold)
    expect_nothing_lost_but_the_steps_since_the_last_save(s, undisturbed)


def asked(folder: Path, levels: tuple[Level, ...]) -> tuple[str, ...]:
    """Return the options of a job that allows these levels alone."""
    if not levels:
        return ()
    policy = folder / "policy.toml"
    policy.write_text(f"[recovery]\nlevels = {json.dumps(levels)}\n", encoding="utf-8")
    return (f"--policy={policy}",)


def dry_run(s: Keepstep, cell: Cell, struck: str) -> RestartPlan:
    """Return the plan as it can be told before anything is touched; a level that cannot be had says why."""
    view, pods = shown.view(s.k.store, cell.kind, "default"), shown.pods(s.k.store, "default")
    lost, ground = [pod for pod in pods if pod.seat == struck], Ground(shown.nodes(s.k.store))

    def plan(level: Level) -> RestartPlan | Refusal:
        return kube_kinds.restart_plan(view, level, pods=pods, lost=lost, ground=ground)

    milder = [plan(level) for level in cell.levels if level is not cell.level]
    assert [cell.refused in one.because for one in milder if isinstance(one, Refusal)] == [True] * len(milder), milder
    found = plan(cell.level)
    assert isinstance(found, RestartPlan), found
    return found


def paid(s: Keepstep, kind: JobKind) -> int:
    """Return what the job's own budget has lost: retries, restarts, failed pods of its Jobs, restarted containers."""
    store = s.k.store
    jobs = [one.get("status", {}) for one in store.list(kinds.JOB, "default")]
    pods = [one.get("status", {}) for one in s.k.pods(NAME)]
    own = store.get(shown.STORED[kind], NAME, "default").get("status", {})
    sets = [one.get("status", {}) for one in store.list(kinds.JOB_SET, "default")]
    containers = [one["restartCount"] for pod in pods for one in pod.get("containerStatuses") or ()]
    return sum(
        [
            own.get("retryCount", 0),
            *(one.get("restarts", 0) for one in sets),
            *(one.get("failed", 0) for one in jobs),
            *containers,
        ]
    )


def strike(s: Keepstep, blow: Blow, seat: str) -> None:
    """Strike the pod in this seat, which has the last rank."""
    if blow is Blow.RANK_KILLED:
        s.kill_rank(NAME, LAST_RANK)
    else:
        s.k.store.delete(kinds.POD, in_seat(s, seat)[0], "default")


def first_to_die(s: Keepstep) -> int | None:
    """Return the rank that the verdict blames."""
    culprit = s.all(FaultDiagnosed)[-1].verdict.culprit
    return None if culprit is None else culprit.rank


def made_anew(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return the seats whose pod is another; the seats are the same."""
    assert after.keys() == before.keys()
    return {seat for seat, uid in after.items() if uid != before[seat]}


def fresh(level: Level, seats: Mapping[str, str], struck: str) -> set[str]:
    """Return the seats that get a new pod at a level."""
    return {Level.IN_PLACE: set[str](), Level.POD: {struck}, Level.JOB: set(seats)}[level]


def written_plan(s: Keepstep, kind: JobKind) -> str:
    """Return the sentence of the plan that keepstep wrote on the job before its first step, "" for none."""
    notes = s.k.store.get(shown.STORED[kind], NAME, "default")["metadata"].get("annotations", {})
    because: str = json.loads(notes[RESTART])["because"] if RESTART in notes else ""
    return because


def carried_out(cell: Cell, foretold: RestartPlan) -> str:
    """Return the sentence of the plan that keepstep carries out itself: none in place, and none after a deletion."""
    own = cell.level is not Level.IN_PLACE and cell.blow is Blow.RANK_KILLED
    return foretold.because if own else ""


def expect_nothing_lost_but_the_steps_since_the_last_save(s: Keepstep, undisturbed: Mapping[int, float]) -> None:
    """The training went on after the newest checkpoint that was known, and lost as if nothing had happened."""
    resumed, steps = s.all(RecoveryPlanned)[-1].resume_step, read_steps(data(s) / "losses")
    assert resumed is not None
    assert resumed == s.all(CheckpointChosen)[-1].step
    assert resumed in newest_known(s), s.all(CheckpointChosen)[-1].because
    back = [(last, again) for last, again in pairwise(steps) if again != last + 1]
    last = back[0][0] if back else resumed
    assert back in ([], [(last, resumed + 1)]), steps
    # Of what was saved in the second before the blow nobody knows yet that it is whole.
    assert last - 2 * SAVE_EVERY < resumed <= last, steps
    losses = {step: loss for step, loss in read_losses(data(s) / "losses").items() if step in undisturbed}
    assert max(losses) > resumed
    assert losses == {step: undisturbed[step] for step in range(1, max(losses) + 1)}


def newest_known(s: Keepstep) -> set[int]:
    """Return the newest checkpoint that was known to be whole at the verdict, and that at the answer to it."""
    said, chosen = list(s.said), s.all(CheckpointChosen)[-1]
    known = [(said.index(one.id), one.step) for one in s.all(CheckpointCommitted)]
    moments = [said.index(one) for one in (chosen.cause, chosen.id) if one is not None]
    return {max(step for at, step in known if at < moment) for moment in moments}
