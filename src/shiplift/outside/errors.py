"""What can go wrong outside, as one tree.

    OutsideError
    ├── Refused       by our own rules: nothing was sent
    ├── Unreachable   no connection: nothing was sent
    ├── Lost          it was sent, and no whole answer came back
    ├── TooLarge      the answer is larger than it may be
    └── Answered      the answer is a failure: 4xx or 5xx, or one that nobody can use

Messages name the host, never the whole address (its path or query may hold a secret), and no token.
"""

# ruff: noqa: N818 - named for what happened; many of them are everyday

from __future__ import annotations


class OutsideError(Exception):
    """The root: a message, a hint for the person who reads it, for how many seconds we are asked to wait."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


class Refused(OutsideError):
    """Our own rules forbid it."""


class Unreachable(OutsideError):
    """No connection."""


class Lost(OutsideError):
    """Sent, and no whole answer."""


class TooLarge(OutsideError):
    """More than we read."""


class Answered(OutsideError):
    """A failure, by the status of the answer."""

    def __init__(
        self, message: str, *, status: int, hint: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint=hint, retry_after=retry_after)
        self.status = status
