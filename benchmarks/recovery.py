"""From a killed rank to the next completed step, under ``keepstep run`` and under ``torchrun --max-restarts``.

Run ``python -m benchmarks.recovery [--rounds 4] [--kills 3]``. Both train examples/train_ddp.py on four ranks of this
machine, in turn: each round starts one, kills ranks of it one after another, ends it, and does the same with the other.
keepstep runs two nodes of two ranks as it does by default; a rank is killed when all spares are ready. The next
completed step is the first that new ranks write down; torchrun's begin with step 1: nobody tells them of a checkpoint.
"""

import argparse
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from benchmarks import measuring
from benchmarks.stream import Event, read_events, until_warm
from benchmarks.training import Training, UnderKeepstep, UnderTorchrun
from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Applied

VICTIMS = (3, 0, 2)
"""Ranks in the order in which they are killed: of both nodes, and the one that holds the master."""
PACE_S = 0.05
"""Duration of a step; every figure up to a completed step holds one."""
LIMIT_S = 60.0
"""A restart that takes longer has not recovered."""
STEPS_BETWEEN = 20
"""Until the next kill, so that each is one of a training that steps."""

M = TypeVar("M", bound=Message)


def in_stream(event: Event) -> float:
    """Return when the stream had the event."""
    return event.at


def by_launcher(event: Event) -> float:
    """Return when the launcher reaped the rank: the kernel had to tear down its memory before."""
    assert isinstance(event.message, e.RankExited)
    return event.message.at.timestamp()


def by_agent(event: Event) -> float:
    """Return when the agent heard of it."""
    return event.message.time.timestamp()


@dataclass(frozen=True)
class Hop:
    """A moment of the restart: that of the first event of a kind, or of the last."""

    name: str
    kind: type[Message]
    when: Callable[[Event], float] = in_stream
    last: bool = False
    applied: Applied | None = None

    def at(self, events: Iterable[Event]) -> float | None:
        """Return the moment; None if it has not come."""
        moments = [self.when(event) for event in events if self._is(event.message)]
        return (moments[-1] if self.last else moments[0]) if moments else None

    def _is(self, message: Message) -> bool:
        if isinstance(message, e.PlanApplied) and self.applied is not None:
            return message.applied is self.applied
        return isinstance(message, self.kind)


REAPED = Hop("rank reaped", e.RankExited, by_launcher)
DETECTED, STARTED = Hop("FaultDetected", e.FaultDetected), Hop("RecoveryStarted", e.RecoveryStarted)
HOPS = (
    REAPED,
    Hop("agent heard", e.RankExited, by_agent),
    Hop("RankExited", e.RankExited),
    DETECTED,
    Hop("IncidentOpened", e.IncidentOpened),
    Hop("settled", e.DeadlinePassed),
    Hop("FaultDiagnosed", e.FaultDiagnosed),
    Hop("IsolationDeclined", e.IsolationDeclined),
    Hop("CheckpointChosen", e.CheckpointChosen),
    Hop("RecoveryPlanned", e.RecoveryPlanned),
    STARTED,
    Hop("last rank reaped", e.RankExited, by_launcher, last=True),
    Hop("last rank stopped", e.PlanApplied, by_agent, last=True, applied=Applied.STOPPED),
    Hop("all stopped", e.PlanApplied, last=True, applied=Applied.STOPPED),
    Hop("last rank started", e.PlanApplied, by_agent, last=True, applied=Applied.STARTED),
    Hop("all started", e.PlanApplied, last=True, applied=Applied.STARTED),
    Hop("last first step", e.FirstStepDone, by_agent, last=True),
    Hop("FirstStepDone of all", e.FirstStepDone, last=True),
    Hop("JobResumed", e.JobResumed),
)


@dataclass(frozen=True)
class Restart:
    """One restart under keepstep: seconds from the kill to each hop, and how long of them was the settle window."""

    hops: dict[str, float]
    settle_s: float
    cold: bool
    """The killed rank was of the first generation, whose start waits for no spare."""

    @property
    def decision_s(self) -> float:
        """FaultDetected to RecoveryStarted without the settle window."""
        return self.hops[STARTED.name] - self.hops[DETECTED.name] - self.settle_s


