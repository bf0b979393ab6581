"""The log lines that are faults in themselves although nobody asked for them: the agent's first built-in set."""

from keepstep.contracts.policy import LogPattern
from keepstep.diagnosis.rules import RULES


def builtin_patterns() -> tuple[LogPattern, ...]:
    """Return the rules for lines after which a rank that still runs is lost; their names are those of the rules."""
    return tuple(LogPattern(name=rule.name, regex=rule.regex, category=rule.category) for rule in RULES if rule.live)
