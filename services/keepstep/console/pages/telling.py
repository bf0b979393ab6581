"""After an order: back to the page it was given on, which says that it was given.

Only the name of the order travels in the address, so that nobody's link can put words into the console's mouth.
"""

from enum import StrEnum

from starlette.responses import RedirectResponse, Response

from keepstep.console.pages.formats import segment


class Done(StrEnum):
    """An order that was given."""

    ISOLATING = "isolating"
    DRAINING = "draining"
    RELEASING = "releasing"
    ACKNOWLEDGING = "acknowledging"
    STOPPING = "stopping"
    PAUSING = "pausing"
    RESUMING = "resuming"
    CREATING = "creating"


SENTENCES: dict[Done, str] = {
    Done.ISOLATING: "Asked to isolate the node. The answer shows below.",
    Done.DRAINING: "Asked to drain the node. The answer shows below.",
    Done.RELEASING: "Asked to release the node. The answer shows below.",
    Done.ACKNOWLEDGING: "You look after this incident.",
    Done.STOPPING: "Asked to stop the job.",
    Done.PAUSING: "Asked to observe the job only.",
    Done.RESUMING: "Asked to act on the job's faults again.",
    Done.CREATING: "Asked to create the job. It shows here as soon as it is accepted.",
}


def told(done: str) -> str:
    """Return the sentence for an order that was given; empty for none and for what is no order."""
    return SENTENCES[Done(done)] if done in tuple(Done) else ""


def back_to(room: str, name: str, done: Done) -> Response:
    """Return what sends the browser back to the thing that the order is about."""
    path = f"/{room}/{segment(name)}" if name else f"/{room}"
    return RedirectResponse(f"{path}?done={done}", 303)
