"""What an agent remembers over its own restarts: small files, replaced in one piece."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from keepstep.contracts.model import Frozen

M = TypeVar("M", bound=Frozen)


def recall(path: Path, model: type[M]) -> M:
    """Return what was kept, or the model's defaults if nothing was or it cannot be read as this model."""
    try:
        return model.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return model()


def keep(path: Path, value: Frozen) -> None:
    """Replace the file in one piece, so that a reader after a crash finds the old value or the new one."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(value.model_dump_json())
    draft.replace(path)
