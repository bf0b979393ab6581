"""Every write to a cluster as one structured line: who changed what is asked of logs, years later.

A line and not an event: PROTOCOL section 2 gives each stage its words, and a write is none of them. What was decided,
for which incident and why is in the stream; the line adds verb, path and answer, also of a try that lost a race.
"""

from typing import TYPE_CHECKING

from structlog.typing import FilteringBoundLogger

if TYPE_CHECKING:
    from keepstep.adapters.kube_client import Audit, Write


def audited(log: FilteringBoundLogger) -> "Audit":
    """Return the audit that tells ``log``."""

    def told(write: "Write") -> None:
        if write.refused:
            log.warning("cluster write refused", verb=write.verb, path=write.path, why=write.why, because=write.refused)
        else:
            log.info("cluster written", verb=write.verb, path=write.path, because=write.why)

    return told
