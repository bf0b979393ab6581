"""Why a manifest cannot be made fault-tolerant: the field, what is wrong with it, and what would help."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Objection:
    """One thing that keeps a job from being taken."""

    field: str
    because: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.field}: {self.because}; {self.remedy}"
