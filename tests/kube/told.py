"""What the agents of pods were told, in memory."""

from keepstep.contracts.topology import TaskLaunch


class Told:
    """What the agents of pods were told, in memory."""

    def __init__(self) -> None:
        self.known: dict[str, TaskLaunch] = {}
        self.words = 0

    async def bind(self, pod: str, launch: TaskLaunch) -> None:
        self.known[pod] = launch
        self.words += 1

    async def bound(self, pod: str) -> TaskLaunch | None:
        return self.known.get(pod)

    async def unbind(self, pod: str) -> None:
        self.known.pop(pod, None)

    async def pods(self) -> frozenset[str]:
        return frozenset(self.known)
