"""What is known of checkpoints whose files were found, and what that tells of each once it is whole."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import CheckpointCommitted, CheckpointSaved
from keepstep.contracts.model import Frozen

V = TypeVar("V", datetime, float)

STEPS = 4
"""Steps whose files were found and that are not whole yet; a fifth makes the oldest one late for its figures."""


class Saved(Frozen):
    """A whole checkpoint, and how long it took."""

    step: int
    at: AwareDatetime
    """When it was whole."""
    save_s: float | None = None
    """Seconds that its slowest rank saved; None where no rank told."""
    commit_s: float | None = None
    """Seconds from the last write to its files until it was whole."""


class Saving(Frozen):
    """Checkpoints that are not whole yet, by step."""

    written: dict[int, AwareDatetime] = Field(default_factory=dict)
    """Newest modification time of the files."""
    save_s: dict[int, float] = Field(default_factory=dict)

    def found(self, message: CheckpointSaved) -> "Saving":
        """Return it with a part of a checkpoint; the slowest and the latest part count."""
        return Saving(
            written=_most(self.written, message.step, message.written),
            save_s=_most(self.save_s, message.step, message.save_s),
        )

    def whole(self, message: CheckpointCommitted) -> Saved:
        """Return what is known of a checkpoint that is whole now."""
        written = self.written.get(message.step)
        commit_s = None if written is None else max(0.0, (message.time - written).total_seconds())
        return Saved(step=message.step, at=message.time, save_s=self.save_s.get(message.step), commit_s=commit_s)

    def without(self, step: int) -> "Saving":
        """Return it without a step that is whole."""
        return Saving(written=_without(self.written, step), save_s=_without(self.save_s, step))


def _most(known: Mapping[int, V], step: int, value: V | None) -> dict[int, V]:
    if value is None:
        return dict(known)
    return dict(list({**known, step: max(value, known.get(step, value))}.items())[-STEPS:])


def _without(known: Mapping[int, V], step: int) -> dict[int, V]:
    return {one: value for one, value in known.items() if one != step}
