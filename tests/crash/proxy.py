"""The fault proxy: it stands where requests pass, and does to them what the director says.

Mostly that is between an operator and the real API server; the same proxy stands before a provider that the
operator calls, and before a port of the operator's own. It speaks HTTP on loopback, with TLS where that is
wanted. What is behind it is a `Door`. Watches pass event by event, as soon as each has come.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Protocol

from shiplift.kube.credentials import hang_up
from tests.accepting import accepted
from tests.crash import messages
from tests.crash.calls import Call, Sort
from tests.crash.messages import Frames, Head
from tests.crash.plans import Disturbance, Failure

_SILENCE = 1.0
"""How long a lost answer stays out; then the connection ends, which a client takes as its own time-out."""
_LATE = 0.4
_STATUS = {
    Failure.CONFLICT: (409, "Conflict"),
    Failure.THROTTLED: (429, "TooManyRequests"),
    Failure.ERROR: (500, "InternalError"),
    Failure.TIMEOUT: (504, "Timeout"),
}


Carrying = Callable[[], contextlib.AbstractContextManager[None]]
"""What is asked of the server within it is carried out, also when whoever asks hangs up."""


class Director(Protocol):
    """Decides what becomes of each call; told of every answer and every event."""

    def before(self, call: Call) -> Failure | None:
        """Before the call is passed on: what to answer instead. May hold it up."""
        ...

    def committed(self, call: Call, status: int) -> bool:
        """The server has answered; False when nobody is to hear of it."""
        ...

    def answered(self, call: Call, status: int) -> None:
        """The operator has the answer."""
        ...

    def watching(self, call: Call) -> bool:
        """A watch begins: True when all its events come late."""
        ...

    def event(self, call: Call, *, synced: bool) -> Disturbance | None:
        """An event is about to be passed on, or the initial state has been: what to do instead."""
        ...


class Door(Protocol):
    """What is behind a proxy."""

    def open(self, timeout: float) -> socket.socket:
        """A connection to it."""
        ...

    def headers(self) -> Iterable[tuple[str, str]]:
        """What every request that passes is given."""
        ...

    def recognise(self, method: str, target: str, body: bytes) -> Call:
        """The call that a request is."""
        ...


class Proxy:
    """Listens until closed; `hang_up` ends every connection, as the end of a process would."""

    def __init__(self, behind: Door, director: Director, tls: ssl.SSLContext | None = None) -> None:
        self._behind = behind
        self._director = director
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._away_until = 0.0
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"

    def away(self, seconds: float) -> None:
        """Nobody is behind it for so long: whoever is connected or connects is hung up on."""
        self._away_until = time.monotonic() + seconds
        self.hang_up()

    def hang_up(self) -> None:
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            hang_up(end)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()
        self.hang_up()

    def _accept(self) -> None:
        for near in accepted(self._listener):
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), self._shaken(accepted) as near:
            self._connect(near)

    def _shaken(self, accepted: socket.socket) -> socket.socket:
        """The connection, after the handshake of TLS where there is one."""
        try:
            return self._tls.wrap_socket(accepted, server_side=True) if self._tls else accepted
        except OSError:
            accepted.close()
            raise

    def _connect(self, near: socket.socket) -> None:
        if time.monotonic() < self._away_until:
            return
        with self._behind.open(10) as far:
            far.settimeout(None)
            with self._lock:
                self._open |= {near, far}
            try:
                carried_out = functools.partial(self._carried_out, near, far)
                _Connection(near, far, self._behind, self._director, carried_out).serve()
            finally:
                with self._lock:
                    self._open -= {near, far}

    @contextlib.contextmanager
    def _carried_out(self, near: socket.socket, far: socket.socket) -> Iterator[None]:
        """What is asked of the server meanwhile is carried out, also when whoever asks hangs up."""
        with self._lock:
            self._open.discard(far)
        yield
        with self._lock:
            if near not in self._open:
                raise OSError("whoever asked has hung up")
            self._open.add(far)


class _Connection:
    """One connection of whoever asks, and the one that stands for it at whoever answers."""

    def __init__(
        self, near: socket.socket, far: socket.socket, behind: Door, director: Director, carried_out: Carrying
    ) -> None:
        self._near, self._far, self._carried_out = near, far, carried_out
        self._asked: BinaryIO = near.makefile("rb")
        self._told: BinaryIO = far.makefile("rb")
        self._behind, self._director = behind, director

    def serve(self) -> None:
        with self._asked, self._told:
            while head := messages.read_head(self._asked):
                body = messages.read_body(self._asked, head)
                if not self._one(head, body, self._behind.recognise(head.method, head.target, body)):
                    return

    def _one(self, head: Head, body: bytes, call: Call) -> bool:
        """False when the connection is over."""
        failure = self._director.before(call) if call.sort is not Sort.APART else None
        if failure is Failure.RESET:
            self._near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if failure is not None and failure is not Failure.LOST:
            self._near.sendall(messages.failure(*_STATUS[failure]))
            return True
        answer = self._evict(head, body) if call.evicts else self._pass_on(head, body)
        if call.sort is Sort.WATCH and answer.status == 200:
            self._stream(call, answer, syncing="sendInitialEvents" in head.target)
            return False
        return self._hand_back(call, answer, lost=failure is Failure.LOST)

    def _evict(self, head: Head, body: bytes) -> Head:
        """An eviction that is cut off half-way is granted and never carried out, and its budget lets nobody
        go for two minutes: that is Kubernetes' own, and takes longer than a run may."""
        with self._carried_out():
            return self._pass_on(head, body)

    def _pass_on(self, head: Head, body: bytes) -> Head:
        # a body that came in chunks is passed on whole
        self._far.sendall(
            messages.whole(Head(head.line, head.headers | _lower(self._behind.headers())), body)
        )
        answer = messages.read_head(self._told)
        if answer is None:
            raise OSError("the server has hung up")
        return answer

    def _hand_back(self, call: Call, answer: Head, *, lost: bool) -> bool:
        body = messages.read_body(self._told, answer)
        counted = call.sort is not Sort.APART
        if counted and not self._director.committed(call, answer.status):
            return False
        if lost:
            time.sleep(_SILENCE)
            return False
        self._near.sendall(messages.whole(answer, body))
        if counted:
            self._director.answered(call, answer.status)
        return not answer.ends_connection

    def _stream(self, call: Call, answer: Head, *, syncing: bool) -> None:
        frames = Frames(answer.headers.get("content-type", ""))
        coming = frames.split(messages.chunks(self._told))
        if self._director.watching(call):
            coming = _later(coming, _LATE)
        self._near.sendall(answer.encode())
        for frame in coming:
            if syncing or frames.is_bookmark(frame):
                self._near.sendall(messages.chunk(frame))
            synced = syncing and frames.ends_initial(frame)
            counts = synced or not (syncing or frames.is_bookmark(frame))
            syncing = syncing and not synced
            if counts and not self._disturb(call, frames, b"" if synced else frame):
                return
        self._near.sendall(messages.chunk(b""))

    def _disturb(self, call: Call, frames: Frames, frame: bytes) -> bool:
        """The event, or what the director wants instead of it; empty stands for the end of the sync."""
        match self._director.event(call, synced=not frame):
            case Disturbance.CUT:
                return False
            case Disturbance.EXPIRED:
                self._near.sendall(messages.chunk(frames.expired()) + messages.chunk(b""))
                return False
            case _:
                if frame:
                    self._near.sendall(messages.chunk(frame))
                return True


def _lower(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def _later(frames: Iterable[bytes], seconds: float) -> Iterator[bytes]:
    """The same frames in the same order, each so much later."""
    waiting: queue.SimpleQueue[tuple[float, bytes | None]] = queue.SimpleQueue()

    def read() -> None:
        with contextlib.suppress(OSError, ValueError):
            for frame in frames:
                waiting.put((time.monotonic() + seconds, frame))
        waiting.put((0.0, None))

    threading.Thread(target=read, name="late events", daemon=True).start()
    while (one := waiting.get())[1] is not None:
        time.sleep(max(0.0, one[0] - time.monotonic()))
        yield one[1]
