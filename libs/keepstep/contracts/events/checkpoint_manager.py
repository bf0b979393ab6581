"""Events that the checkpoint-manager says."""

from keepstep.contracts.message import Event


class CheckpointCommitted(Event):
    """The union of saved files covers all ranks: this step can be resumed from."""

    step: int
    path: str
    files: tuple[str, ...]


class CheckpointChosen(Event):
    """Where to resume for this verdict (``cause``); ``step: null`` is from scratch."""

    step: int | None
    path: str | None
    because: str
