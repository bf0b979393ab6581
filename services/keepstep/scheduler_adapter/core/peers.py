"""Who the other tasks are, for frameworks whose ranks are not told of each other by a master."""

from keepstep.contracts.orders import Peer
from keepstep.contracts.taxonomy import Framework
from keepstep.scheduler_adapter.core.state import JobState


def peers(state: JobState) -> tuple[Peer, ...]:
    """Return all tasks by index; none for PyTorch, whose plan stays small at any size.

    The port is a task's last offer: the first is the master's where it holds rank 0.
    """
    if state.specified().framework is Framework.PYTORCH:
        return ()
    tasks = sorted(state.tasks.values(), key=lambda task: task.ref.index)
    return tuple(
        Peer(address=task.address, port=task.ports[-1] if task.ports else 0, devices=task.devices) for task in tasks
    )
