"""All phrases: a sentence that a service learns to say gets its line in the table of its room, or a test fails."""

from collections.abc import Mapping

from keepstep.core.words.phrases.acceptance import ACCEPTANCE
from keepstep.core.words.phrases.agents import AGENTS
from keepstep.core.words.phrases.checkpoints import CHECKPOINTS
from keepstep.core.words.phrases.console import CONSOLE
from keepstep.core.words.phrases.creating import CREATING
from keepstep.core.words.phrases.detection import DETECTION
from keepstep.core.words.phrases.diagnosis import DIAGNOSIS
from keepstep.core.words.phrases.events import EVENTS
from keepstep.core.words.phrases.injecting import INJECTING
from keepstep.core.words.phrases.isolation import ISOLATION
from keepstep.core.words.phrases.login import LOGIN
from keepstep.core.words.phrases.notices import NOTICES
from keepstep.core.words.phrases.ordering import ORDERING
from keepstep.core.words.phrases.placing import PLACING
from keepstep.core.words.phrases.recovery import RECOVERY
from keepstep.core.words.phrases.refusals import REFUSALS
from keepstep.core.words.phrases.reports import REPORTS
from keepstep.core.words.phrases.restarts import RESTARTS
from keepstep.core.words.phrases.vendors import VENDORS

TABLES: tuple[Mapping[str, str], ...] = (
    DETECTION, DIAGNOSIS, ISOLATION, CHECKPOINTS, RECOVERY, ACCEPTANCE, PLACING, RESTARTS, REFUSALS, AGENTS, EVENTS,
    NOTICES, CONSOLE, CREATING, ORDERING, INJECTING, VENDORS, REPORTS, LOGIN,
)  # fmt: skip
