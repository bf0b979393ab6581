"""The channels of a site's file; loaded only where the settings name one."""

from datetime import timedelta
from pathlib import Path

from keepstep.adapters.channel_directory import ChannelDirectory
from keepstep.adapters.channel_file import ChannelFile
from keepstep.adapters.clock import SystemClock
from keepstep.ports.sink import Sink


def opened(path: Path, lines: Sink, *, limit: timedelta) -> ChannelDirectory:
    """Return where the file's channels are found, as it is at each use; ``limit``: how long a step of a call takes."""
    return ChannelDirectory(ChannelFile(path), lines, SystemClock(), limit=limit)
