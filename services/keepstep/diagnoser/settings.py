"""What the diagnoser is told from outside: nothing of its own yet, each job's policy says the rest."""

from keepstep.runtime.settings import Settings


class DiagnoserSettings(Settings):
    """Settings of the diagnoser."""
