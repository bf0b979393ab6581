"""What a job object says to keepstep: that it is there, that it cannot be obeyed, or that it is over."""

from collections.abc import Sequence

from pydantic import ValidationError

from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_kinds import supports
from keepstep.adapters.kube_marks import ENDING, JOB_LABEL, REFUSED, SPEC
from keepstep.adapters.kube_objects import MARK_PREFIX
from keepstep.adapters.kube_view import JobPhase, JobView
from keepstep.contracts.events import Finish, LevelRefusal
from keepstep.contracts.ids import JobUid
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.ports.controllers import Finished, Found, Sighting, Suspended, Unfit

MOST_LABELS = 64
"""Of 126 characters each at most: they travel in every JobFound."""
MOST_TOLD = 20
"""Mistakes of one specification: an annotation has room for a hundred thousand, a message on the bus has not."""
SETTLED = frozenset({JobPhase.PENDING, JobPhase.RUNNING})
"""Phases in which the kind's rules speak of the job and not of the moment."""


def asked(source: JsonObject) -> bool:
    """Return whether the job asks for keepstep."""
    return SPEC in _notes(source)


def job_ref(view: JobView) -> JobRef:
    """Return the job as the contracts name it."""
    return JobRef(name=view.ref.name, uid=JobUid(view.ref.uid))


def sighted(source: JsonObject, view: JobView, seats: Sequence[str]) -> Sighting | None:
    """Return what is to be said of a job, None while it is restarting, ending or without its child objects.

    Its levels are read only while nothing is under way: a suspended job can do none, which says nothing of it.
    """
    job, kind = job_ref(view), view.words
    match view.phase:
        case JobPhase.SUCCEEDED:
            return Finished(job, kind, Finish.SUCCEEDED, f"{kind} succeeded by its own controller's word")
        case JobPhase.FAILED:
            return Finished(job, kind, Finish.FAILED, f"{kind} failed: {view.said or 'its controller gives no reason'}")
        case _ if view.deleting:
            return deleted(view)
        case _ if view.stopped:
            return Suspended(job, kind, _pause(source, view))
        case phase:
            return _found(source, view, seats) if phase in SETTLED and seats else None


def _pause(source: JsonObject, view: JobView) -> str:
    """Return that a job is down, by whom, and what makes it go on."""
    notes = _notes(source)
    if ENDING in notes:
        return f"{view.words} is put down by keepstep, which ended it: create it anew"
    if REFUSED in notes:
        return f"{view.words} is put down, as it could not be obeyed: put it right, then resume it"
    return view.pause


def _found(source: JsonObject, view: JobView, seats: Sequence[str]) -> Found | Unfit:
    job, kind = job_ref(view), view.words
    spec, wrong = _spec_of(source, view, seats)
    if spec is None:
        return Unfit(job, kind, f"{kind}: {wrong}")
    known = supports(view)
    refusals = (LevelRefusal(level=one.level, because=one.because, remedy=one.remedy) for one in known.refusals)
    resumed = ENDING in _notes(source)
    return Found(job, kind, spec, known.levels, tuple(refusals), resumed=resumed, labels=_labels(source))


def deleted(view: JobView) -> Finished:
    """Return what is said of a job whose object is deleted or on its way out."""
    return Finished(job_ref(view), view.words, Finish.DELETED, f"{view.words} was deleted")


def _spec_of(source: JsonObject, view: JobView, seats: Sequence[str]) -> tuple[JobSpec | None, str]:
    """Return the specification, or None and what is wrong with it."""
    try:
        spec = JobSpec.model_validate_json(_notes(source)[SPEC])
    except ValidationError as error:
        return None, f"annotation {SPEC}: {_mistakes(error)}; inject the job again"
    if spec.nodes != len(seats):
        because = f"annotation {SPEC} says nodes {spec.nodes}, {len(seats)} of its pods carry label {JOB_LABEL}"
        return None, f"{because}: make both the same"
    name = text(source, "metadata", "labels", JOB_LABEL)
    if name != view.ref.name:
        return None, f"label {JOB_LABEL} is {name!r}: set it to {view.ref.name}, the job's name"
    return spec, ""


def _mistakes(error: ValidationError) -> str:
    """Return every mistake with its field; of more than anybody reads the first, and how many more there are."""
    told = [f"{'.'.join(map(str, one['loc'])) or 'the JSON'}: {one['msg']}" for one in error.errors(include_url=False)]
    more = [f"{len(told) - MOST_TOLD} more"] if len(told) > MOST_TOLD else []
    return "; ".join((*told[:MOST_TOLD], *more))


def _labels(source: JsonObject) -> dict[str, str]:
    """Return people's own labels, the first of them by name: rules of notifications match by a few."""
    theirs = sorted((name, value) for name, value in _table(source, "labels").items() if MARK_PREFIX not in name)
    return dict(theirs[:MOST_LABELS])


def _notes(source: JsonObject) -> dict[str, str]:
    return _table(source, "annotations")


def _table(source: JsonObject, name: str) -> dict[str, str]:
    metadata = source.get("metadata")
    found = metadata.get(name) if isinstance(metadata, dict) else None
    return {key: str(said) for key, said in found.items()} if isinstance(found, dict) else {}
