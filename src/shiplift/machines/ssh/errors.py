"""What goes wrong on the way to a machine.

SshError
├── UnreachableError   nothing was sent
│   ├── SilentError        nothing came back in time
│   └── NotTrustedError    another host key, no login, or no name of a host: waiting does not help
├── CutOffError        sent, and no whole answer came: it may have happened
│   └── StuckError         in all the time that it had
└── RefusedError       the machine answered that it cannot be done
"""

from __future__ import annotations


class SshError(Exception):
    """Says which, in words."""

    hint = ""
    """What would help, where that can be told."""
    took = 0.0
    """The seconds that it took to find out, where it had a limit and reached it."""


class UnreachableError(SshError):
    """Nothing was sent."""


class SilentError(UnreachableError):
    """Nothing came back in time."""

    def __init__(self, message: str, took: float) -> None:
        super().__init__(message)
        self.took = took


class NotTrustedError(UnreachableError):
    """Another host key, no login, or no name of a host: waiting does not help."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class CutOffError(SshError):
    """Sent, and no whole answer came: it may have happened."""


class StuckError(CutOffError):
    """Sent, and no whole answer came in all the time that it had."""

    def __init__(self, message: str, took: float) -> None:
        super().__init__(message)
        self.took = took


class RefusedError(SshError):
    """The machine answered that it cannot be done."""
