"""Who leads next goes on with what was kept, though the registry is away; and checks it all the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from shiplift.kube.secrets import SecretUnusable
from shiplift.quorum.engines.minio import MinIO
from shiplift.quorum.images import documents
from shiplift.quorum.images.credentials import PullSecrets
from shiplift.quorum.images.errors import RegistryAway
from shiplift.quorum.images.fetching import Page
from shiplift.quorum.images.registry import Platform
from shiplift.quorum.model import Validity
from shiplift.quorum.validating import Trust, Validated, Validator
from shiplift.quorum.wire import Direct
from tests.minio.keys import Key
from tests.minio.servers import CREDENTIALS
from tests.quorum.images_made import Entry, Made, image, layer
from tests.quorum.signer import Signer

TAG = "RELEASE.2025-09-07T16-13-09Z"
NAME = f"registry.example/store/minio:{TAG}"
PROGRAM = f"#!/bin/sh\necho minio version {TAG}\n".encode()


class Shelf:
    """A registry with one image, and perhaps its signature."""

    def __init__(self, made: Made, signature: Made | None = None) -> None:
        self._made, self._signature = made, signature
        self.away = self.closed = False

    def page(self, url: str, headers: Mapping[str, str], most: int) -> Page:
        del headers, most
        if self.away:
            raise RegistryAway("the registry is away")
        if self.closed:
            return Page(401, {"www-authenticate": 'Basic realm="x"'}, b"")
        body = self._found(url.rpartition("/")[2])
        return Page(404, {}, b"") if body is None else Page(200, {}, body)

    def file(self, url: str, headers: Mapping[str, str], digest: str, size: int, target: Path) -> int:
        del headers, digest, size
        if self.away:
            raise RegistryAway("the registry is away")
        target.write_bytes(self._made.blobs[url.rpartition("/")[2]])
        return 200

    def _found(self, name: str) -> bytes | None:
        made, signature = self._made, self._signature
        if name.endswith(".sig"):
            return signature.manifest if signature else None
        blobs = {**made.blobs, **(signature.blobs if signature else {})}
        return blobs.get(name, made.manifest if name in (TAG, made.digest) else None)


@pytest.fixture
def key() -> Key:
    return Key()


@pytest.fixture
def made(tmp_path: Path, key: Key) -> Made:
    program = tmp_path / "program"
    program.write_bytes(PROGRAM)
    checksum = f"{hashlib.sha256(PROGRAM).hexdigest()}  minio.{TAG}\n".encode()
    entries = (("", PROGRAM), (".sha256sum", checksum), (".minisig", key.sign(program)))
    return image(layer(*(Entry(f"usr/bin/minio{end}", content) for end, content in entries)))


def validated(shelf: Shelf, cache: Path, name: str, trust: Trust, secrets: PullSecrets) -> Validated:
    engine = MinIO(Direct(), CREDENTIALS)
    return Validator(engine, lambda *_: shelf, cache, Platform()).validate(name, trust, secrets)


NONE = PullSecrets({})


@pytest.mark.parametrize("signed", [False, True])
def test_a_registry_that_is_away_keeps_nobody_from_going_on(
    tmp_path: Path, made: Made, key: Key, signed: bool
) -> None:
    signer = Signer()
    shelf = Shelf(made, signer.sign(made.digest))
    trust = Trust(key.public, signer.public if signed else "")
    first = validated(shelf, tmp_path / "cache", NAME, trust, NONE)
    assert first.candidate.validity is Validity.GOOD
    shelf.away = True
    again = validated(shelf, tmp_path / "cache", first.candidate.image, trust, NONE)
    assert again == first
    foreign = Trust(key.public, Signer().public)
    if signed:
        found = validated(shelf, tmp_path / "cache", first.candidate.image, foreign, NONE)
        assert "the key that is trusted" in found.candidate.message
    assert first.artifact is not None
    first.artifact.binary.write_bytes(b"tampered")
    found = validated(shelf, tmp_path / "cache", first.candidate.image, trust, NONE)
    assert "not signed as it should be" in found.candidate.message


def test_what_was_kept_counts_only_if_it_is_what_it_was(tmp_path: Path, made: Made, key: Key) -> None:
    shelf, trust = Shelf(made), Trust(key.public)
    first = validated(shelf, tmp_path / "cache", NAME, trust, NONE)
    for path in (tmp_path / "cache").glob("*/documents/*"):
        path.write_bytes(b"{}")
    shelf.away = True
    with pytest.raises(RegistryAway):
        validated(shelf, tmp_path / "cache", first.candidate.image, trust, NONE)


def test_a_tag_is_asked_for_each_time(tmp_path: Path, made: Made, key: Key) -> None:
    shelf, trust = Shelf(made), Trust(key.public)
    validated(shelf, tmp_path / "cache", NAME, trust, NONE)
    shelf.away = True
    with pytest.raises(RegistryAway):
        validated(shelf, tmp_path / "cache", NAME, trust, NONE)


def test_a_secret_that_cannot_be_had_is_told_of_when_it_is_wanted(
    tmp_path: Path, made: Made, key: Key
) -> None:
    shelf, trust = Shelf(made), Trust(key.public)
    lacking = PullSecrets({}, ("Secret shop/pull does not exist",))
    assert validated(shelf, tmp_path / "one", NAME, trust, lacking).artifact is not None
    shelf.closed = True
    with pytest.raises(SecretUnusable, match=r"wants credentials .*; Secret shop/pull does not exist"):
        validated(shelf, tmp_path / "other", NAME, trust, lacking)
    assert validated(shelf, tmp_path / "other", NAME, trust, NONE).candidate.validity is Validity.REFUSED


@pytest.mark.parametrize("name", ["../../secret", "secret", "*", f"sha256:{'0' * 64}", "1.sig"])
def test_nothing_but_what_was_kept_is_ever_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "cache/sha256-a/documents").mkdir(parents=True)
    for place in (
        "secret",
        "cache/secret",
        "cache/sha256-a/documents/secret",
        "cache/sha256-a/documents/1.sig",
    ):
        (tmp_path / place).write_bytes(b"secret")
    assert documents.find(tmp_path / "cache", name) is None
