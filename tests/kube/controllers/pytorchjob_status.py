"""The status that one pass over a PyTorchJob writes, as the training operator judges it by the counts of its pods."""

from collections.abc import Mapping

from ..server.objects import Obj, instant
from .cluster import Cluster
from .pytorchjob_conditions import put_condition
from .pytorchjob_objects import OPERATOR


class Status:
    """A job's status, and what is told of it."""

    def __init__(self, cluster: Cluster, job: Obj, roles: Mapping[str, Obj]) -> None:
        self._cluster = cluster
        self._job = job
        self._roles = roles
        self._now = cluster.now()
        self._status = job.setdefault("status", {})

    @property
    def _name(self) -> str:
        name: str = self._job["metadata"]["name"]
        return name

    def _judge(self, counts: Obj) -> None:
        """Conditions: the master, or the workers without one, decide Running and Succeeded."""
        for role, replica in self._roles.items():
            wanted, count = replica.get("replicas", 1), counts[role]
            active, done, failed = (count.get(key, 0) for key in ("active", "succeeded", "failed"))
            leads = role == "Master" or "Master" not in counts
            if leads and active:
                self._set("Running", "True", "PyTorchJobRunning", f"PyTorchJob {self._name} is running.")
            if leads and done == wanted:
                self._status.setdefault("completionTime", instant(self._now))
                told = f"PyTorchJob {self._name} is successfully completed."
                self._set("Succeeded", "True", "PyTorchJobSucceeded", told)
            if failed and wanted > done + active:
                if replica.get("restartPolicy") == "Never" or "restartPolicy" not in replica:
                    self._fail(f"PyTorchJob {self._name} is failed because {failed} {role} replica(s) failed.")
                else:
                    told = f"PyTorchJob {self._name} is restarting because {failed} {role} replica(s) failed."
                    self._cluster.tell(self._job, "PyTorchJobRestarting", told, source=OPERATOR, warning=True)
                    self._set("Restarting", "True", "PyTorchJobRestarting", told)

    def _fail(self, told: str) -> None:
        self._cluster.tell(self._job, "PyTorchJobFailed", told, source=OPERATOR)
        self._status.setdefault("completionTime", instant(self._now))
        self._set("Failed", "True", "PyTorchJobFailed", told)

    def _set(self, kind: str, status: str, reason: str, message: str) -> None:
        put_condition(self._status, kind, status, reason=reason, message=message, now=self._now)
