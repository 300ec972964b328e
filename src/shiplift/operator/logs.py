"""Structured logs on standard error: for people on a terminal, JSON lines everywhere else."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(*, verbose: bool = False) -> None:
    """Once, when a process starts."""
    level = logging.DEBUG if verbose else logging.INFO
    for_people = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(() if for_people else (structlog.processors.format_exc_info,)),
            _for_people() if for_people else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def _for_people() -> structlog.dev.ConsoleRenderer:
    """Tracebacks without the values of variables, among which a token may be."""
    return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
