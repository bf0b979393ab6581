"""The variables and arguments a rank starts with: torch's names, keepstep's, and the framework's own."""

from collections.abc import Mapping
from pathlib import Path

from keepstep.agent.frameworks import framework_environment
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.topology import TaskLaunch


def rank_environment(
    launch: TaskLaunch, head: PlanHead, entry: PlanEntry, *, local_rank: int, task_dir: Path
) -> dict[str, str]:
    """Return the variables of one rank; the launcher adds the job's own and its hooks."""
    index = str(launch.task.index)
    return {
        "RANK": str(entry.ranks[local_rank]),
        "LOCAL_RANK": str(local_rank),
        "WORLD_SIZE": str(head.world_size),
        "LOCAL_WORLD_SIZE": str(len(entry.ranks)),
        "NODE_RANK": index,
        "GROUP_RANK": index,
        "MASTER_ADDR": head.master_address,
        "MASTER_PORT": str(head.master_port),
        "KEEPSTEP_RESUME_STEP": "" if head.resume_step is None else str(head.resume_step),
        "KEEPSTEP_RESUME_PATH": head.resume_path or "",
        "KEEPSTEP_GENERATION": str(head.generation),
        "KEEPSTEP_TASK_DIR": str(task_dir),
        "KEEPSTEP_TASK_UID": entry.task,
        "KEEPSTEP_JOB": launch.job.name,
        "KEEPSTEP_NODE": entry.node,
        **framework_environment(launch, head, entry, local_rank=local_rank, task_dir=task_dir),
    }


def resume_arguments(template: str | None, head: PlanHead) -> list[str]:
    """Return the job's ``--resume-arg`` filled in, one argument; nothing without one or from scratch."""
    if template is None or head.resume_path is None or head.resume_step is None:
        return []
    return [_fill(template, {"path": head.resume_path, "step": str(head.resume_step)})]


def _fill(template: str, values: Mapping[str, str]) -> str:
    # Not str.format: a template may hold other braces, as in --config={"resume": "{path}"}.
    for name, value in values.items():
        template = template.replace("{" + name + "}", value)
    return template
