"""Makes the folders that options name, or says at once why they are of no use."""

import os
from pathlib import Path

from keepstep.cli.errors import Failed


def make(data: Path) -> None:
    """Make the data folder unless it is there; one that is made is kept out of version control. Raises Failed."""
    if not data.is_dir():
        make_folder(data, "--data")
        (data / ".gitignore").write_text("*\n", encoding="utf-8")


def make_folder(folder: Path, option: str) -> None:
    """Make the folder that an option names unless it is there; raises Failed, naming it, if it cannot be written.

    A job would be an hour on its way to its first save to tell the same.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        what = "is a link that leads nowhere" if folder.is_symlink() else "is a file"
        raise Failed(f"{option} {folder}: {what}; name a folder") from error
    except OSError as error:
        raise Failed(f"{option} {folder}: cannot be made: {error.strerror}; name another folder") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Failed(f"{option} {folder}: cannot be written; name another folder")
