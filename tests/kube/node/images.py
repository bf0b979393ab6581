"""The images of the tests: this machine's files, with or without this tree's keepstep to import."""

import os
import sys
from pathlib import Path

from .environment import Image

ROOT = Path(__file__).parents[3]
SOURCES = str(ROOT / "libs"), str(ROOT / "services")
KEEPSTEP_IMAGE = "keepstep:latest"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def plain_image() -> Image:
    """Return an image with the Python that runs the tests and what is installed there: one to train in."""
    path = f"{Path(sys.executable).parent}:{_SYSTEM_PATH}"
    return Image({"PATH": path, "HOME": "/root", "PYTHONDONTWRITEBYTECODE": "1"})


def keepstep_image() -> Image:
    """Return an image that has this tree's keepstep too."""
    return Image({**plain_image().env, "PYTHONPATH": os.pathsep.join(SOURCES)})


def hidden_paths() -> list[Path]:
    """Return what containers need of this machine's /tmp, which they do not see: the tree and its Python."""
    needed = {ROOT, Path(sys.prefix), Path(sys.base_prefix)}
    return sorted(path for path in needed if path.is_relative_to("/tmp"))
