"""Paths as people write them."""

import os
from pathlib import Path


def is_file(path: Path) -> bool:
    """Return whether a file is there; ``Path.is_file`` raises for a name that no file can have, as one too long."""
    return os.path.isfile(path)  # noqa: PTH113 - see above


def resolved(path: Path) -> Path:
    """Return the path without links, as far as they lead; ``Path.resolve`` raises RuntimeError for links in a ring."""
    return Path(os.path.realpath(path))
