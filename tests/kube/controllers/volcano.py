"""The Volcano job controller: Commands, and each job's requests worked off in order.

Rules from volcano pkg/controllers/job/{job_controller.go,job_controller_actions.go}. Not here: partitions, task
dependencies, policy timeouts, plugins other than env and svc.
"""

from collections.abc import Iterable
from datetime import timedelta

from ..server import kinds
from ..server.errors import ApiError
from ..server.objects import Obj
from ..server.store import EventType
from .cluster import Change, Cluster
from .loop import Key, Steps
from .pods import condition, holds, terminating
from .volcano_pass import SOURCE, VolcanoPass
from .volcano_request import Action, Request, decide, of_pod
from .volcano_state import Phase, plan

_SOON = timedelta(milliseconds=2)


class VolcanoController:
    """Keys are namespace/name of jobs, with a leading ``!`` of Commands, with ``?`` of pod groups in want of room."""

    pace = 1.0

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._requests: dict[str, list[Request]] = {}
        self._taken: set[str] = set()

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Jobs whose spec or phase changed, their pods and pod groups, Commands."""
        meta = change.object["metadata"]
        if change.kind is kinds.VOLCANO_COMMAND:
            yield from self._of_command(change)
        elif change.kind is kinds.VOLCANO_JOB:
            if change.type is not EventType.DELETED and _job_changed(change):
                yield self._ask(meta["namespace"], meta["name"], Request())
        elif change.kind is kinds.POD:
            owner, request = _volcano_owner(change.object), of_pod(change)
            if owner is not None and request is not None:
                yield self._ask(meta["namespace"], owner["name"], request)
        elif change.kind is kinds.POD_GROUP and change.type is EventType.MODIFIED:
            yield from self._of_group(change)

    def _of_command(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        command = change.object
        meta = command["metadata"]
        if change.type is EventType.ADDED:
            yield Key(f"!{meta['namespace']}/{meta['name']}"), _SOON
        elif change.type is EventType.DELETED and meta["uid"] in self._taken:
            self._taken.remove(meta["uid"])
            word = command.get("action", "")
            action = Action(word) if word in set(Action) else Action.SYNC
            yield self._ask(meta["namespace"], command["target"]["name"], Request("CommandIssued", action))

    def _of_group(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        group, meta = change.object, change.object["metadata"]
        owner = _volcano_owner(group)
        if owner is None:
            return
        if holds(group, "Unschedulable"):
            yield Key(f"?{meta['namespace']}/{meta['name']}"), _SOON
        before = {} if change.was is None else change.was.get("status", {})
        now = group.get("status", {}).get("phase")
        if before.get("phase") != now:
            yield self._ask(meta["namespace"], owner["name"], Request("Unknown" if now == "Unknown" else "OutOfSync"))

    def sync(self, key: Key) -> Steps:
        """Turn a Command into a request, or work off a job's requests one by one."""
        if key.startswith("!"):
            return self._take_command(key[1:])
        if key.startswith("?"):
            return self._tell_of_group(key[1:])
        return self._work_off(key)

    def _ask(self, namespace: str, name: str, request: Request) -> tuple[Key, timedelta]:
        key = Key(f"{namespace}/{name}")
        waiting = self._requests.setdefault(key, [])
        if request not in waiting:
            waiting.append(request)
        return key, _SOON

    def _take_command(self, key: str) -> Steps:
        """Delete it; its end is what asks for the action: at most once, by name only."""
        command = self._cluster.at(kinds.VOLCANO_COMMAND, key)
        if command is None:
            return None
        job = self._cluster.find(kinds.VOLCANO_JOB, command["metadata"]["namespace"], command["target"]["name"])
        if job is not None:
            did = f"execute command {command.get('action', '')}"
            told = f"Start to {did}, and clean it up to make sure executed not more than once."
            self._cluster.tell(job, "CommandIssued", told, source=SOURCE)
        self._taken.add(command["metadata"]["uid"])
        self._cluster.delete(kinds.VOLCANO_COMMAND, command)
        return None
        yield

    def _tell_of_group(self, key: str) -> Steps:
        group = self._cluster.at(kinds.POD_GROUP, key)
        owner = None if group is None else _volcano_owner(group)
        why = None if group is None else condition(group, "Unschedulable")
        if owner is None or why is None:
            return None
        namespace = key.split("/", maxsplit=1)[0]
        job = self._cluster.find(kinds.VOLCANO_JOB, namespace, owner["name"])
        if job is not None:
            told = f"PodGroup {namespace}:{owner['name']} unschedulable, reason: {why['message']}"
            self._cluster.tell(job, "PodGroupPending", told, source=SOURCE, warning=True)
        return None
        yield

    def _work_off(self, key: Key) -> Steps:
        waiting = self._requests.setdefault(key, [])
        while waiting:
            request = waiting.pop(0)
            job = self._cluster.at(kinds.VOLCANO_JOB, key)
            if job is None or terminating(job):
                continue
            action = decide(job, request)
            here = Phase(job.get("status", {}).get("state", {}).get("phase") or Phase.PENDING)
            try:
                yield from VolcanoPass(self._cluster, job).carry_out(plan(here, action), request, action)
            except ApiError:
                waiting.insert(0, request)
                raise
        return None


def _job_changed(change: Change) -> bool:
    if change.was is None:
        return True
    phases = [obj.get("status", {}).get("state", {}).get("phase") for obj in (change.was, change.object)]
    return bool(change.was["spec"] != change.object["spec"] or phases[0] != phases[1])


def _volcano_owner(obj: Obj) -> Obj | None:
    for ref in obj["metadata"].get("ownerReferences") or ():
        if ref["kind"] == "Job" and ref["apiVersion"] == kinds.VOLCANO_JOB.api_version and ref.get("controller"):
            found: Obj = ref
            return found
    return None
