"""A restart that was begun, as it is written on the job object: a successor reads it and goes on at the same step.

Uids of pods are kept as twelve hex digits of their hash: the annotations of one object must stay under 256 KiB, also
for a gang of ten thousand.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, assert_never

from keepstep.adapters.kube_marks import RESTART
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid, PodUid
from keepstep.adapters.kube_plan import (
    Apply,
    Await,
    Awaited,
    Cost,
    Create,
    Delete,
    Evict,
    Expected,
    Patch,
    Propagation,
    RestartPlan,
    Step,
    Verb,
)
from keepstep.adapters.kube_pod import Pod
from keepstep.contracts.ids import NodeName, derive
from keepstep.contracts.taxonomy import Level
from keepstep.core.json_text import parsed

DIGITS = 12
"""Of 10,000 old and as many new pods two share them once in three million restarts."""
LARGEST = 200_000
"""Bytes; the rest of the annotations' 256 KiB is for the specification and for other people's."""


@dataclass(frozen=True, slots=True)
class Record:
    """One restart and how far it is: ``step`` is the next to be done; ``since`` is when the last write was due."""

    order: str
    key: str
    plan: RestartPlan
    step: int
    since: datetime
    before: frozenset[str] = field(default_factory=frozenset)
    """Short digests of the pods it found."""
    leaving: frozenset[str] = field(default_factory=frozenset)
    """Of those of them whose absence proves nothing."""
    overruled: bool = False
    """Somebody resumed the job once while it was held down, and it was suspended again."""
    yielded: bool = False
    """Somebody suspended the job before this restart did, which waits until he resumes it."""

    @property
    def written(self) -> bool:
        """Whether all its steps are done; what comes of them is to be observed."""
        return self.step >= len(self.plan.steps)

    def after(self, step: int, now: datetime) -> "Record":
        """Return the record with this step as the next."""
        return replace(self, step=step, since=now)

    def seen_with(self, pods: Iterable[Pod]) -> RestartPlan:
        """Return the plan with the uids of the pods it found, as far as they are still there."""
        there = {short(pod.uid): pod.uid for pod in pods}
        before = frozenset(there.get(digits, PodUid(ObjectUid(digits))) for digits in self.before)
        leaving = frozenset(there.get(digits, PodUid(ObjectUid(digits))) for digits in self.leaving)
        kept = frozenset(uid for uid in there.values() if short(uid) in self.plan.expected.kept)
        return replace(self.plan, before=before, leaving=leaving, expected=replace(self.plan.expected, kept=kept))


def short(uid: str) -> str:
    """Return the digits under which a pod's uid is kept."""
    return derive(uid)[:DIGITS]


def begun(order: str, key: str, plan: RestartPlan, now: datetime) -> Record:
    """Return the record of a restart of which nothing is done yet."""
    kept = frozenset(PodUid(ObjectUid(short(uid))) for uid in plan.expected.kept)
    slim = replace(plan, before=frozenset(), leaving=frozenset(), expected=replace(plan.expected, kept=kept))
    return Record(order, key, slim, 0, now, frozenset(map(short, plan.before)), frozenset(map(short, plan.leaving)))


def note(record: Record) -> Mapping[str, Any]:
    """Return the merge patch that writes the record on the job."""
    return {"metadata": {"annotations": {RESTART: written(record)}}}


def written(record: Record) -> str:
    """Return the record as the annotation holds it."""
    plan, expected = record.plan, record.plan.expected
    return json.dumps(
        {
            "order": record.order,
            "key": record.key,
            "level": plan.level,
            "verb": plan.verb,
            "step": record.step,
            **({"overruled": True} if record.overruled else {}),
            **({"yielded": True} if record.yielded else {}),
            "since": record.since.isoformat(),
            "because": plan.because,
            "counter": plan.counter,
            "pods": expected.pods,
            "off": sorted(expected.off),
            "round": expected.round_above,
            "before": "".join(sorted(record.before - record.leaving)),
            "leaving": "".join(sorted(record.leaving)),
            "kept": "".join(sorted(expected.kept)),
            "steps": [_said(step) for step in plan.steps],
        },
        separators=(",", ":"),
    )


class Unreadable(ValueError):
    """Something stands where the record belongs, and it is none: whether a restart is under way cannot be told."""


def read(text: str, job: ObjectRef) -> Record | None:
    """Return the record that stands on a job, None for none. Raises Unreadable for what is not a record."""
    if not text:
        return None
    try:
        found = parsed(text)
        expected = Expected(
            pods=found["pods"],
            kept=frozenset(PodUid(ObjectUid(one)) for one in _digests(found["kept"])),
            off=frozenset(map(NodeName, found["off"])),
            round_above=found["round"],
        )
        plan = RestartPlan(
            level=Level(found["level"]),
            verb=Verb(found["verb"]),
            job=job,
            steps=tuple(_step(one, job) for one in found["steps"]),
            cost=Cost(),
            expected=expected,
            because=found["because"],
            counter=found["counter"],
        )
        since = datetime.fromisoformat(found["since"])
        leaving = frozenset(_digests(found.get("leaving", "")))
        before = frozenset(_digests(found["before"])) | leaving
        flags = (bool(found.get("overruled")), bool(found.get("yielded")))
        return Record(found["order"], found["key"], plan, found["step"], since, before, leaving, *flags)
    except (ValueError, KeyError, TypeError) as garbled:
        raise Unreadable(f"annotation {RESTART} of {job} is no record of a restart: {garbled!r}") from garbled


def _digests(text: str) -> Sequence[str]:
    return [text[at : at + DIGITS] for at in range(0, len(text), DIGITS)]


def _said(step: Step) -> dict[str, Any]:
    match step:
        case Patch(body=body, why=why):
            return {"do": "patch", "body": body, "why": why}
        case Apply(body=body, why=why):
            return {"do": "apply", "body": body, "why": why}
        case Create(body=body, why=why):
            return {"do": "create", "body": body, "why": why}
        case Delete(target=target, why=why, force=force, propagation=propagation):
            said = {"do": "delete", "kind": target.kind, "name": target.name, "uid": target.uid, "why": why}
            return said | ({"force": True} if force else {}) | ({"how": propagation} if propagation else {})
        case Evict(target=target, why=why):
            return {"do": "evict", "name": target.name, "uid": target.uid, "why": why}
        case Await(what=what, why=why):
            return {"do": "await", "what": what, "why": why}
        case other:
            assert_never(other)


_APIS: Mapping[str, str] = {"Pod": "v1", "Job": "batch/v1"}
"""What restarts delete; the job object itself never."""


def _step(said: Mapping[str, Any], job: ObjectRef) -> Step:
    why = said["why"]
    match said["do"]:
        case "patch":
            return Patch(job, said["body"], why)
        case "apply":
            return Apply(job, said["body"], why)
        case "create":
            return Create(job.namespace, said["body"], why)
        case "delete":
            how = Propagation(said["how"]) if "how" in said else None
            return Delete(_target(said, said["kind"], job), why, force=said.get("force", False), propagation=how)
        case "evict":
            return Evict(_target(said, "Pod", job), why)
        case "await":
            return Await(Awaited(said["what"]), why)
        case unknown:
            raise ValueError(f"no step is called {unknown!r}")


def _target(said: Mapping[str, Any], kind: str, job: ObjectRef) -> ObjectRef:
    return ObjectRef(_APIS[kind], kind, job.namespace, said["name"], ObjectUid(said["uid"]))
