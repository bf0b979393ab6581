"""What an incident cost, second by second: parts that add up to the wall time by construction."""

import itertools
import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from keepstep.contracts.events import Accounts
from keepstep.contracts.model import Frozen

Wait = tuple[AwareDatetime, AwareDatetime]
"""From when until when nothing but a person was waited for."""


class Instants(Frozen):
    """When each stage of an incident ended; clocks of several machines took them, so order is not granted."""

    occurred: AwareDatetime
    detected: AwareDatetime
    diagnosed: AwareDatetime
    planned: AwareDatetime
    started: AwareDatetime
    resumed: AwareDatetime
    waits: tuple[Wait, ...] = ()
    """They overlap no other, and are no part of the stage in which they lie."""


class Stages(Frozen):
    """What agents measured between start and first step (slowest rank), and what is to be computed again."""

    init_s: float = 0.0
    load_s: float = 0.0
    first_step_s: float = 0.0
    lost_steps: int | None = None
    step_s: float | None = None
    """Seconds per step before the fault, from steps and time: an estimate."""
    estimated: bool = False


def account(instants: Instants, stages: Stages) -> Accounts:
    """Return the accounts of one incident.

    detect = occurred..detected, decide = ..diagnosed (settling included), isolate = ..planned (both answers),
    reschedule = ..all ranks started; init and load are the agents' figures and first_step is the rest of ..resumed;
    where the slowest rank was started before the last one, what it did until then is in reschedule;
    recompute = lost steps x seconds per step; people = what of detect to first_step was a wait for people, which those
    are without. An instant before its predecessor (two clocks) counts as simultaneous.
    ``wall_s`` is the sum: fault to caught up.
    """
    moments = _in_order(instants)
    spans = tuple(itertools.pairwise(moments))
    waited = [_waited(span, instants.waits) for span in spans]
    detect, decide, isolate, reschedule, run = (
        (later - earlier).total_seconds() - wait for (earlier, later), wait in zip(spans, waited, strict=True)
    )
    people = math.fsum(waited)
    first = min(max(stages.first_step_s, 0.0), run)
    load = min(max(stages.load_s, 0.0), run - first)
    init = min(max(stages.init_s, 0.0), run - first - load)
    recompute = (stages.lost_steps or 0) * (stages.step_s or 0.0)
    parts = (detect, decide, isolate, reschedule, init, load, max(run - init - load, 0.0), recompute, people)
    return Accounts(
        detect_s=detect,
        decide_s=decide,
        isolate_s=isolate,
        reschedule_s=reschedule,
        init_s=init,
        load_s=load,
        first_step_s=parts[6],
        recompute_s=recompute,
        people_s=people,
        wall_s=math.fsum(parts),
        lost_steps=stages.lost_steps,
        estimated=stages.estimated or recompute > 0,
    )


def _waited(span: tuple[datetime, datetime], waits: Sequence[Wait]) -> float:
    """Return the seconds of the waits that lie in a span of time."""
    begin, end = span
    parts = ((min(until, end) - max(since, begin)).total_seconds() for since, until in waits)
    return min(math.fsum(part for part in parts if part > 0), (end - begin).total_seconds())


def _in_order(instants: Instants) -> list[datetime]:
    moments = [instants.occurred]
    for moment in (instants.detected, instants.diagnosed, instants.planned, instants.started, instants.resumed):
        moments.append(max(moment, moments[-1]))
    return moments


def step_seconds(begun: datetime, ended: datetime, *, first: int | None, last: int | None) -> float | None:
    """Return seconds per step between two marks of one generation, or None if no step lies between them."""
    if first is None or last is None or last <= first or ended - begun <= timedelta(0):
        return None
    return (ended - begun).total_seconds() / (last - first)
