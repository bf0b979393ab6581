"""Volcano Job: its policies decide what a deleted pod means; each restart costs a retry that never comes back."""

from collections.abc import Iterator

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, number, rows, table, text
from keepstep.adapters.kube_kind import Kind
from keepstep.adapters.kube_marks import labelled
from keepstep.adapters.kube_objects import ObjectRef
from keepstep.adapters.kube_plan import Cost, Create, RestartPlan, Scene, Verb
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_resources import COMMANDS, Resource
from keepstep.adapters.kube_steps import after, removals, replace_pods, restart_all
from keepstep.adapters.kube_view import WATCH_INSTEAD, JobPhase, Refusal, Row
from keepstep.adapters.kube_volcano_view import ACTIONS, Means, VolcanoView, view_of
from keepstep.adapters.kube_way import Way
from keepstep.contracts.taxonomy import Level

_RECREATE = "create the job anew; maxRetry of a live job cannot be raised (the webhook answers 400)"

ROWS: tuple[Row[VolcanoView], ...] = (
    Row(
        frozenset({Level.POD, Level.JOB}),
        lambda view: view.phase is JobPhase.RESTARTING,
        "{v.words} is Restarting; another command would kill the pods made since",
        WATCH_INSTEAD,
    ),
    Row(
        frozenset({Level.IN_PLACE, Level.POD, Level.JOB}),
        lambda view: view.phase is JobPhase.ABORTED,
        "{v.words} was aborted by somebody; only ResumeJob starts it, and it costs a retry",
        "resume it with vcctl job resume",
    ),
    Row(
        frozenset({Level.IN_PLACE, Level.POD, Level.JOB}),
        lambda view: view.phase is JobPhase.ENDING,
        "{v.words} is ending: {v.said}",
        "create the job anew",
    ),
    Row(
        frozenset({Level.JOB}),
        lambda view: view.left == 0 and not view.quiet,
        "{v.words} has retryCount {v.counter} of maxRetry {v.max_retry}: the next restart ends it",
        _RECREATE,
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: not view.meanings & {Means.POD, Means.POD_FOR_RETRY},
        "policies of {v.words} widen the deletion of any pod beyond that pod",
        "take level job, or leave PodEvicted and PodFailed without a policy",
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: view.left == 0 and Means.POD not in view.meanings,
        "policy RestartPod of {v.words} costs a retry and retryCount is {v.counter} of maxRetry {v.max_retry}",
        _RECREATE,
    ),
)


def _replace(view: VolcanoView, scene: Scene) -> RestartPlan | Refusal:
    meanings = {pod.name: view.means(pod.seat.rpartition("-")[0]) for pod in scene.lost}
    wide = {name: means for name, means in meanings.items() if means not in (Means.POD, Means.POD_FOR_RETRY)}
    if wide:
        name, means = next(iter(wide.items()))
        return Refusal(
            Level.POD, f"deleting {name} restarts or ends the {means}: the job's own policy says so", "take level job"
        )
    retries = sum(means is Means.POD_FOR_RETRY for means in meanings.values())
    if retries > view.left:
        return Refusal(
            Level.POD,
            f"policy RestartPod takes {retries} of maxRetry {view.max_retry}, retryCount is {view.counter}",
            _RECREATE,
        )
    return replace_pods(view, scene, cost=_cost(view, retries), ended=True)


def _restart(view: VolcanoView, scene: Scene) -> RestartPlan:
    ground, newest = scene.ground, max((pod.round for pod in scene.pods), default=0)
    clear = removals(scene.hanging, ground, "Restarting ends only when total - terminating reaches minAvailable")
    if view.left <= 1 and view.quiet:
        return restart_all(
            view,
            scene,
            verb=Verb.DELETE_PODS,
            steps=removals(scene.pods, ground, "no policy is hit: every pod is made again under its name"),
            cost=_cost(view, 0),
            because=f"delete all pods, because retryCount {view.counter} of maxRetry {view.max_retry} leaves"
            f" {view.left} restart{'' if view.left == 1 else 's'}",
        )
    going = _restarts_by_itself(view, scene)
    if going is not None:
        because = f"its own policy restarts it when pod {going.name} is gone; a command would kill the new pods again"
        own = restart_all(view, scene, verb=Verb.DELETE_PODS, steps=clear, cost=_cost(view, 1), because=because)
        return after(own, newest)
    command = Create(view.ref.namespace, command_of(view.ref, "RestartJob"), "the controller restarts all pods at once")
    plan = restart_all(
        view,
        scene,
        verb=Verb.COMMAND,
        steps=(*clear, command),
        cost=_cost(view, 1),
        because="Command RestartJob" + ("; the last restart but this ends the job" if view.left == 1 else ""),
    )
    return after(plan, newest)


def _restarts_by_itself(view: VolcanoView, scene: Scene) -> Pod | None:
    """Return the pod on its way out whose end makes the job's own policy restart the job, None when there is none."""
    going = [*(pod for pod in scene.pods if pod.deleted is not None), *scene.hanging]
    return next((pod for pod in going if view.means(pod.seat.rpartition("-")[0]) is Means.JOB), None)


def _cost(view: VolcanoView, retries: int) -> Cost:
    return Cost(retries, "maxRetry", view.counter, view.max_retry)


def command_of(job: ObjectRef, action: str) -> JsonObject:
    """Return the Command object, as Volcano's own command line makes it.

    The controller deletes it first and acts then, by namespace and name alone: it may be lost, and it hits a job made
    anew under the name. So the uid is read before and after, and the effect is observed.
    """
    target = {"apiVersion": job.api, "kind": job.kind, "name": job.name, "uid": job.uid, "controller": True}
    return {
        "apiVersion": COMMANDS.api,
        "kind": COMMANDS.kind,
        "metadata": {
            "generateName": f"{job.name}-{action.lower()}-",
            "namespace": job.namespace,
            "ownerReferences": [target],
        },
        "target": target,
        "action": action,
    }


def _seats(source: JsonObject) -> Iterator[str]:
    for task in rows(source, "spec", "tasks"):
        if labelled(table(task, "template")):
            yield from (f"{text(task, 'name')}-{index}" for index in range(number(task, "replicas", default=1)))


def _starts_again(view: VolcanoView) -> bool:
    policies = (*view.policies, *(policy for task in view.tasks for policy in task.policies))
    return any(one.hit and ACTIONS.get(one.action, Means.END) is not Means.END for one in policies)


VOLCANO = Kind(
    name=JobKind.VOLCANO,
    resource=Resource("batch.volcano.sh/v1alpha1", "jobs", "Job"),
    leaves_dead=True,
    seats=lambda source, _: tuple(_seats(source)),
    rules=Way[VolcanoView](
        viewed=VolcanoView,
        read=lambda source, _: view_of(source),
        rows=ROWS,
        replace=_replace,
        restart=_restart,
        again=_starts_again,
        down=lambda view, why: Create(view.ref.namespace, command_of(view.ref, "AbortJob"), why),
    ),
)
