"""One structured line per decision and per effect, as JSON on stderr or in a file."""

import logging
import sys
from typing import TextIO

import structlog


def configure(level: int = logging.INFO, *, out: TextIO | None = None) -> None:
    """Set up logging for this process, to ``out`` or stderr; called once, by whoever starts it."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(out or sys.stderr),
        cache_logger_on_first_use=True,
    )


def logger(service: str) -> structlog.typing.FilteringBoundLogger:
    """Return the logger of one service."""
    bound: structlog.typing.FilteringBoundLogger = structlog.get_logger().bind(service=service)
    return bound
