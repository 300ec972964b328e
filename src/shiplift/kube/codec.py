"""How one kind travels: as protobuf or as JSON; its events, its lists, and rows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import msgspec

from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube import rows, stream
from shiplift.kube.answers import error_for
from shiplift.kube.errors import ApiError
from shiplift.kube.wire import MESSAGES

INITIAL_END = "k8s.io/initial-events-end"


class Identity(msgspec.Struct, frozen=True, gc=False):
    """Which object, in which version: read before anything is decoded."""

    namespace: str
    name: str
    uid: str
    resource_version: int

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """All events up to this version have been sent; `initial_end`: and so has the initial state."""

    resource_version: int
    initial_end: bool


class Page(msgspec.Struct, frozen=True, gc=False):
    """One page of a list, its objects still undecoded."""

    items: list[bytes]
    resource_version: int
    next: str


class Codec(Protocol):
    """What the watcher needs to know of a kind's way to travel."""

    accept_watch: str
    accept_list: str

    def events(self, chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]: ...
    def bookmark(self, raw: bytes) -> Bookmark: ...
    def error(self, raw: bytes) -> ApiError: ...
    def page(self, body: bytes) -> Page: ...
    def identity(self, raw: bytes) -> Identity: ...
    @property
    def row(self) -> Callable[[bytes], Row]: ...


class Protobuf:
    """Built-in kinds."""

    accept_watch = f"{stream.PROTOBUF};stream=watch"
    accept_list = stream.PROTOBUF

    def __init__(self, decode: Callable[[bytes], Row]) -> None:
        self.row = decode

    def events(self, chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
        parse, unwrap = stream.parse, stream.unwrap
        for frame in stream.frames(chunks):
            event = parse("WatchEvent", frame)
            yield event.type, unwrap(event.object.raw)

    def bookmark(self, raw: bytes) -> Bookmark:
        about = MESSAGES["Bookmark"].FromString(raw).metadata
        ends = any(pair.key == INITIAL_END and pair.value == "true" for pair in about.annotations)
        return Bookmark(int(about.resourceVersion or 0), ends)

    def error(self, raw: bytes) -> ApiError:
        status = MESSAGES["Status"].FromString(raw)
        said = {"message": status.message, "reason": status.reason}
        return error_for(status.code or 500, {}, msgspec.json.encode(said))

    def page(self, body: bytes) -> Page:
        message = stream.parse("List", stream.unwrap(body))
        about: Any = message.metadata
        return Page(list(message.items), int(about.resourceVersion or 0), getattr(about, "continue"))

    def identity(self, raw: bytes) -> Identity:
        about = MESSAGES["Identity"].FromString(raw).metadata
        return Identity(about.namespace, about.name, about.uid, int(about.resourceVersion or 0))


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None
    next: str = msgspec.field(default="", name="continue")


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


class _Status(msgspec.Struct, frozen=True):
    code: int = 500


class _List(msgspec.Struct, frozen=True):
    metadata: _Meta
    items: list[msgspec.Raw]


# Made here, not where they are first used: msgspec learns a Struct when it is first decoded, and two threads
# that have it learn at the same time can bring the process down.
_read_event = msgspec.json.Decoder(_Event).decode
_read_object = msgspec.json.Decoder(_Object).decode
_read_status = msgspec.json.Decoder(_Status).decode
_read_list = msgspec.json.Decoder(_List).decode


class Json:
    """Custom kinds."""

    accept_watch = stream.JSON
    accept_list = stream.JSON

    def __init__(self, decode: Callable[[bytes], Row]) -> None:
        self.row = decode

    def events(self, chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
        for line in stream.lines(chunks):
            event = _read_event(line)
            yield event.type, bytes(event.object)

    def bookmark(self, raw: bytes) -> Bookmark:
        about = _read_object(raw).metadata
        ends = (about.annotations or {}).get(INITIAL_END) == "true"
        return Bookmark(int(about.resource_version or 0), ends)

    def error(self, raw: bytes) -> ApiError:
        return error_for(_read_status(raw).code, {}, raw)

    def page(self, body: bytes) -> Page:
        page = _read_list(body)
        about = page.metadata
        return Page([bytes(item) for item in page.items], int(about.resource_version or 0), about.next)

    def identity(self, raw: bytes) -> Identity:
        about = _read_object(raw).metadata
        return Identity(about.namespace, about.name, about.uid, int(about.resource_version or 0))


def codec_for(kind: Kind) -> Codec:
    """How that kind travels."""
    if kind in rows.PROTOBUF:
        return Protobuf(rows.PROTOBUF[kind])
    if kind.custom:
        from shiplift.kube.rows import custom  # noqa: PLC0415 - the API types are slow to import

        return Json(custom.decoder(kind))
    raise KeyError(f"no rows are made of {kind}")
