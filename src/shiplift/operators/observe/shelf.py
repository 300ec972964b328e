"""Catalogs as they were read last, on threads of their own: from ConfigMaps, or from a folder.

Kept true: a catalog that cannot be read costs itself, and stays as it was read before; whatever stands in one
is bounded before it is understood.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from shiplift.api.operators import CatalogFormat, ConfigMapSource, OperatorCatalog
from shiplift.api.values import selector_of
from shiplift.engine import clock
from shiplift.engine.probes import Asked, Probing, Question, Unanswered
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import CONFIG_MAP, OPERATOR_CATALOG
from shiplift.facts.selectors import Selector
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, KubeError
from shiplift.kube.store import Store
from shiplift.operators import sources
from shiplift.operators.catalog import index, payload
from shiplift.operators.catalog.documents import UnreadableError, documents
from shiplift.operators.catalog.file_based import Documents
from shiplift.operators.catalog.graph import ChannelGraph
from shiplift.operators.catalog.manifests import CATALOG_LABEL
from shiplift.operators.catalog.model import Bundle, Catalog, Fault, FaultKind, Package
from shiplift.operators.catalog.payload import Payloads
from shiplift.operators.model import ANSWERS_WITHIN, Held, Key, Loop, Provider, Reading
from shiplift.operators.rows import catalog_of
from shiplift.operators.sources import Imported, SourceError

Json = dict[str, Any]
Owners = Mapping[tuple[str, str, str], tuple[tuple[str, Bundle], ...]]
"""By group, kind and version of a definition: the packages whose newest version owns it."""
_MOST_BYTES = 64 << 20
"""Of all ConfigMaps of a catalog together."""
_MOST_KEPT = 32
"""So many manifests of bundles are kept at hand."""
_COUNTS = timedelta(days=365)
"""A catalog is used as it was read last, however long ago: its own status says since when."""


class NoPayloadError(Exception):
    """The manifests of a version cannot be had; says why."""


class Content(msgspec.Struct, frozen=True):
    """A catalog as it was read."""

    uid: str
    """Of the OperatorCatalog: another one of its name has not been read."""
    generation: int
    digest: str
    catalog: Catalog
    owners: Owners
    payloads: Payloads
    """Those that came with it."""
    fetch: Callable[[str], list[Json]] | None = None
    """Gets manifests by digest, where they did not."""

    @property
    def read_from(self) -> tuple[str, int, str]:
        return (self.uid, self.generation, self.digest)


class Shelf:
    """All catalogs; for many threads."""

    def __init__(
        self, client: Client, store: Store, probing: Probing, now: Callable[[], datetime] = clock.now
    ) -> None:
        self._client, self._store, self._probing, self._now = client, store, probing, now
        self._lock = threading.Lock()
        self._asked: dict[str, Asked[str]] = {}
        self._contents: dict[str, Content] = {}
        self._attempts: dict[str, int] = {}
        self._since: dict[str, datetime] = {}
        """Since when those are asked that have not answered yet."""
        self._generations: dict[str, tuple[str, int]] = {}
        """Of the OperatorCatalog that was tried last: its uid, and the generation of its spec."""
        self._news: dict[str, int] = {}
        """Catalogs that have changed, by the attempt that saw it, until whoever goes by them was woken."""
        self._manifests: OrderedDict[str, list[Json]] = OrderedDict()

    # --- for who acts ---

    def want(self, name: str) -> None:
        """Read it, or read it again."""
        with self._lock:
            asked = self._asked.get(name)
            if asked is None:
                asked = self._asked[name] = self._probing.open(self._question(name))
            self._since.setdefault(name, self._now())
        asked.again()

    def _question(self, name: str) -> Question[str]:
        return Question(
            name=f"catalog-{name}",
            ask=lambda: self._ask(name),
            max_age=_COUNTS,
            keys=(Key(Loop.SOURCE, "", name),),
        )

    def spread(self, name: str, news: int) -> None:
        """Whoever goes by it was woken; what is newer than those news is still to be spread."""
        with self._lock:
            if self._news.get(name) == news:
                del self._news[name]

    # --- for who observes ---

    def reading(self, row: Custom) -> Reading:
        """How far reading it has come: first whether it has ended, then what came of it, which is there by
        then."""
        with self._lock:
            asked = self._asked.get(row.name)
        if asked is None:
            return Reading()
        pending = asked.pending
        probe = asked.probe
        with self._lock:
            content, since = self._content_of(row), self._since.get(row.name)
            attempts, tried = self._attempts.get(row.name, 0), self._generations.get(row.name)
            news = self._news.get(row.name, 0)
        since = since if pending else None
        if tried is not None and tried[0] != row.uid:
            return Reading(attempts=attempts, pending=pending, since=since)
        return Reading(
            generation=tried[1] if tried is not None else 0,
            taken=probe.taken,
            ended=probe.ended,
            pending=pending,
            since=since,
            trouble=probe.error if probe.failures else "",
            attempts=attempts,
            failures=probe.failures,
            digest=content.digest if content else "",
            catalog=content.catalog if content else None,
            news=news,
        )

    def is_reading(self, rows: Iterable[Custom]) -> bool:
        """Whether one of these was neither read nor found unreadable so far."""
        with self._lock:
            unknown = [row for row in rows if self._content_of(row) is None]
            return any(not self._failed(row) and not self._is_late(row) for row in unknown)

    def _is_late(self, row: Custom) -> bool:
        since = self._since.get(row.name)
        return since is not None and self._now() - since >= ANSWERS_WITHIN

    def _failed(self, row: Custom) -> bool:
        asked, (uid, _) = self._asked.get(row.name), self._generations.get(row.name, ("", 0))
        return asked is not None and uid == row.uid and bool(asked.probe.failures)

    def _content_of(self, row: Custom) -> Content | None:
        content = self._contents.get(row.name)
        return content if content is not None and content.uid == row.uid else None

    def held(self) -> tuple[Held, ...]:
        """Those that were read and are still wanted, that which counts first."""
        found = [
            Held(row.name, spec.priority, content.catalog, spec.paused)
            for row, content in self._current()
            for spec in (catalog_of(row).spec,)
        ]
        return tuple(sorted(found, key=lambda one: (-one.priority, one.name)))

    def providers(self, group: str, kind: str, version: str) -> tuple[Provider, ...]:
        """The packages whose newest version owns that definition, each in the catalog that counts."""
        found: dict[str, Provider] = {}
        current = sorted(self._current(), key=lambda one: (-catalog_of(one[0]).spec.priority, one[0].name))
        for row, content in current:
            if catalog_of(row).spec.paused:
                continue
            for package, bundle in content.owners.get((group, kind, version), ()):
                found.setdefault(package, Provider(row.name, package, bundle.name, bundle.payload))
        return tuple(found.values())

    def manifests(self, digest: str) -> list[Json]:
        """The manifests of that digest, from whichever catalog has them."""
        with self._lock:
            if digest in self._manifests:
                self._manifests.move_to_end(digest)
                return self._manifests[digest]
        found = self._fetched(digest)
        with self._lock:
            self._manifests[digest] = found
            while len(self._manifests) > _MOST_KEPT:
                self._manifests.popitem(last=False)
        return found

    def bundle(self, catalog: str, package: str, name: str) -> Bundle | None:
        """A version as that catalog has it, or any where none is named."""
        for row, content in self._current():
            if catalog in ("", row.name) and (known := content.catalog.package(package)):
                for one in known.bundles:
                    if one.name == name:
                        return one
        return None

    def plural(self, group: str, kind: str) -> str:
        """The plural of a kind, where any bundle says it."""
        for _, content in self._current():
            for package in content.catalog.packages:
                for bundle in package.bundles:
                    for one in bundle.owned:
                        if (one.group, one.kind) == (group, kind) and one.plural:
                            return one.plural
        return ""

    def _current(self) -> list[tuple[Custom, Content]]:
        rows = self._store.snapshot(OPERATOR_CATALOG).customs(OPERATOR_CATALOG)
        with self._lock:
            return [(row, content) for row in rows if (content := self._content_of(row)) is not None]

    def _fetched(self, digest: str) -> list[Json]:
        why = "no catalog that was read has them"
        for row, content in self._current():
            try:
                if digest in content.payloads:
                    return payload.unpacked(digest, content.payloads[digest])
                if content.fetch is not None and _names(content.catalog, digest):
                    return content.fetch(digest)
            except (UnreadableError, KubeError) as error:
                why = f"OperatorCatalog {row.name}: {error}"
        raise NoPayloadError(f"the manifests {digest[:19]}… cannot be had: {why}")

    # --- the question's own thread ---

    def _ask(self, name: str) -> str:
        with self._lock:
            self._since[name] = self._now()
        try:
            return self._asked_now(name)
        finally:
            with self._lock:
                self._since.pop(name, None)

    def _asked_now(self, name: str) -> str:
        row = self._store.snapshot(OPERATOR_CATALOG).custom(OPERATOR_CATALOG, name)
        with self._lock:
            self._attempts[name] = self._attempts.get(name, 0) + 1
            self._generations[name] = (row.uid, row.generation) if row is not None else ("", 0)
        if row is None:
            raise Unanswered("it is gone")
        content = self._read(row)
        with self._lock:
            before = self._contents.get(name)
            if before is None or before.read_from != content.read_from:
                self._news[name] = self._attempts[name]
            self._contents[name] = content
        return content.digest

    def _read(self, row: Custom) -> Content:
        catalog: OperatorCatalog = catalog_of(row)
        try:
            if catalog.spec.source.config_maps is not None:
                return self._of_config_maps(row, catalog.spec.source.config_maps)
            if catalog.spec.source.folder is not None:
                return _of_folder(row, Path(catalog.spec.source.folder.path))
            raise UnreadableError("it has no source that this release knows")
        except (UnreadableError, SourceError) as error:
            raise Unanswered(str(error)[:2000]) from None
        except KubeError as error:
            raise Unanswered(str(error)[:2000]) from None

    def _of_config_maps(self, row: Custom, source: ConfigMapSource) -> Content:
        listed = self._listed(source)
        if not listed:
            raise UnreadableError(
                f"no ConfigMap of namespace {source.namespace} has the labels of the selector"
            )
        pieces = [data for one in listed for data in _data(one)]
        digest = index.digest(data for _, data in pieces)
        if catalog_of(row).spec.format is CatalogFormat.INDEX:
            read = index.decode(b"".join(data for _, data in pieces))
            labels: dict[str, str] = listed[0]["metadata"].get("labels") or {}
            named = labels.get(CATALOG_LABEL, row.name)
            return _content(row, digest, Imported(read, {}), self._fetcher(source.namespace, named))
        if catalog_of(row).spec.format is CatalogFormat.BUNDLES:
            raise UnreadableError(
                "bundles are read from a folder; a ConfigMap holds an index or a file-based catalog"
            )
        return _content(row, digest, _documents(pieces))

    def _listed(self, source: ConfigMapSource) -> list[Json]:
        selector = label_selector(selector_of(source.selector))
        found: list[Json] = []
        size = 0
        try:
            for one in self._client.list(CONFIG_MAP, source.namespace, selector, limit=20):
                size += _size(one)
                if size > _MOST_BYTES:
                    raise UnreadableError(f"its ConfigMaps hold more than {_MOST_BYTES >> 20} MiB")
                found.append(one)
        except Forbidden as error:
            grant = f"shiplift manifests --catalogs {source.namespace} | kubectl apply -f -"
            raise UnreadableError(f"{error.message}; `{grant}` lets it be read") from None
        return sorted(found, key=lambda one: one["metadata"]["name"])

    def _fetcher(self, namespace: str, catalog: str) -> Callable[[str], list[Json]]:
        def fetch(digest: str) -> list[Json]:
            name = f"{catalog}-{digest.removeprefix('sha256:')[:40]}"
            return payload.unpacked(
                digest, b"".join(data for _, data in _data(self._client.get(CONFIG_MAP, name, namespace)))
            )

        return fetch


def _size(config_map: Json) -> int:
    texts: dict[str, str] = config_map.get("data") or {}
    packed: dict[str, str] = config_map.get("binaryData") or {}
    return sum(map(len, texts.values())) + sum(map(len, packed.values()))


def _data(config_map: Json) -> list[tuple[str, bytes]]:
    """What it holds, in order of keys."""
    name = config_map["metadata"]["name"]
    texts: dict[str, str] = config_map.get("data") or {}
    packed: dict[str, str] = config_map.get("binaryData") or {}
    try:
        found = {key: value.encode() for key, value in texts.items()}
        found |= {key: base64.b64decode(value, validate=True) for key, value in packed.items()}
    except (binascii.Error, ValueError) as error:
        raise UnreadableError(f"ConfigMap {name} cannot be read: {error}") from error
    return [(f"{name}/{key}", data) for key, data in sorted(found.items())]


def _documents(pieces: Iterable[tuple[str, bytes]]) -> Imported:
    """A file-based catalog; what cannot be read of it is named and left out."""
    read, unread, good = Documents(), list[Fault](), False
    for name, data in pieces:
        try:
            for document in documents(data):
                read.add(name, document)
            good = True
        except UnreadableError as error:
            unread.append(Fault("", FaultKind.FILE, f"{name}: {error}"))
    if not good:
        raise UnreadableError(unread[0].message if unread else "its ConfigMaps are empty")
    packages, faults, payloads = read.built()
    return Imported(Catalog(tuple(packages), tuple(unread + faults)), payloads)


def _of_folder(row: Custom, path: Path) -> Content:
    imported = sources.load(path)
    digest = index.digest([index.encode(imported.catalog)])

    def fetch(wanted: str) -> list[Json]:
        return sources.manifests(path, imported, wanted)

    return _content(row, digest, imported, fetch)


def _content(
    row: Custom, digest: str, imported: Imported, fetch: Callable[[str], list[Json]] | None = None
) -> Content:
    spec = catalog_of(row).spec
    packages = tuple(
        one for one in imported.catalog.packages if _counts(one.name, spec.include, spec.exclude)
    )
    catalog = Catalog(packages, imported.catalog.faults)
    return Content(row.uid, row.generation, digest, catalog, _owners(packages), imported.payloads, fetch)


def _counts(package: str, include: Iterable[str], exclude: Iterable[str]) -> bool:
    only = set(include)
    return (not only or package in only) and package not in set(exclude)


def _owners(packages: Iterable[Package]) -> Owners:
    found: dict[tuple[str, str, str], list[tuple[str, Bundle]]] = {}
    for package in packages:
        channel = package.channel(package.default_channel)
        head = ChannelGraph(package, channel).head if channel is not None else None
        for one in head.owned if head is not None else ():
            found.setdefault((one.group, one.kind, one.version), []).append((package.name, head))  # type: ignore[arg-type]
    return {key: tuple(value) for key, value in found.items()}


def _names(catalog: Catalog, digest: str) -> bool:
    return any(bundle.payload == digest for package in catalog.packages for bundle in package.bundles)


def label_selector(selector: Selector) -> str:
    """As a list is asked for it."""
    parts = [f"{key}={value}" for key, value in sorted(selector.labels.items())]
    for one in selector.expressions:
        match one.operator:
            case "In" | "NotIn":
                word = "in" if one.operator == "In" else "notin"
                parts.append(f"{one.key} {word} ({','.join(one.values)})")
            case "Exists":
                parts.append(one.key)
            case _:
                parts.append(f"!{one.key}")
    return ",".join(parts)
