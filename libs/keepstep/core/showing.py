"""What of a job's specification, and of what is said, may be shown to whoever may read about the job."""

from keepstep.contracts.events import FoldRestated, JobAccepted, JobFound
from keepstep.contracts.message import Message
from keepstep.contracts.notification import Route
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.topology import JobSpec
from keepstep.core.masking import HIDDEN, masked


def shown(spec: JobSpec) -> JobSpec:
    """Return the specification as it may be shown: the address of a route often is a secret."""
    told = spec.policy.notification
    routes = tuple(_masked(route) for route in told.routes)
    policy = spec.policy.model_copy(update={"notification": told.model_copy(update={"routes": routes})})
    return spec.model_copy(update={"policy": policy})


def told(message: Message) -> Message:
    """Return the message as it may be shown: without secrets of rules, nor what a service restates for itself."""
    match message:
        case JobAccepted() | JobFound() | CreateJob():
            return message.model_copy(update={"spec": shown(message.spec)})
        case FoldRestated():
            return message.model_copy(update={"state": HIDDEN})
        case _:
            return message


def _masked(route: Route) -> Route:
    steps = tuple(step.model_copy(update={"sink": masked(step.sink)}) for step in route.escalate)
    return route.model_copy(update={"sink": masked(route.sink), "escalate": steps})
