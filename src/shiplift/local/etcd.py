"""What tests do behind the API server's back: compact etcd, and put its content back as it was.

It goes through etcd's own JSON gateway with the API server's certificate.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator

import msgspec

from shiplift.local import probe
from shiplift.local.components import Layout
from shiplift.local.errors import LocalError

_EVENTS = "/registry/events/"
# the API server's own heartbeat, and what nobody saves
_PASSING = ("/registry/masterleases/", _EVENTS)

_CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
_CALM_SECONDS = 20.0
_LOOK = 0.01
_MOST_CHANGES = 128
_MOST_BYTES = 1 << 20
Change = dict[str, dict[str, str]]


class _KeyValue(msgspec.Struct):
    key: str
    value: str = ""


class _Header(msgspec.Struct):
    revision: str = "0"


class _Answer(msgspec.Struct):
    header: _Header
    kvs: list[_KeyValue] = []
    more: bool = False


class _CrdVersion(msgspec.Struct):
    name: str
    served: bool


class _CrdNames(msgspec.Struct):
    plural: str


class _CrdSpec(msgspec.Struct):
    group: str
    names: _CrdNames
    versions: list[_CrdVersion]


class _Crd(msgspec.Struct):
    spec: _CrdSpec


class Etcd:
    """A cluster's etcd. Keys and values stay in base64, as the gateway has them."""

    def __init__(self, layout: Layout, port: int) -> None:
        self._context = probe.trust(layout.pki / "etcd-ca.crt", layout.pki / "etcd-client.crt")
        self._port = port

    def revision(self) -> int:
        return int(self._ask("/v3/kv/range", {"key": _encode("/"), "limit": 1}).header.revision)

    def compact(self) -> int:
        """Forget all history: an older watch or list is answered with 410 Gone."""
        revision = self.revision()
        self._ask("/v3/kv/compaction", {"revision": revision, "physical": True})
        return revision

    def content(self) -> dict[str, str]:
        return {pair.key: pair.value for pair in self._pairs() if not _decode(pair.key).startswith(_PASSING)}

    def put_back(self, content: dict[str, str]) -> None:
        """What is new goes, what is gone or changed comes back; again, while a controller is busy: the API
        server's own put things back until they have heard that they are gone. Events go, too: they would add
        up with each reset."""
        self._ask("/v3/kv/deleterange", {"key": _encode(_EVENTS), "range_end": _encode("/registry/events0")})
        deadline = time.monotonic() + _CALM_SECONDS
        while changes := _changes(self.content(), content):
            if time.monotonic() > deadline:
                keys = sorted(_decode(text["key"]) for change in changes for text in change.values())
                raise LocalError(
                    f"objects keep changing during a reset: {', '.join(keys[:5])}",
                    "stop what writes to the cluster before its reset",
                )
            for batch in _batches(changes):
                self._ask("/v3/kv/txn", {"success": batch})
            time.sleep(_LOOK)

    def _pairs(self) -> Iterator[_KeyValue]:
        first = _encode("/registry/")
        while True:
            page = self._ask("/v3/kv/range", {"key": first, "range_end": _encode("/registry0"), "limit": 500})
            yield from page.kvs
            if not page.more:
                return
            first = _encode(_decode(page.kvs[-1].key) + "\0")

    def _ask(self, path: str, question: dict[str, object]) -> _Answer:
        status, body = probe.ask(self._port, path, self._context, msgspec.json.encode(question), timeout=60)
        if status != 200:
            raise LocalError(f"etcd answered {status} to {path}: {body[:200]!r}", "its log tells more")
        return msgspec.json.decode(body, type=_Answer)


def custom_resources(content: dict[str, str]) -> set[str]:
    """The addresses of those that a cluster with this content serves."""
    crds = [
        msgspec.json.decode(base64.b64decode(value), type=_Crd)
        for key, value in content.items()
        if _decode(key).startswith(_CRDS)
    ]
    return {
        f"/apis/{crd.spec.group}/{version.name}/{crd.spec.names.plural}"
        for crd in crds
        for version in crd.spec.versions
        if version.served
    }


def _changes(now: dict[str, str], wanted: dict[str, str]) -> list[Change]:
    gone = [{"requestDeleteRange": {"key": key}} for key in now if key not in wanted]
    back = [
        {"requestPut": {"key": key, "value": value}}
        for key, value in wanted.items()
        if now.get(key) != value and not (key in now and _is_renewed(key))
    ]
    return [*gone, *back]


def _batches(changes: list[Change]) -> Iterator[list[Change]]:
    """As much as etcd takes in one transaction by default; an object of the largest size goes alone."""
    batch: list[Change] = []
    size = 0
    for change in changes:
        weight = sum(len(text) for fields in change.values() for text in fields.values())
        if batch and (len(batch) == _MOST_CHANGES or size + weight > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(change)
        size += weight
    yield batch


def _is_renewed(key: str) -> bool:
    """A heartbeat: it changes all the time and means nothing."""
    return _decode(key).startswith("/registry/leases/")


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(text: str) -> str:
    return base64.b64decode(text).decode()
