"""What goes wrong on the way to a machine.

SshError
├── UnreachableError   nothing was sent
│   ├── SilentError        nothing came back in time
│   └── NotTrustedError    another host key, or no login: waiting does not help
├── CutOffError        sent, and no whole answer came: it may have happened
└── RefusedError       the machine answered that it cannot be done
"""

from __future__ import annotations


class SshError(Exception):
    """Says which, in words."""

    slow = False
    """Whether it took all of its time to find out."""


class UnreachableError(SshError):
    """Nothing was sent."""


class SilentError(UnreachableError):
    """Nothing came back in time."""

    slow = True


class NotTrustedError(UnreachableError):
    """Another host key, or no login: waiting does not help."""


class CutOffError(SshError):
    """Sent, and no whole answer came: it may have happened."""


class RefusedError(SshError):
    """The machine answered that it cannot be done."""
