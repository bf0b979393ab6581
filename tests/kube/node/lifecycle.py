"""What a kubelet does next with a pod: which containers it starts and ends, and when it looks again. Decides only.

Init containers one after the other, sidecars among them staying; restarts by policy with a back-off that doubles; at
the end the others first and the sidecars in reverse, within the grace (KEP-753).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ..server.objects import Obj
from .states import Container, Containers, End, Times


class Verb(StrEnum):
    """What is done to a container."""

    START = "start"
    END = "end"
    KILL = "kill"
    BACK_OFF = "back off"


@dataclass(frozen=True)
class Act:
    """One thing to do now, or (BACK_OFF, or with no container) only when to look again."""

    verb: Verb
    container: Container
    at: datetime


def next_acts(pod: Obj, containers: Containers, *, now: datetime, times: Times) -> list[Act]:
    """Return what to do with the pod's containers; those with a later ``at`` are to be looked at then."""
    if containers.asked_to_end is not None:
        return list(_end_all(containers, _grace(pod, times), containers.asked_to_end, now, times))
    if _mains_over(pod, containers):
        since = max((one.end.finished for one in containers.all if one.end is not None), default=now)
        return list(_end_all(containers, _grace(pod, times), since, now, times))
    return list(_bring_up(pod, containers, now, times))


def is_over(pod: Obj, containers: Containers) -> bool:
    """Tell whether no container runs, nor ever will again."""
    if any(one.alive for one in containers.all):
        return False
    return containers.asked_to_end is not None or _mains_over(pod, containers)


def failed_to_begin(pod: Obj, containers: Containers) -> bool:
    """Tell whether an init container ended badly and is not started again."""
    policy = pod["spec"]["restartPolicy"]
    ends = [one.end for one in containers.inits if not one.sidecar]
    return policy == "Never" and any(end is not None and end.code != 0 for end in ends)


def starts_again(policy: str, container: Container, end: End) -> bool:
    """Tell whether a container that ended is to be started again."""
    if container.sidecar:
        return True
    if policy == "Always" and not container.first:
        return True
    return policy != "Never" and end.code != 0


def back_off(container: Container, end: End, times: Times) -> datetime:
    """Return when a container that ended may start again: the first time at once, then 10 s, 20 s, up to 5 min."""
    if container.back_off is None:
        return end.finished
    return end.finished + times.wait(container.back_off)


def longer(container: Container, times: Times) -> timedelta:
    """Return the back-off after one more start."""
    if container.back_off is None:
        return times.first_back_off
    return min(container.back_off * 2, times.longest_back_off)


def _bring_up(pod: Obj, containers: Containers, now: datetime, times: Times) -> Iterator[Act]:
    policy = pod["spec"]["restartPolicy"]
    begun = any(one.begun or one.starting for one in containers.mains)
    for one in containers.inits:
        if one.end is not None and not one.sidecar and one.end.code == 0:
            continue
        yield from _bring_up_one(policy, one, now, times)
        if not (one.sidecar and one.running is not None) and not begun:
            return
    for one in containers.mains:
        yield from _bring_up_one(policy, one, now, times)


def _bring_up_one(policy: str, one: Container, now: datetime, times: Times) -> Iterator[Act]:
    if one.alive:
        return
    at = one.not_before or now
    if one.end is not None:
        if not starts_again(policy, one, one.end):
            return
        at = max(at, back_off(one, one.end, times))
    yield Act(Verb.START if at <= now else Verb.BACK_OFF, one, at)


def _end_all(containers: Containers, grace: timedelta, since: datetime, now: datetime, times: Times) -> Iterator[Act]:
    """End the containers that do not stay, then the sidecars from the last to the first."""
    waits = [one for one in containers.all if one.alive and not one.sidecar]
    for one in waits:
        yield from _end_one(one, since + grace, now)
    for one in reversed(containers.sidecars):
        if one.alive and not waits:
            told = one.told_to_end or now
            yield from _end_one(one, max(since + grace, told + times.wait(times.shortest_grace)), now)
            waits.append(one)


def _end_one(one: Container, deadline: datetime, now: datetime) -> Iterator[Act]:
    if one.told_to_end is None:
        yield Act(Verb.END, one, now)
    if not one.killed:
        yield Act(Verb.KILL, one, deadline)


def _grace(pod: Obj, times: Times) -> timedelta:
    asked = pod["metadata"].get("deletionGracePeriodSeconds")
    if asked is None:
        asked = pod["spec"].get("terminationGracePeriodSeconds", 30)
    return times.wait(max(timedelta(seconds=asked), times.shortest_grace))


def _mains_over(pod: Obj, containers: Containers) -> bool:
    if failed_to_begin(pod, containers):
        return True
    policy = pod["spec"]["restartPolicy"]
    return all(one.end is not None and not starts_again(policy, one, one.end) for one in containers.mains)
