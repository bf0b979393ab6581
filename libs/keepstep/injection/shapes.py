"""The shapes of all job kinds; a sixth is a file like theirs and a row here."""

from collections.abc import Mapping

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.injection import shape_job, shape_jobset, shape_pytorchjob, shape_trainjob, shape_volcano
from keepstep.injection.shape import Shape

SHAPES: Mapping[JobKind, Shape] = {
    module.SHAPE.kind.name: module.SHAPE
    for module in (shape_volcano, shape_pytorchjob, shape_trainjob, shape_jobset, shape_job)
}
