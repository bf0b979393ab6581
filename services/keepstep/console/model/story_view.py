"""An incident's story as listings and pages show it."""

from collections.abc import Mapping
from typing import Any

from keepstep.console.model.story import Story, cut
from keepstep.console.views import DecisionView, IncidentRow, IncidentView, StackGroup
from keepstep.contracts import events as e
from keepstep.core.awaiting import Ground, awaited
from keepstep.core.stages import Entry

DECISIONS: frozenset[str] = frozenset(
    kind.__name__
    for kind in (
        e.FaultDiagnosed,
        e.NodeIsolated,
        e.DeviceIsolated,
        e.IsolationDeclined,
        e.CheckpointChosen,
        e.RecoveryPlanned,
        e.RestartFailed,
        e.RecoveryFailed,
        e.JobResumed,
        e.JobFailed,
        e.IncidentClosed,
    )
)
OF_TIMELINE = (
    *("incident", "job", "node", "opened", "occurred", "closed"),
    *("category", "outcome", "who", "because", "levels", "attempts", "lost_steps"),
)
"""What a row has from the timeline as it is."""


def row_of(story: Story) -> IncidentRow:
    """Return the incident as a listing shows it."""
    return IncidentRow(**_common(story))


def view_of(story: Story, ground: Ground) -> IncidentView:
    """Return the incident with all that is kept of it; ``ground`` is what of its job says how long it may wait."""
    timeline = story.timeline
    entries = tuple(sorted(timeline.entries, key=lambda entry: entry.at))
    attempts = [story.attempts[number] for number in sorted(story.attempts)]
    return IncidentView(
        **_common(story),
        waits=awaited(timeline, ground),
        attempt_verdicts=tuple(one.verdict for one in attempts if one.verdict is not None),
        stages=timeline.stages,
        accounts=story.accounts,
        estimated=timeline.estimated,
        evidence=tuple(found for one in attempts for found in one.evidence),
        stacks=_grouped(story.stacks),
        cascade=tuple(found for one in attempts for found in one.cascade),
        decisions=tuple(_decision(entry) for entry in entries if entry.what in DECISIONS),
        last_lines=cut(timeline.last_lines),
        entries=entries,
    )


def _common(story: Story) -> dict[str, Any]:
    timeline = story.timeline
    open_for = (timeline.last - timeline.occurred).total_seconds()
    return {name: getattr(timeline, name) for name in OF_TIMELINE} | {
        "wall_s": timeline.wall_s if timeline.closed is not None else max(0.0, open_for),
        "acknowledged": timeline.acknowledged,
        "overdue": story.overdue,
        "group": story.group,
    }


def _decision(entry: Entry) -> DecisionView:
    return DecisionView(at=entry.at, what=entry.what, sentence=entry.text)


def _grouped(stacks: Mapping[int, tuple[str, ...]]) -> tuple[StackGroup, ...]:
    """Return the stacks, each once with the ranks that show it; what fewest show comes first, as it tells most."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for rank, frames in stacks.items():
        groups.setdefault(frames, []).append(rank)
    found = (StackGroup(ranks=tuple(sorted(ranks)), frames=frames) for frames, ranks in groups.items())
    return tuple(sorted(found, key=lambda group: (len(group.ranks), group.ranks)))
