"""The names that injection writes, and the hints that people may write on a job for it."""

from keepstep.adapters.kube_objects import MARK_PREFIX

POLICY = f"{MARK_PREFIX}policy"
"""A policy as JSON."""
NPROC = f"{MARK_PREFIX}nproc"
"""Ranks per pod, where the manifest does not tell."""
CONTAINER = f"{MARK_PREFIX}container"
"""The container that trains, where a pod has several."""
ROLES = f"{MARK_PREFIX}roles"
"""The roles that train, by name and comma; the others' pods stay as they are."""
FRAMEWORK = f"{MARK_PREFIX}framework"
PRODUCT = f"{MARK_PREFIX}product"
RANK_TABLE = f"{MARK_PREFIX}rank-table"
"""Version of the rank table of MindSpore jobs."""
CHIP_MODE = f"{MARK_PREFIX}chip-mode"
CHECKPOINT_DIR = f"{MARK_PREFIX}checkpoint-dir"
RESUME_ARG = f"{MARK_PREFIX}resume-arg"

AGENT, INSTALL, VOLUME = "keepstep-agent", "keepstep-install", "keepstep"
TOKEN_VOLUME = "keepstep-token"  # noqa: S105 - the name of one
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
"""What kubectl logs and exec mean when nobody names a container."""

INJECT = f"{MARK_PREFIX}inject"
"""The label, ``true``, by which a job asks the webhook for keepstep."""
