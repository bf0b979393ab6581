"""The names that keepstep writes on job objects and pods: one list for whoever injects, binds and restarts."""

from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_objects import MARK_PREFIX

JOB_LABEL = f"{MARK_PREFIX}job"
"""On the job object and its pod templates: the job's name. By it the pods are listed and watched."""
SPEC = f"{MARK_PREFIX}spec"
"""On the job object: the specification as JSON. It makes the job keepstep's."""
TASK = f"{MARK_PREFIX}task"
"""On a pod: the uid of the task that it is bound to."""
TASK_INDEX = f"{MARK_PREFIX}task-index"
TASK_JOB = f"{MARK_PREFIX}task-job"
"""On a bound pod: its task's index and its job's uid, so that a pod tells whose it was when its owners are gone."""
RESTART = f"{MARK_PREFIX}restart"
"""On the job object: the restart that was begun last and how far it is."""
ENDING = f"{MARK_PREFIX}ending"
"""On the job object: when keepstep put it down last. One that runs all the same was resumed by somebody."""
REFUSED = f"{MARK_PREFIX}refused"
"""On the job object: when keepstep put it down because it could not be obeyed; it begins once it is put right."""
ORDER = f"{MARK_PREFIX}order"
"""On the job object: the id of the order that it was made by, so that an order which is told again makes no second."""
AUDIENCE = "keepstep-bus"
"""What agents' tokens are made for: at the API server, or anywhere else, they are good for nothing."""


def labelled(template: JsonObject) -> bool:
    """Return whether pods of this template are keepstep's."""
    return bool(text(template, "metadata", "labels", JOB_LABEL))
