"""One structured line per decision and per effect, as JSON on stderr or in a file."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import structlog


def configure(level: int = logging.INFO, *, out: TextIO | None = None) -> None:
    """Set up logging for this process, to ``out`` or stderr; called once, by whoever starts it.

    What libraries, and rooms of ours that know nothing of structlog, say by the standard library goes the same way from
    WARNING on: a person's screen is no place for it.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=Lines(out or sys.stderr),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [*(one for one in root.handlers if not isinstance(one, _Relayed)), _Relayed()]


@contextmanager
def appended(path: Path) -> Iterator[TextIO]:
    """Keep a log open for the block, at whose end a full disk loses its last lines and nothing else. Raises OSError.

    The words that it did not take come up again where the file is closed.
    """
    file = path.open("a", encoding="utf-8", buffering=1)
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


class _Relayed(logging.Handler):
    """Says what was logged by the standard library as a line of our own."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record at its level."""
        told = structlog.get_logger().bind(logger=record.name)
        told.log(record.levelno, record.getMessage(), exc_info=record.exc_info)


class Lines:
    """Writes lines; what a full disk or a closed pipe does not take is counted, and who wrote it goes on."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lost = 0

    def __call__(self, *_names: object) -> "Lines":
        """Be the logger of everybody."""
        return self

    def msg(self, line: str) -> None:
        """Write the line, and first how many were lost before it."""
        lost = f'{{"event": "lines lost", "level": "warning", "count": {self._lost}}}\n' if self._lost else ""
        try:
            self._out.write(f"{lost}{line}\n")
            self._out.flush()
        except (OSError, ValueError):  # ValueError: it was closed
            self._lost += 1
        else:
            self._lost = 0

    debug = info = warning = error = critical = msg


def logger(service: str) -> structlog.typing.FilteringBoundLogger:
    """Return the logger of one service."""
    bound: structlog.typing.FilteringBoundLogger = structlog.get_logger().bind(service=service)
    return bound
