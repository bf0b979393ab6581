"""What a cordon of keepstep's looks like on a node, and whose a cordon is: pure, both ways.

Cordon and taint together: a cordon alone is a flag that anybody's controller may clear, a taint alone is not what
people look for. Whoever runs ``kubectl uncordon`` clears the flag, and is respected: what is left of ours goes too.
"""

from datetime import UTC, datetime

from keepstep.adapters.kube_json import JsonObject, flag, rows, table, text
from keepstep.adapters.kube_node import ISOLATED, Effect, Node
from keepstep.adapters.kube_objects import MARK_PREFIX
from keepstep.contracts.ids import IncidentId
from keepstep.ports.cluster import CordonMark

BY = f"{MARK_PREFIX}isolated-by"
REASON = f"{MARK_PREFIX}isolated-because"
SINCE = f"{MARK_PREFIX}isolated-at"
INCIDENT = f"{MARK_PREFIX}incident"
RELEASED = f"{MARK_PREFIX}released-by-hand-at"
NOTES = (BY, REASON, SINCE, INCIDENT)
LONGEST_REASON = 1000
"""An annotation may be long; whoever runs kubectl describe should still see the rest."""
UNKNOWN_SINCE = datetime(1970, 1, 1, tzinfo=UTC)
"""The API does not say when a node was cordoned."""


def mark_of(node: Node) -> CordonMark | None:
    """Return whose cordon stands at the node, None when pods may come: also when only leftovers of ours are there."""
    if not node.unschedulable:
        return None
    notes = dict(node.marks)
    if BY not in notes:
        who = node.cordoned_by or "somebody"
        return CordonMark(owner=who, reason="cordoned outside keepstep", at=UNKNOWN_SINCE)
    incident = notes.get(INCIDENT, "")
    since = notes.get(SINCE, "")
    return CordonMark(
        owner=notes[BY],
        reason=notes.get(REASON, ""),
        at=datetime.fromisoformat(since) if since else UNKNOWN_SINCE,
        incident=IncidentId(incident) if incident else None,
    )


def left_over(node: Node) -> bool:
    """Return whether somebody uncordoned the node by hand and our taint still keeps pods off."""
    ours = any(taint.key == ISOLATED for taint in node.taints) or BY in dict(node.marks)
    return ours and not node.unschedulable


def cordoned(source: JsonObject, mark: CordonMark) -> JsonObject:
    """Return the patch that puts cordon, taint and reasons on the node at once, so that no half of it is ever seen."""
    taint = {"key": ISOLATED, "value": "fault", "effect": Effect.NO_SCHEDULE}
    notes: dict[str, str | None] = {
        BY: mark.owner,
        REASON: mark.reason[:LONGEST_REASON],
        SINCE: mark.at.isoformat(),
        INCIDENT: mark.incident,
        RELEASED: None,
    }
    return {
        "metadata": {"annotations": notes},
        "spec": {"unschedulable": True, "taints": [*_foreign(source), taint]},
    }


def driven_out(source: JsonObject) -> JsonObject | None:
    """Return the patch that drives pods off a node that we isolated, or None where that is so or it is not ours."""
    if not flag(source, "spec", "unschedulable") or BY not in table(source, "metadata", "annotations"):
        return None
    effects = {text(taint, "effect") for taint in rows(source, "spec", "taints") if text(taint, "key") == ISOLATED}
    if Effect.NO_EXECUTE in effects:
        return None
    taints = [
        {"key": ISOLATED, "value": "fault", "effect": effect} for effect in (Effect.NO_SCHEDULE, Effect.NO_EXECUTE)
    ]
    return {"spec": {"taints": [*_foreign(source), *taints]}}


def released(source: JsonObject, *, by_hand_at: datetime | None = None) -> JsonObject:
    """Return the patch that takes everything of ours off; ``by_hand_at`` records that a person had uncordoned it."""
    notes: dict[str, str | None] = dict.fromkeys(NOTES)
    notes[RELEASED] = None if by_hand_at is None else by_hand_at.isoformat()
    spec: dict[str, object] = {"taints": _foreign(source) or None}
    if flag(source, "spec", "unschedulable"):
        spec["unschedulable"] = None
    return {"metadata": {"annotations": notes}, "spec": spec}


def _foreign(source: JsonObject) -> list[JsonObject]:
    """Return the taints of others; a merge patch replaces the whole list, under the version it was read at."""
    return [taint for taint in rows(source, "spec", "taints") if text(taint, "key") != ISOLATED]
