"""What the console shows: frozen values that the model makes, and that API and pages hand on as they are.

Instants are aware, durations seconds. Texts are the sentences of ``core.sentences``; what a reader may not see, as a
sink's address, is masked already. A row is what a listing shows, a view is one thing with all that is kept of it.
"""

from keepstep.console.views.faults import FaultListing, FaultSource, FaultView, HurtJob
from keepstep.console.views.incidents import (
    CascadeLine,
    DecisionView,
    EvidenceView,
    IncidentListing,
    IncidentRow,
    IncidentView,
    StackGroup,
)
from keepstep.console.views.jobs import (
    Figures,
    JobListing,
    JobRow,
    JobView,
    RankState,
    RankView,
    StepPoint,
    ToleranceEvent,
)
from keepstep.console.views.nodes import IsolationView, NodeRow, NodeView
from keepstep.console.views.orders import OrderState, OrderView
from keepstep.console.views.pool import Counted, EventListing, EventView, JobCount, Overview, Statistics

__all__ = [
    "CascadeLine",
    "Counted",
    "DecisionView",
    "EventListing",
    "EventView",
    "EvidenceView",
    "FaultListing",
    "FaultSource",
    "FaultView",
    "Figures",
    "HurtJob",
    "IncidentListing",
    "IncidentRow",
    "IncidentView",
    "IsolationView",
    "JobCount",
    "JobListing",
    "JobRow",
    "JobView",
    "NodeRow",
    "NodeView",
    "OrderState",
    "OrderView",
    "Overview",
    "RankState",
    "RankView",
    "StackGroup",
    "Statistics",
    "StepPoint",
    "ToleranceEvent",
]
