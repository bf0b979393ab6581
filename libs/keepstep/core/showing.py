"""What of a job's specification may be shown to whoever may read about the job."""

from keepstep.contracts.notification import Route
from keepstep.contracts.topology import JobSpec
from keepstep.core.masking import masked


def shown(spec: JobSpec) -> JobSpec:
    """Return the specification as it may be shown: the address of a route often is a secret."""
    told = spec.policy.notification
    routes = tuple(_masked(route) for route in told.routes)
    policy = spec.policy.model_copy(update={"notification": told.model_copy(update={"routes": routes})})
    return spec.model_copy(update={"policy": policy})


def _masked(route: Route) -> Route:
    steps = tuple(step.model_copy(update={"sink": masked(step.sink)}) for step in route.escalate)
    return route.model_copy(update={"sink": masked(route.sink), "escalate": steps})