def main(rounds: int, kills: int) -> None:
    """Print the tables."""
    steps: dict[str, list[float]] = {"keepstep": [], "torchrun": []}
    restarts: list[Restart] = []
    for _ in range(rounds):
        with measuring.scratch() as folder:
            job = UnderKeepstep(folder, pace_s=PACE_S)
            restarts += run_keepstep(job, kills, steps["keepstep"])
        with measuring.scratch() as folder:
            run_torchrun(UnderTorchrun(folder, pace_s=PACE_S), kills, steps["torchrun"])
    report(steps, restarts, rounds * kills)


def run_keepstep(training: UnderKeepstep, kills: int, steps: list[float]) -> list[Restart]:
    """Kill ranks of one job one after another, each when all spares are ready."""
    restarts = []
    try:
        for number in range(kills):
            training.losses.until_amid(beyond=training.losses.step + STEPS_BETWEEN)
            until_warm(training.job, generation=number + 1, limit_s=LIMIT_S)
            killed = strike(training, VICTIMS[number % len(VICTIMS)])
            steps.append(training.losses.until_restarted(limit_s=LIMIT_S) - killed)
            training.job.until_said(e.JobResumed, count=number + 1)
            events = [event for event in read_events(training.job) if event.at > killed]
            restarts.append(restart(events, killed, cold=number == 0))
    finally:
        training.end()
    return restarts


def run_torchrun(training: UnderTorchrun, kills: int, steps: list[float]) -> None:
    """Kill ranks of one job one after another."""
    try:
        for number in range(kills):
            training.losses.until_amid(beyond=STEPS_BETWEEN)
            killed = strike(training, VICTIMS[number % len(VICTIMS)])
            steps.append(training.losses.until_restarted(limit_s=LIMIT_S) - killed)
    finally:
        training.end()


def strike(training: Training, rank: int) -> float:
    """Kill a rank between two saves and return when (seconds of the wall clock)."""
    pid = training.pid(rank)
    training.losses.until_amid()
    killed = time.time()
    os.kill(pid, signal.SIGKILL)
    return killed


def restart(events: list[Event], killed: float, *, cold: bool) -> Restart:
    """Return the hops of one restart from its events."""
    found = {hop.name: at - killed for hop in HOPS if (at := hop.at(events)) is not None}
    settled = next(event.message for event in events if isinstance(event.message, e.DeadlinePassed))
    assert isinstance(settled, e.DeadlinePassed)
    return Restart(found, settled.due.timestamp() - killed - found[DETECTED.name], cold)


def report(steps: dict[str, list[float]], restarts: list[Restart], tries: int) -> None:
    """Print the figures, and where the time of a restart goes."""
    measuring.begin(__doc__)
    for name, goal in (("keepstep", "1.0 s"), ("torchrun", "")):
        what = f"kill -> next completed step, {name} ({len(steps[name])} of {tries} recovered)"
        print(measuring.row(what, steps[name], unit="s", goal=goal))
    ratio = statistics.median(steps["torchrun"]) / statistics.median(steps["keepstep"])
    print(f"| torchrun / keepstep | {ratio:.1f} | | | 5 |")
    for whose, some in (
        ("a rank that was a spare", [restart for restart in restarts if not restart.cold]),
        ("a rank that was started cold", [restart for restart in restarts if restart.cold]),
    ):
        for hop, goal in ((REAPED, ""), (DETECTED, "20 ms")):
            figures = [1000 * restart.hops[hop.name] for restart in some]
            print(measuring.row(f"SIGKILL of {whose} -> {hop.name}", figures, unit="ms", goal=goal, digits=0))
    decided = [1000 * restart.decision_s for restart in restarts]
    what = "FaultDetected -> RecoveryStarted, settling apart"
    print(measuring.row(what, decided, unit="ms", goal="100 ms", digits=0))
    settled = [1000 * restart.settle_s for restart in restarts]
    print(measuring.row("settle window", settled, unit="ms", digits=0))
    print(f"\n{measuring.head('since the kill, in the stream')}")
    for hop in HOPS:
        figures = [1000 * restart.hops[hop.name] for restart in restarts if hop.name in restart.hops]
        print(measuring.row(hop.name, figures, unit="ms", digits=0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--kills", type=int, default=3, help="per job and round; at most 3 an hour are forgiven")
    main(**vars(parser.parse_args()))
