"""A catalog comes back from its index as it was, and nothing else is taken for one."""

from __future__ import annotations

import gzip

import pytest

from shiplift.operators.catalog import index, payload
from shiplift.operators.catalog.documents import UnreadableError
from shiplift.operators.catalog.model import Catalog, Crd, Fault, FaultKind, PackageNeed
from tests.operators.catalog.building import bundle, entry, package

CATALOG = Catalog(
    (
        package(
            entry("1.0.0"),
            entry("1.1.0", "1.0.0", ("0.9.0",), "<1.0.0"),
            bundles=(
                bundle(
                    "1.1.0",
                    owned=(Crd("A", "v1", "a.example", "as"),),
                    packages=(PackageNeed("b", ">=1.0.0"),),
                    apis=("v1 Service",),
                    payload="sha256:00",
                ),
            ),
        ),
    ),
    (Fault("b", FaultKind.NO_HEAD, "channel stable: …"),),
)


def packed(data: bytes) -> bytes:
    """The same whenever it is packed: the names of tests are made of it."""
    return gzip.compress(data, mtime=0)


def test_a_catalog_comes_back_as_it_was() -> None:
    assert index.decode(index.encode(CATALOG)) == CATALOG


def test_the_same_catalog_gives_the_same_bytes() -> None:
    assert index.encode(CATALOG) == index.encode(index.decode(index.encode(CATALOG)))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is no gzip|it is no index"),
        (b"plain", "it is no gzip"),
        (index.encode(CATALOG)[:-9], "it is no gzip"),
        (packed(b"hello"), "it is no index of a catalog"),
        (packed(b'{"format":"other","packages":0}'), "it is of format 'other'"),
        (
            packed(f'{{"format":"{index.FORMAT}","packages":2}}\n'.encode()),
            "it has 0 packages, and should have 2",
        ),
        (
            packed(f'{{"format":"{index.FORMAT}","packages":1}}\n{{"name":7}}\n'.encode()),
            "its packages cannot be read",
        ),
    ],
    ids=["empty", "plain", "cut off", "other text", "other format", "too few packages", "other packages"],
)
def test_what_is_no_index_or_not_whole_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        index.decode(data)


def test_a_small_file_does_not_become_a_huge_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_MOST", 1 << 20)
    with pytest.raises(UnreadableError, match="unpacked it is larger than 1 MiB"):
        index.decode(packed(b" " * (2 << 20)))


def test_manifests_come_back_by_their_digest() -> None:
    digest, data = payload.packed([{"kind": "A"}])
    assert payload.unpacked(digest, data) == [{"kind": "A"}]
    with pytest.raises(UnreadableError, match="it is not what sha256:00 names"):
        payload.unpacked("sha256:00", data)
