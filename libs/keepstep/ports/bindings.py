"""Where the agent of a pod finds what it is to run: pods that a job controller made are given their tasks later."""

from typing import Protocol

from keepstep.contracts.topology import TaskLaunch


class Bindings(Protocol):
    """Which task each pod is, by the pod's uid; only the scheduler-adapter writes. Methods raise Transient."""

    async def bind(self, pod: str, launch: TaskLaunch) -> None:
        """Say that the pod is this task; an older word on it is replaced."""

    async def bound(self, pod: str) -> TaskLaunch | None:
        """Return what was said of a pod."""

    async def unbind(self, pod: str) -> None:
        """Forget a pod that is gone; absent is fine."""

    async def pods(self) -> frozenset[str]:
        """Return the uids of all pods that something was said of."""
