"""What happened to each object: its states over time, and the transitions that must come in the same order.

Objects of the two sides are matched by kind, name without what is random in it, and order of creation: ``Pod j-1 #2``
is the second pod of index 1.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..server.objects import Obj
from .comparable import comparable
from .trace import Seen

_RANDOM = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}$")
_UID = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
_COUNTERS = ("failed", "retryCount", "restarts", "restartsCountTowardsMax", "terminalState")
_JOB_KINDS = {"Job.batch", "JobSet", "TrainJob", "PyTorchJob", "Job.batch.volcano.sh"}


@dataclass
class Life:
    """One object from its creation to its end."""

    alias: str
    kind: str
    name: str
    uid: str
    states: list[tuple[float, Obj]] = field(default_factory=list)
    gone: float | None = None

    def at(self, t: float) -> Obj | None:
        """Return the state at an instant; None before its creation and after its end."""
        if self.gone is not None and self.gone <= t:
            return None
        found = [state for since, state in self.states if since <= t]
        return found[-1] if found else None


@dataclass
class Story:
    """All lives of one run."""

    lives: dict[str, Life] = field(default_factory=dict)
    _by_uid: dict[str, Life] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, seen: Seen) -> None:
        """Take in one watch event."""
        life = self._by_uid.get(seen.uid)
        if life is None:
            stem = f"{seen.kind} {_stem(seen)}"
            self._counts[stem] += 1
            life = Life(f"{stem} #{self._counts[stem]}", seen.kind, seen.name, seen.uid)
            self._by_uid[seen.uid] = self.lives[life.alias] = life
        before = life.states[-1][1] if life.states else {}
        merged = {**before, **seen.fields}
        life.states.append((seen.t, {key: value for key, value in merged.items() if value is not None}))
        if seen.type == "DELETED":
            life.gone = seen.t

    def at(self, t: float) -> dict[str, Obj]:
        """Return all objects that are there at an instant."""
        found = ((alias, life.at(t)) for alias, life in self.lives.items())
        return {alias: comparable(self.lives[alias].kind, state) for alias, state in found if state is not None}

    def named(self, kind: str, name: str, t: float) -> Life | None:
        """Return the object that bears this name at an instant, or bore it last."""
        lives = [life for life in self.lives.values() if life.kind == kind and life.name == name]
        there = [life for life in lives if life.at(t - 0.03) is not None]
        known = there or [life for life in lives if life.states[0][0] <= t + 0.05]
        return known[-1] if known else None

    def of_uid(self, uid: str) -> Life | None:
        """Return the object by its uid, or by the first digits of it."""
        return next((life for key, life in self._by_uid.items() if uid.startswith(key) or key.startswith(uid)), None)


def tell(seen: Iterable[Seen]) -> Story:
    """Make the story of some watch events."""
    story = Story()
    for one in seen:
        story.add(one)
    return story


def transitions(life: Life) -> list[str]:
    """Return what must come in the same order on both sides, once each."""
    match life.kind:
        case "Pod":
            steps = [_pod_steps(state) for _, state in life.states]
        case kind if kind in _JOB_KINDS:
            told = _changes([_job_steps(state) for _, state in life.states])
            asked = _changes([[f"suspend {state.get('suspend')}"] for _, state in life.states])
            return [*asked, *told, *([] if life.gone is None else ["gone"])]
        case _:
            steps = []
    told = _changes(steps)
    return told if life.gone is None else [*told, "gone"]


def _changes(steps: Sequence[Sequence[str]]) -> list[str]:
    told: list[str] = []
    before: Sequence[str] = ()
    for now in steps:
        told += [one for one in now if one not in before]
        before = now
    return told


def _pod_steps(state: Obj) -> list[str]:
    conditions = state.get("conditions") or {}
    steps = [f"bound for {state[key]}" for key in ("nodeSelector", "affinity") if state.get(key)]
    steps += ["scheduled"] if "node" in state else []
    if conditions.get("PodScheduled", "").startswith("False/"):
        steps.append(f"unscheduled: {conditions['PodScheduled'].removeprefix('False/')}")
    if conditions.get("Ready") == "False":
        steps.append("not ready")
    if "DisruptionTarget" in conditions:
        steps.append(f"disrupted: {conditions['DisruptionTarget'].removeprefix('True/')}")
    if state.get("deletionTimestamp"):
        steps += ["deleted", *([f"grace {state['grace']}"] if state.get("grace") else [])]
    if state.get("phase") != "Pending":
        steps.append(
            f"{state.get('phase')} {state.get('containers') if state.get('phase') == 'Failed' else ''}".strip()
        )
    return steps


def _job_steps(state: Obj) -> list[str]:
    conditions = state.get("conditions")
    steps = [f"{key} {value}" for key, value in conditions.items()] if isinstance(conditions, dict) else []
    steps += [f"phase {state['state']['phase']}"] if "state" in state else []
    steps += [
        f"{key} {state[key]}" for key in _COUNTERS if state.get(key) and not (key == "failed" and "state" in state)
    ]
    return steps


def _stem(seen: Seen) -> str:
    match seen.kind:
        case "PodGroup":
            return _UID.sub("", seen.name)
        case "Command":
            return _RANDOM.sub("", seen.name)
        case "Pod" if str(seen.fields.get("owner", "")).startswith("Job/") and "finalizers" in seen.fields:
            return _RANDOM.sub("", seen.name)
        case _:
            return seen.name
