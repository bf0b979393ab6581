"""The checks of a whole cluster in their order: defaults, the server's validation, the webhooks of the job kinds."""

from .defaults import fill_in
from .store import Rule
from .validate import validate
from .webhooks_of_kinds import admit

RULES: tuple[Rule, ...] = (fill_in, validate, admit)
