"""One GET whose body keeps coming: the sockets beneath the store.

Watches carry most of our bytes, so they get a plain socket and a large buffer rather than an HTTP
library: a response head, chunks, and from those the frames (protobuf) or lines (JSON) of events.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from io import BufferedReader, RawIOBase
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import msgspec
from google.protobuf.message import DecodeError

from shiplift.kube.answers import error_for
from shiplift.kube.credentials import Credentials, hang_up
from shiplift.kube.errors import BadAnswer, Unauthorized, Unreachable
from shiplift.kube.pool import Pool
from shiplift.kube.wire import MESSAGES

PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON = "application/json"

_BUFFER = 1 << 18
_HEAD_LIMIT = 64 << 10
_ERROR_LIMIT = 64 << 10
EVENT_LIMIT = 64 << 20
_MAGIC = b"k8s\x00"
_CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CHUNK_LINE_LIMIT = 256


class _Incoming(RawIOBase):
    """A socket as a file to read from, by the shortest way: this is called for every TLS record."""

    def __init__(self, connection: socket.socket) -> None:
        self._receive = connection.recv_into

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._receive(buffer)


class Stream:
    """An answered GET. Reading it raises `Silence` when nothing comes for `idle` seconds, or when the answer
    does not begin within `answer` seconds."""

    def __init__(self, credentials: Credentials, *, connect: float, idle: float, answer: float = 0.0) -> None:
        self._credentials = credentials
        self._connect = connect
        self._idle = idle
        self._answer = answer or idle
        self._socket: socket.socket | None = None
        self._ended = False
        self._head: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        if self._socket:
            self._socket.close()

    def get(self, path: str, query: dict[str, str], accept: str) -> Iterator[bytes]:
        """Ask, and give the chunks of the body; a refusal is raised at once as the API error it is."""
        headers = self._credentials.headers()
        connection = self._open()
        file = BufferedReader(_Incoming(connection), _BUFFER)
        try:
            connection.sendall(self._request(path, query, accept, headers))
            status = self._read_head(file)
            connection.settimeout(self._idle)
            if status != 200:
                self._raise(status, self._body(file), headers)
        except OSError as error:
            raise _broke_off(error) from error
        return self._chunks(file)

    def _chunks(self, file: BufferedReader[_Incoming]) -> Iterator[bytes]:
        try:
            yield from self._body(file)
        except OSError as error:
            raise _broke_off(error) from error

    def bear(self, idle: float) -> None:
        """By the thread that reads: from now on nothing may come for that many seconds."""
        self._idle = idle
        if self._socket:
            self._socket.settimeout(idle)

    def end(self) -> None:
        """From any thread: ends a read that is under way, so that the thread that reads can leave."""
        self._ended = True
        if connection := self._socket:
            hang_up(connection)

    def _open(self) -> socket.socket:
        connection = self._credentials.open(self._connect)
        connection.settimeout(self._answer)
        self._socket = connection
        if self._ended:
            connection.close()
            raise Unreachable("the stream was ended")
        return connection

    def _request(
        self, path: str, query: dict[str, str], accept: str, headers: list[tuple[str, str]]
    ) -> bytes:
        server = self._credentials.server
        lines = [
            f"GET {server.prefix}{path}?{urlencode(query)} HTTP/1.1",
            f"Host: {server.authority}",
            f"Accept: {accept}",
            "Accept-Encoding: identity",
            "User-Agent: shiplift",
            "Connection: close",
            *(f"{name}: {value}" for name, value in headers),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _read_head(self, file: BufferedReader[_Incoming]) -> int:
        first = file.readline(_HEAD_LIMIT)
        parts = first.split(None, 2)
        if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
            raise BadAnswer("the server did not answer in HTTP") if first else _closed()
        size = 0
        while (line := file.readline(_HEAD_LIMIT)) not in (b"\r\n", b"\n"):
            if not line:
                raise _closed()
            size += len(line)
            if size > _HEAD_LIMIT:
                raise BadAnswer("the head of the answer is too long")
            name, _, value = line.decode("latin-1").partition(":")
            self._head[name.strip().lower()] = value.strip()
        return int(parts[1])

    def _body(self, file: BufferedReader[_Incoming]) -> Iterator[bytes]:
        if self._head.get("transfer-encoding", "").lower() == "chunked":
            return _chunked(file)
        length = self._head.get("content-length")
        if length is None:
            return iter(lambda: file.read1(_BUFFER), b"")
        if not (length.isascii() and length.isdigit()):
            raise BadAnswer("the length of the answer is not a number")
        return _sized(file, int(length[:20]))

    def _raise(self, status: int, chunks: Iterable[bytes], headers: list[tuple[str, str]]) -> None:
        body = bytearray()
        for chunk in chunks:
            body += chunk
            if len(body) > _ERROR_LIMIT:
                break
        error = error_for(status, self._head, status_as_json(bytes(body)))
        if isinstance(error, Unauthorized):
            self._credentials.invalidate(headers)
        raise error


def _sized(file: BufferedReader[_Incoming], left: int) -> Iterator[bytes]:
    while left > 0:
        data = file.read1(min(_BUFFER, left))
        if not data:
            raise _closed()
        left -= len(data)
        yield data


def _chunked(file: BufferedReader[_Incoming]) -> Iterator[bytes]:
    """A body ends with its empty chunk; one that ends otherwise is not whole, and must not pass for it."""
    read, readline = file.read, file.readline
    while size := _chunk_sizes[readline(_CHUNK_LINE_LIMIT)]:
        if size > EVENT_LIMIT:
            raise BadAnswer(f"a chunk of {size} bytes is too large")
        data = read(size)
        if len(data) < size:
            raise _closed()
        yield data
        if len(end := read(2)) < 2:
            raise _closed()
        if end != b"\r\n":
            raise BadAnswer("a chunk is longer than it says")


def _chunk_size(line: bytes) -> int:
    if found := _CHUNK_LINE.fullmatch(line):
        return int(found[1], 16)
    if len(line) < _CHUNK_LINE_LIMIT and not line.endswith(b"\n"):
        raise _closed()
    raise BadAnswer("a chunk does not begin with its size")


_chunk_sizes = Pool(_chunk_size, limit=10_000)


def _closed() -> OSError:
    return OSError("connection closed")


class Silence(Unreachable):
    """The connection is up, and nothing was heard for longer than should be."""


def _broke_off(error: OSError) -> Unreachable:
    if isinstance(error, TimeoutError):
        return Silence("nothing was heard any more")
    return Unreachable(f"the answer broke off: {error}")


def status_as_json(body: bytes) -> bytes:
    """A protobuf Status as the JSON one; anything else as it is."""
    if not body.startswith(_MAGIC):
        return body
    status = parse("Status", unwrap(body))
    details = {"retryAfterSeconds": status.details.retryAfterSeconds}
    return msgspec.json.encode({"message": status.message, "reason": status.reason, "details": details})


def parse(message: str, raw: bytes) -> Any:
    """A message that everything else depends on; objects have decoders of their own."""
    try:
        return MESSAGES[message].FromString(raw)
    except DecodeError as error:
        raise BadAnswer(f"the answer is not a protobuf {message}") from error


def unwrap(body: bytes) -> bytes:
    """The object inside the API server's protobuf envelope."""
    if body[:4] != _MAGIC:
        raise BadAnswer("the answer is not Kubernetes protobuf")
    return parse("Unknown", body[4:]).raw


