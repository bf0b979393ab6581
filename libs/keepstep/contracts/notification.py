"""Who is told what, and by which way."""

from keepstep.contracts.model import Strict
from keepstep.contracts.taxonomy import Severity


class Route(Strict):
    """Which messages go to which sink."""

    sink: str
    """``log`` or an http(s) URL."""
    minimum: Severity = Severity.INFO
    jobs: str = "*"
    """Shell pattern on the job's name."""


class NotificationPolicy(Strict):
    """Who is told what."""

    routes: tuple[Route, ...] = (Route(sink="log"),)
