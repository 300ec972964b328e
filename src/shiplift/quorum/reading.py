"""An HTTP answer, piece by piece: whole, and within its time, or an error."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator

_PIECE = 1 << 20


def pieces(answer: http.client.HTTPResponse, deadline: float) -> Iterator[bytes]:
    """TimeoutError past the deadline (of `time.monotonic`); IncompleteRead where the other side hung up."""
    while piece := answer.read1(_PIECE):
        yield piece
        left(deadline)
    # a piece says nothing of what is missing after it: only the length that was announced does
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)


def left(deadline: float) -> float:
    """Seconds, or TimeoutError."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("it took too long")
    return seconds
