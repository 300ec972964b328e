"""An HTTP answer in time, from its first line to its last byte: however busily the other side talks."""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Iterator
from typing import Any

_PIECE = 1 << 20


class Timed:
    """A connected socket for `http.client`, which neither writes nor reads past its time (of
    `time.monotonic`); one wait takes at most so many seconds."""

    def __init__(self, opened: socket.socket, deadline: float, silence: float) -> None:
        self._socket, self._deadline, self._silence = opened, deadline, silence
        self._answers: _Answers | None = None

    def sendall(self, data: Any) -> None:
        self._socket.settimeout(self.patience())
        self._socket.sendall(data)

    def receive(self, buffer: Any) -> int:
        self._socket.settimeout(self.patience())
        return self._socket.recv_into(buffer)

    def patience(self) -> float:
        """Seconds that the next wait may take, or TimeoutError."""
        return min(self._silence, left(self._deadline))

    def makefile(self, mode: str) -> io.BufferedReader:
        """What answers are read from; `mode` is always `rb`."""
        del mode
        self._answers = _Answers(self)
        return io.BufferedReader(self._answers)

    def close(self) -> None:
        """Who reads an answer may still do so."""
        if self._answers is None or self._answers.closed:
            self._socket.close()


class _Answers(io.RawIOBase):
    def __init__(self, timed: Timed) -> None:
        self._timed = timed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._timed.receive(buffer)

    def close(self) -> None:
        super().close()
        self._timed.close()


def pieces(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """Of the body; IncompleteRead where the other side hung up."""
    while piece := answer.read1(_PIECE):
        yield piece
    # a piece says nothing of what is missing after it: only the length that was announced does
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)


def left(deadline: float) -> float:
    """Seconds, or TimeoutError."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("it took too long")
    return seconds
