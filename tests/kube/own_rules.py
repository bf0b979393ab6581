"""What jobs may say of their own restarts, as parts of their manifests: what the rules of kinds look at."""

from typing import Any

EXIT_CODE = {"pytorchReplicaSpecs": {"Master": {"restartPolicy": "ExitCode"}, "Worker": {"restartPolicy": "ExitCode"}}}
ON_FAILURE = {
    "pytorchReplicaSpecs": {"Master": {"restartPolicy": "OnFailure"}, "Worker": {"restartPolicy": "OnFailure"}}
}
KUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "team-a"}}
FAIL_ON_TERM = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [143]}}]}
FAIL_NOT_IN = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1, 2]}}]}
FREE_EVICTION = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}


def on(event: str, action: str) -> dict[str, Any]:
    return {"event": event, "action": action}


def policies(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"policies": list(entries)}


def tasks(**own: Any) -> dict[str, Any]:
    """Return spec.tasks with policies of their own."""
    return {"tasks": [{"name": n, "replicas": r, **own.get(n, {})} for n, r in (("master", 1), ("worker", 3))]}


RESTART = on("PodEvicted", "RestartJob")
ELSEWHERE = {"managedBy": "kueue.x-k8s.io/multikueue"}
