"""What an agent remembers over its own restarts: small files, replaced in one piece."""

import logging
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from keepstep.contracts.model import Frozen

M = TypeVar("M", bound=Frozen)

_log = logging.getLogger(__name__)


def recall(path: Path, model: type[M]) -> M:
    """Return what was kept, or the model's defaults if nothing was or it cannot be read as this model."""
    try:
        return model.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return model()


def keep(path: Path, value: Frozen) -> None:
    """Replace the file in one piece, so that a reader after a crash finds the old value or the new one."""
    write_whole(path, value.model_dump_json())


def write_whole(path: Path, text: str) -> None:
    """Replace the file's text; a full or broken disk is said and borne: watching the ranks matters more."""
    draft = path.with_name(path.name + ".new")
    try:
        draft.write_text(text)
        draft.replace(path)
    except OSError as error:
        _log.error("file=%s not kept because=%s", path, error)


def append(path: Path, text: str) -> None:
    """Add to the file; a full or broken disk is said and borne."""
    try:
        with path.open("a") as file:
            file.write(text)
    except OSError as error:
        _log.error("file=%s not kept because=%s", path, error)
