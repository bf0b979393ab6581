"""A notice as plain JSON: what a webhook without a template of its own gets, and a line of the file of notices."""

from keepstep.ports.sink import Notice


def document(notice: Notice) -> dict[str, object]:
    """Return the notice as JSON values; receivers deduplicate by ``id``, group by ``thread``, order by ``sequence``."""
    return {
        "id": notice.id,
        "thread": notice.thread,
        "sequence": notice.sequence,
        "severity": str(notice.severity),
        "kind": str(notice.kind),
        "stage": str(notice.stage),
        "event": notice.event,
        "incident": notice.incident,
        "job": notice.job,
        "subject": notice.subject,
        "at": None if notice.at is None else notice.at.isoformat(),
        "title": notice.title,
        "text": notice.text,
        "facts": dict(notice.facts),
        "links": [link.model_dump() for link in notice.links],
        "members": [member.model_dump(mode="json") for member in notice.members],
    }
