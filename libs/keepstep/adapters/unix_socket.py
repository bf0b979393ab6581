"""Names of Unix sockets in deep folders."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """Yield a name for the socket that fits the kernel's limit of 107 bytes: through its folder's descriptor."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
