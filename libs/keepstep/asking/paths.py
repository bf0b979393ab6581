"""Paths as people write them."""

import os
from pathlib import Path


def resolved(path: Path) -> Path:
    """Return the path without links, as far as they lead; ``Path.resolve`` raises RuntimeError for links in a ring."""
    return Path(os.path.realpath(path))
