"""What ranks of each framework are told of their place, beside torch's variables, which all of them have."""

import json
from pathlib import Path
from typing import assert_never

from keepstep.agent.rank_table import FILE
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Framework
from keepstep.contracts.topology import TaskLaunch


def framework_environment(
    launch: TaskLaunch, head: PlanHead, entry: PlanEntry, *, local_rank: int, task_dir: Path
) -> dict[str, str]:
    """Return the framework's own variables of one rank."""
    match launch.spec.framework:
        case Framework.PYTORCH:
            return {}
        case Framework.TENSORFLOW:
            return {"TF_CONFIG": _tf_config(head, launch.task.index)}
        case Framework.MINDSPORE:
            return _mindspore(launch, head, entry, local_rank=local_rank, task_dir=task_dir)
        case other:
            assert_never(other)


def _tf_config(head: PlanHead, index: int) -> str:
    """Return TF_CONFIG of a multi-worker strategy: one worker per task, which takes all of its devices."""
    workers = [f"{peer.address}:{peer.port}" for peer in head.peers]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}})


def _mindspore(
    launch: TaskLaunch, head: PlanHead, entry: PlanEntry, *, local_rank: int, task_dir: Path
) -> dict[str, str]:
    """Return what MindSpore and HCCL read: rank, size, device, and where the rank table lies."""
    peer = head.peers[launch.task.index] if launch.task.index < len(head.peers) else None
    devices = () if peer is None else peer.devices
    device = devices[local_rank].id if local_rank < len(devices) else str(local_rank)
    return {
        "RANK_ID": str(entry.ranks[local_rank]),
        "RANK_SIZE": str(head.world_size),
        "DEVICE_ID": device,
        "RANK_TABLE_FILE": str(task_dir / FILE),
    }
