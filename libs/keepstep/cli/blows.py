"""The faults of a demonstration beside what became of them: what was hurt, who was named, and what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstep.cli.columns import table, terminal_width
from keepstep.contracts.topology import Culprit
from keepstep.core.timeline import Timeline

HEAD = ("FAULT", "NAMED", "CATEGORY", "LEVEL", "TO NEXT STEP", "LOST STEPS")


@dataclass(frozen=True)
class Blow:
    """One injected fault; exactly one of rank and node is what it hit."""

    kind: str
    words: str
    rank: int | None = None
    node: str | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """What ``keepstep fault inject`` is given."""
        where = ("--rank", str(self.rank)) if self.rank is not None else ("--node", str(self.node))
        return (self.kind, *where)

    def hit(self, culprit: Culprit | None) -> bool:
        """Return whether this is whom a verdict blames."""
        if culprit is None:
            return False
        return culprit.rank == self.rank if self.rank is not None else culprit.node == self.node


def wrong_names(blows: Sequence[Blow], incidents: Sequence[Timeline]) -> list[str]:
    """Return where another was named than the one that was hurt; each fault was over before the next."""
    pairs = zip(blows, incidents, strict=False)
    return [f"{blow.words}, but {one.who} was named" for blow, one in pairs if not blow.hit(one.culprit)]


def outcome_table(blows: Sequence[Blow], incidents: Sequence[Timeline]) -> str:
    """Return one line per fault; a dash where a fault has no incident or an incident no end."""
    rows = []
    for number, blow in enumerate(blows):
        if number >= len(incidents):
            rows.append((blow.words, *("-" for _ in HEAD[1:])))
            continue
        one = incidents[number]
        seconds = to_next_step(one)
        rows.append(
            (
                blow.words,
                one.who,
                one.category or "undiagnosed",
                " > ".join(one.levels) or "-",
                "-" if seconds is None else f"{seconds:.2f} s",
                "-" if one.lost_steps is None else str(one.lost_steps),
            )
        )
    return table(HEAD, rows, terminal_width())


def to_next_step(incident: Timeline) -> float | None:
    """Return the seconds from the fault to the first step after it of all tasks, or None without one."""
    resumed = [entry.at for entry in incident.entries if entry.what == "JobResumed"]
    return (resumed[-1] - incident.occurred).total_seconds() if resumed else None
