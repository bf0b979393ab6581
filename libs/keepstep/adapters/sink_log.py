"""The sink that needs nobody: a line in the service's log, or in a file of its own."""

import asyncio
import json
from pathlib import Path

import structlog

from keepstep.adapters.channel_document import document
from keepstep.contracts.taxonomy import Severity
from keepstep.ports.errors import Transient
from keepstep.ports.sink import Notice

LEVELS = {Severity.INFO: "info", Severity.WARNING: "warning", Severity.CRITICAL: "critical"}


class LogSink:
    """Writes one structured log line per notice."""

    def __init__(self) -> None:
        self._log = structlog.get_logger("keepstep.notice")

    async def deliver(self, notice: Notice) -> None:
        """Log it at the level of its severity."""
        write = getattr(self._log, LEVELS[notice.severity])
        write(
            notice.title,
            text=notice.text,
            thread=notice.thread,
            sequence=notice.sequence,
            notice=notice.id,
            **({"members": [member.incident or member.id for member in notice.members]} if notice.members else {}),
            facts=dict(notice.facts),
        )


class FileSink:
    """Appends one JSON object a line to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def deliver(self, notice: Notice) -> None:
        """Append it in one write. Raises Transient while the file cannot be written."""
        line = json.dumps(document(notice), ensure_ascii=False) + "\n"
        try:
            await asyncio.to_thread(self._append, line)
        except OSError as error:
            raise Transient(f"{self._path} cannot be written: {error.strerror}") from error

    def _append(self, line: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab", buffering=0) as file:
            file.write(line.encode())
