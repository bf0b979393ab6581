"""Pieces that sentences have in common: counts, ends of processes, who is to blame."""

from collections.abc import Mapping

from keepstep.contracts.ids import TaskUid
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Culprit

NO_NAMES: Mapping[TaskUid, str] = {}
_SIGNALS = {1: "SIGHUP", 2: "SIGINT", 6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}


def counted(number: int, noun: str, *, of: int | None = None) -> str:
    """Return ``1 attempt``, ``2 recoveries``; with ``of``, ``1 of 2 tasks`` and ``0 of 1 task``."""
    every = number if of is None else of
    plural = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    among = f"{number}" if of is None else f"{number} of {of}"
    return f"{among} {noun if every == 1 else plural}"


def exit_words(how: Exit) -> str:
    """Return ``with code 1``, ``by SIGKILL`` or ``in an unknown way``."""
    if how.signal is not None:
        return f"by {_SIGNALS.get(how.signal, f'signal {how.signal}')}"
    return "in an unknown way" if how.code is None else f"with code {how.code}"


def culprit_words(culprit: Culprit | None, tasks: Mapping[TaskUid, str] = NO_NAMES) -> str:
    """Return who is blamed, most precise first: ``rank 3, node n2``; ``nobody`` without a culprit.

    ``tasks`` names the tasks; one that is unknown shows the first digits of its uid. A rank says enough without it.
    """
    if culprit is None:
        return "nobody"
    task = None if culprit.task is None or culprit.rank is not None else tasks.get(culprit.task, culprit.task[:8])
    named = (
        (culprit.device, "device {}"),
        (culprit.rank, "rank {}"),
        (task, "task {}"),
        (culprit.node, "node {}"),
    )
    return ", ".join(words.format(value) for value, words in named if value is not None) or "nobody"
