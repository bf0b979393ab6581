"""The search in what was said: by job, node, incident, name, urgency, time and words."""

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from keepstep.asking.refused import Refused
from keepstep.console.context import COUNTED, Here, Viewer
from keepstep.console.model.recent import Wanted
from keepstep.console.pages.asked import After, Text, chosen, filled
from keepstep.console.pages.failing import router as pages
from keepstep.console.pages.live import Follow
from keepstep.console.pages.rendering import page
from keepstep.contracts.message import messages
from keepstep.contracts.taxonomy import Severity

router = pages()
SHOWN = 100


@router.get("/events", dependencies=COUNTED)
async def events(
    request: Request, here: Here, user: Viewer, *, job: Text = "", node: Text = "", incident: Text = "",
    name: Text = "", severity: Text = "", text: Text = "", since: Text = "", until: Text = "", before: After = "",
) -> Response:  # fmt: skip
    """List events, newest first; reads the stream where what is asked for is no longer at hand, so it is counted."""
    wanted = Wanted(
        job=filled(job), node=filled(node), incident=filled(incident), name=filled(name),
        severity=chosen(severity, Severity), text=filled(text), since=_instant("since", since),
        until=_instant("until", until),
    )  # fmt: skip
    cursor = int(before) if before.isdecimal() else None
    listing = await here.live.events(wanted, before=cursor, limit=SHOWN)
    follow = Follow(job=job.strip(), node=node.strip(), incident=incident.strip()) if cursor is None else None
    return page(
        request, user, "events.html", follow=follow, listing=listing, most=SHOWN, severities=tuple(Severity),
        names=tuple(messages()),
        asked={"job": job, "node": node, "incident": incident, "name": name, "severity": severity, "text": text,
               "since": since, "until": until},
    )  # fmt: skip


def _instant(field: str, text: str) -> datetime | None:
    """Return an instant as the field of a form writes it, which knows no zone: the pages' is UTC. Raises Refused."""
    if not text.strip():
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise Refused(f"{field}: {text!r} is no time; write 2026-01-02T03:04, in UTC") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
