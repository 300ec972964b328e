"""Tells people on standard error what is going on; standard output is for results."""

from __future__ import annotations

import logging
import sys

import structlog


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def quiet() -> None:
    """Logs of the parts that are used: warnings and worse, on standard error."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
