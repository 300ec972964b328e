"""HTTP/1.1 messages on sockets, as far as the proxy needs them: heads, bodies, chunks, frames of watches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec

from shiplift.kube import stream
from shiplift.kube.wire import MESSAGES

_END = b"0\r\n\r\n"


class Head(msgspec.Struct, frozen=True):
    """The first line and the headers, by lower-case name."""

    line: str
    headers: dict[str, str]

    @property
    def method(self) -> str:
        return self.line.split(" ", 2)[0]

    @property
    def target(self) -> str:
        return self.line.split(" ", 2)[1]

    @property
    def status(self) -> int:
        return int(self.line.split(" ", 2)[1])

    @property
    def chunked(self) -> bool:
        return self.headers.get("transfer-encoding", "").lower() == "chunked"

    @property
    def ends_connection(self) -> bool:
        """Whether no other message follows it."""
        said = self.headers.get("connection", "").lower()
        return "close" in said or (self.line.startswith("HTTP/1.0") and "keep-alive" not in said)

    def encode(self, more: Iterable[tuple[str, str]] = ()) -> bytes:
        fields = {**self.headers, **{name.lower(): value for name, value in more}}
        return "\r\n".join([self.line, *(f"{k}: {v}" for k, v in fields.items()), "", ""]).encode("latin-1")


def read_head(file: BinaryIO) -> Head | None:
    """The next head, or None when the other side has hung up before it was whole."""
    while (line := file.readline()) in (b"\r\n", b"\n"):
        pass  # blank lines before a message mean nothing
    headers: dict[str, str] = {}
    while (field := file.readline()) not in (b"\r\n", b"\n"):
        if not field.endswith(b"\n"):
            return None
        name, _, value = field.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return Head(line.decode("latin-1").rstrip(), headers)


def read_body(file: BinaryIO, head: Head) -> bytes:
    """The whole body; an error where it breaks off: a part of it may mean something else than the whole."""
    if head.chunked:
        return b"".join(chunks(file))
    return _read(file, int(head.headers.get("content-length", "0")))


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """The chunks of a body as they come; an error where it breaks off."""
    while size := _size(file.readline()):
        yield _read(file, size)
        file.readline()
    file.readline()


def _size(line: bytes) -> int:
    if not line.endswith(b"\n"):
        raise OSError("the other side has hung up between two chunks")
    return int(line.split(b";")[0], 16)


def _read(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise OSError(f"the other side has hung up after {len(data)} of {size} bytes")
    return data


def whole(head: Head, body: bytes) -> bytes:
    """The message with its body in one piece."""
    fields = {name: value for name, value in head.headers.items() if name != "transfer-encoding"}
    return Head(head.line, fields).encode([("content-length", str(len(body)))]) + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else _END


def failure(status: int, reason: str) -> bytes:
    """An answer of the API server that refuses."""
    said = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": status,
        "reason": reason,
        "message": f"{reason} (on purpose)",
    }
    fields = {"content-type": "application/json"} | ({"retry-after": "1"} if status == 429 else {})
    return whole(Head(f"HTTP/1.1 {status} {reason}", fields), msgspec.json.encode(said))


class Frames:
    """The events of a watch, each as the bytes that it travels as: protobuf or a line of JSON."""

    def __init__(self, content_type: str) -> None:
        self.protobuf = stream.PROTOBUF in content_type

    def split(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        if self.protobuf:
            yield from (len(one).to_bytes(4, "big") + one for one in stream.frames(pieces))
        else:
            yield from (one + b"\n" for one in stream.lines(pieces))

    @staticmethod
    def is_bookmark(frame: bytes) -> bool:
        return b"BOOKMARK" in frame[:32]

    @staticmethod
    def ends_initial(frame: bytes) -> bool:
        return Frames.is_bookmark(frame) and b"k8s.io/initial-events-end" in frame

    def expired(self) -> bytes:
        """The event that says that the version asked for is no longer known."""
        said = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old (on purpose)"}
        if not self.protobuf:
            return msgspec.json.encode({"type": "ERROR", "object": said}) + b"\n"
        status = MESSAGES["Status"](code=410, reason="Expired", message="too old (on purpose)")
        wrapped = b"k8s\0" + MESSAGES["Unknown"](raw=status.SerializeToString()).SerializeToString()
        held = MESSAGES["RawExtension"](raw=wrapped)
        event = MESSAGES["WatchEvent"](type="ERROR", object=held).SerializeToString()
        return len(event).to_bytes(4, "big") + event
