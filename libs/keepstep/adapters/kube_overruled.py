"""What becomes of a restart when somebody else suspends or resumes its job meanwhile; pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from keepstep.adapters.kube_observe import Progress, Seen
from keepstep.adapters.kube_plan import Await, Delete, names, suspends
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_record import Record, short


def overruled(record: Record, resume: int, pods: Sequence[Pod], now: datetime) -> tuple[Record, str] | Progress:
    """Return how the restart goes on and why, or what it waits for.

    Where its old pods are gone, nothing but the resumption was missing (``resume`` is its step). Where they live on the
    job is suspended once more, and not again and again: whoever undoes that each time is told.
    """
    said = f"somebody resumed {record.plan.job} while keepstep restarts it"
    old = [pod for pod in pods if short(pod.uid) in record.before and not pod.over]
    between = record.plan.steps[record.step : resume]
    if not old and all(isinstance(step, Await | Delete) for step in between):
        return record.after(resume, now), f"{said}; its old pods are gone"
    if old and all(pod.deleted is not None for pod in old):
        return Progress(Seen.WAITING, f"{said}; {names(old)} still terminating")
    if not record.overruled:
        again = next(at for at, step in enumerate(record.plan.steps) if suspends(step))
        return replace(record.after(again, now), overruled=True), f"{said}; suspend it once more"
    left = f"{names(old)} must go first" if old else "its nodes are chosen anew while it is suspended"
    return Progress(Seen.WAITING, f"{said}, and did so again; {left}: suspend it until keepstep resumes it", told=True)


def given_back(record: Record, pods: Sequence[Pod], now: datetime) -> tuple[Record, str]:
    """Return how the restart goes on, and why, once somebody resumed a job that he had suspended before it did."""
    said = f"somebody suspended {record.plan.job} and resumed it"
    stand = any(short(pod.uid) in record.before and not pod.over for pod in pods)
    down = next(at for at, step in enumerate(record.plan.steps) if suspends(step))
    up = record.plan.resumes(down + 1)
    if stand or up is None or not all(isinstance(step, Await | Delete) for step in record.plan.steps[down + 1 : up]):
        return replace(record, yielded=False, since=now), f"{said}; the restart is still to be made"
    return replace(record.after(up + 1, now), yielded=False), f"{said}; its old pods are gone"
