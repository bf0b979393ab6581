"""Which incidents share one cause: a node under several jobs, one storage server, one network (PROTOCOL section 1).

The isolator alone hears the verdicts on all jobs in one fold and in one order. So a group has no edges in time: it
begins with the first verdict that names the cause and takes in each that comes within the window of the last one.
"""

import re
from datetime import timedelta

from keepstep.contracts.events import FaultDiagnosed
from keepstep.contracts.ids import derive
from keepstep.contracts.taxonomy import Category
from keepstep.isolator.core.state import Cause, Isolations, Shared

WINDOW = timedelta(minutes=10)
"""As long as torch lets a collective wait: by then the last victim of one cause has shown."""
CAUSES = 256
"""Causes remembered, the newest last."""
INCIDENTS = 512
"""Incidents of one group told apart from each other; so many jobs are counted right."""
OF_NODE = frozenset(
    {Category.NODE_HARDWARE, Category.DEVICE_HARDWARE, Category.DEVICE_DRIVER, Category.OOM_HOST, Category.NETWORK}
)
"""What hurts every job on the node at fault."""
_MOUNT = re.compile(
    r"(?<![\w./-])/(?!tmp/|var/|dev/|run/|proc/|root/|home/|opt/|usr/)(?:(?:mnt|media|net|nfs|srv|export)/)?[\w.-]+(?=/)"
)
"""Where a path's file system is mounted, as people mount; folders that every node has its own of are not shared."""


def cause_of(message: FaultDiagnosed) -> str | None:
    """Return the cause that other jobs may share, in words, or None for one that is the job's own."""
    verdict = message.verdict
    node = None if verdict.culprit is None else verdict.culprit.node or message.node
    if verdict.category in OF_NODE and node is not None:
        return f"node {node}"
    match verdict.category:
        case Category.STORAGE if verdict.bad_checkpoint is None:
            mount = _MOUNT.search(verdict.signature)
            return None if mount is None else f"storage {mount[0]}"
        case Category.NETWORK:
            return "the network"
        case _:
            return None


def grouped(fold: Isolations, message: FaultDiagnosed) -> tuple[Isolations, Shared | None]:
    """Return the fold that remembers the verdict's cause, and what its incident shares with earlier ones."""
    words, incident = cause_of(message), message.incident
    if words is None or incident is None:
        return fold, None
    lasting = {name: one for name, one in fold.causes.items() if message.time - one.last <= WINDOW}
    known = lasting.pop(words, None) or Cause(group=derive("group", words, incident), last=message.time)
    if incident not in known.incidents:
        known = known.model_copy(update={"incidents": (*known.incidents, incident)[-INCIDENTS:]})
    known = known.model_copy(update={"last": max(known.last, message.time)})
    causes = dict([*lasting.items(), (words, known)][-CAUSES:])
    shared = Shared(group=known.group, incidents=len(known.incidents), cause=words)
    return fold.model_copy(update={"causes": causes}), shared