def frames(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Protobuf events: each behind its length in four bytes."""
    coming = iter(chunks)
    pending = b""
    for chunk in coming:
        have = pending + chunk if pending else chunk
        start = 0
        while len(have) - start >= 4:
            end = start + 4 + _frame_size(have[start : start + 4])
            if end <= len(have):
                yield have[start + 4 : end]
                start = end
                continue
            frame, have = _gather(have[start + 4 :], end - len(have), coming)
            if frame is None:
                return
            yield frame
            start = 0
        pending = have[start:]


def _frame_size(head: bytes) -> int:
    size = int.from_bytes(head, "big")
    if size > EVENT_LIMIT:
        raise BadAnswer(f"an event of {size} bytes is too large")
    return size


def _gather(begun: bytes, missing: int, coming: Iterator[bytes]) -> tuple[bytes | None, bytes]:
    """A frame that goes on in later chunks, and what follows it; None where they end before it does."""
    parts = [begun]
    for chunk in coming:
        if len(chunk) >= missing:
            parts.append(chunk[:missing])
            return b"".join(parts), chunk[missing:]
        parts.append(chunk)
        missing -= len(chunk)
    return None, b""


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """JSON events: one a line, of any length up to the limit."""
    pending = bytearray()
    for chunk in chunks:
        searched = len(pending)
        pending += chunk
        start = 0
        while (end := pending.find(b"\n", max(start, searched))) >= 0:
            if end - start > EVENT_LIMIT:
                break
            if end > start:
                yield bytes(pending[start:end])
            start = end + 1
        if start:
            del pending[:start]
        if len(pending) > EVENT_LIMIT:
            raise BadAnswer(f"an event of more than {EVENT_LIMIT} bytes is too large")
