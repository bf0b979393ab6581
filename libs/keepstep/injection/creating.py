"""A job from what people ask for: which kind it becomes, and whether an API server would take its names."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject
from keepstep.asking.labels import check_labels
from keepstep.asking.namespaces import check_namespace
from keepstep.asking.refused import Refused
from keepstep.injection.making import Wanted
from keepstep.injection.shape import NEVER
from keepstep.injection.shapes import SHAPES

PREFERRED = (JobKind.VOLCANO, JobKind.JOBSET, JobKind.PYTORCHJOB, JobKind.JOB)
"""What a job is made as where nobody says: gangs first, then what lets a single pod be replaced. A TrainJob needs a
runtime, so it has to be asked for."""


def kind_for(asked: JobKind | None, there: frozenset[JobKind]) -> JobKind:
    """Return the kind to make; raises Refused for one that the cluster has not."""
    if asked is None:
        return next((kind for kind in PREFERRED if kind in there), JobKind.JOB)
    if asked not in there:
        raise Refused(f"--kind {asked}: the cluster has none; it has {', '.join(sorted(there))}")
    return asked


def made(wanted: Wanted, kind: JobKind) -> JsonObject:
    """Return the manifest of a plain job of this kind; raises Refused for what no server takes, or not this kind."""
    check_namespace(wanted.namespace)
    check_labels(wanted.labels)
    _check_kind(wanted, kind)
    return SHAPES[kind].make(wanted)


def name_of(argv: Sequence[str]) -> str:
    """Return a job's name drawn from what it runs: the last word's file, as ``train`` of ``python train.py``."""
    stem = PurePosixPath(argv[-1] if argv else "").stem
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:40].strip("-") or "job"


def _check_kind(wanted: Wanted, kind: JobKind) -> None:
    """Refuse what the kind has no place for."""
    if SHAPES[kind].by_runtime and wanted.volumes:
        raise Refused(f"--kind {kind}: its volumes stand in its runtime; leave out --ds-* and Python --script-file")
    if wanted.restart != NEVER and SHAPES[kind].policies.accepted == (NEVER,):
        others = " or ".join(one for one, shape in SHAPES.items() if shape.policies.accepted != (NEVER,))
        raise Refused(f"--restart-policy {wanted.restart}: only a {others} has it; the other kinds take {NEVER}")
