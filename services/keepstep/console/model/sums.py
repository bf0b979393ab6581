"""Sums over closed incidents, from which the mean times follow."""

from dataclasses import dataclass

from keepstep.console.views import Figures
from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Outcome


@dataclass
class Sums:
    """Incidents, and the seconds and steps of those that resumed."""

    incidents: int = 0
    resumed: int = 0
    accounted: int = 0
    detect_s: float = 0.0
    wall_s: float = 0.0
    lost_steps: int = 0

    def open(self) -> None:
        """Count an incident that began."""
        self.incidents += 1

    def close(self, closed: e.IncidentClosed) -> None:
        """Add an incident that ended."""
        if closed.outcome is not Outcome.RESUMED:
            return
        self.resumed += 1
        if closed.accounts is not None:
            self.accounted += 1
            self.detect_s += closed.accounts.detect_s
            self.wall_s += closed.accounts.wall_s
            self.lost_steps += closed.accounts.lost_steps or 0

    def figures(self) -> Figures:
        """Return the means."""
        many = self.accounted
        return Figures(
            incidents=self.incidents,
            resumed=self.resumed,
            mttd_s=self.detect_s / many if many else None,
            mttr_s=self.wall_s / many if many else None,
            lost_steps=self.lost_steps,
        )
