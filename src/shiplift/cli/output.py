"""What a command says: data on stdout, all else on stderr, and an exit code that scripts can rely on.

An error that carries a hint is one that its reader can do something about. Any other is ours: it is
said in one line as well, and told in full when SHIPLIFT_DEBUG is set.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Generator
from enum import IntEnum, StrEnum


class Exit(IntEnum):
    """Exit codes."""

    FINE = 0
    ACT = 1
    """The user must act."""
    UNEXPECTED = 2
    STALLED = 3
    """What was waited for goes on only when somebody helps."""
    TIMEOUT = 124
    INTERRUPTED = 130
    NO_READER = 141
    """Whoever read our stdout has gone, as in `shiplift crds | head`."""


class CommandError(Exception):
    """The command cannot do what was asked, and the user can do something about it."""

    code = Exit.ACT

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class GivenUpError(CommandError):
    """What was waited for will not happen."""


class TimedOutError(CommandError):
    """What was waited for has not happened in time."""

    code = Exit.TIMEOUT


class StalledError(CommandError):
    """What was waited for goes on only when somebody helps."""

    code = Exit.STALLED


class Format(StrEnum):
    """How what programs read is written."""

    YAML = "yaml"
    JSON = "json"


def say(line: str) -> None:
    """A line for people, on stderr; nobody there to read it is no error."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


@contextlib.contextmanager
def terminable() -> Generator[None]:
    """SIGTERM is as good as Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def debugging() -> bool:
    return bool(os.environ.get("SHIPLIFT_DEBUG"))


def configure_logs() -> None:
    """Logs are for those who look for a fault: on stderr, and only when asked for."""
    import logging  # keeps --help fast

    import structlog

    level = logging.DEBUG if debugging() else logging.CRITICAL
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # without the values of variables, among which a token may be
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


AWAY = "is the API server there, and is it the right kubeconfig?"
_HINTS = {
    "CredentialsError": "check --kubeconfig and KUBECONFIG; for a cluster on this computer,"
    ' `shiplift local up` makes one and eval "$(shiplift local env)" sets it',
    "Forbidden": "kubectl auth can-i --list tells what you may do",
    "ServerError": "the API server cannot answer now; it may be restarting, as in an upgrade: try again",
    "Throttled": "the API server has too much to do: try again in a moment",
    "Unauthorized": "has the login expired?",
    "Unreachable": AWAY,
}
"""By name, so that nothing is imported to tell them."""


def report(error: BaseException) -> Exit:
    """Say what went wrong; the exit code that stands for it."""
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return Exit.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _let_go_of_stdout()
        return Exit.NO_READER
    if debugging():
        _trace(error)
    if hint := getattr(error, "hint", None) or _HINTS.get(type(error).__name__, ""):
        _explain(getattr(error, "message", "") or str(error), hint)
        return getattr(error, "code", Exit.ACT)
    _explain(f"unexpected {type(error).__name__}: {error}", "SHIPLIFT_DEBUG=1 tells where it happened")
    return Exit.UNEXPECTED


def _explain(message: str, hint: str) -> None:
    say(f"error: {' '.join(message.split())}")
    say(f"hint: {' '.join(hint.split())}")


def _trace(error: BaseException) -> None:
    import traceback  # keeps --help fast

    traceback.print_exception(error)


def _let_go_of_stdout() -> None:
    """Or Python would fail once more when it flushes stdout at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
