"""One structured line per decision and per effect, as JSON on stderr."""

import logging
import sys

import structlog


def configure(level: int = logging.INFO) -> None:
    """Set up logging for this process; called once, by whoever starts it."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def logger(service: str) -> structlog.typing.FilteringBoundLogger:
    """Return the logger of one service."""
    bound: structlog.typing.FilteringBoundLogger = structlog.get_logger().bind(service=service)
    return bound
