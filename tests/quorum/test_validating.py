"""Step 1: what is wrong with an image is told with its reason; what cannot be said yet is tried again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shiplift.quorum.engines.minio import MinIO
from shiplift.quorum.images.credentials import PullSecrets
from shiplift.quorum.images.errors import RegistryAway
from shiplift.quorum.images.fetching import Https
from shiplift.quorum.images.registry import Platform
from shiplift.quorum.model import Validity
from shiplift.quorum.validating import Trust, Validated, Validator
from shiplift.quorum.wire import Direct
from tests import registry as registries
from tests.minio.keys import Key
from tests.minio.servers import CREDENTIALS
from tests.quorum.images_made import Entry, Made, image, layer
from tests.quorum.signer import Signer

TAG = "RELEASE.2025-09-07T16-13-09Z"
NONE = PullSecrets({})
SAYS_IT = f"#!/bin/sh\necho minio version {TAG}\n".encode()


@pytest.fixture(scope="module")
def registry(
    minio_programs: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[registries.Registry]:
    """Beside the other real parts: it is fetched over the network."""
    with registries.running(tmp_path_factory.mktemp("registry")) as one:
        yield one


def made(tmp_path: Path, key: Key, content: bytes = SAYS_IT, sum_of: bytes | None = None) -> Made:
    program = tmp_path / "program"
    program.write_bytes(content)
    checksum = hashlib.sha256(content if sum_of is None else sum_of).hexdigest()
    return image(
        layer(
            Entry("usr/bin/minio", content),
            Entry("usr/bin/minio.sha256sum", f"{checksum}  minio.{TAG}\n".encode()),
            Entry("usr/bin/minio.minisig", key.sign(program)),
        )
    )


class Case:
    """A registry, a validator and a key."""

    def __init__(self, registry: registries.Registry, tmp_path: Path) -> None:
        self.registry, self._cache = registry, tmp_path / "cache"
        self.trust = Trust(Key().public)

    def validate(self, name: str, trust: Trust, secrets: PullSecrets = NONE) -> Validated:
        engine = MinIO(Direct(), CREDENTIALS)
        opening = lambda hosts, deadline: Https(hosts, deadline, self.registry.tls)  # noqa: E731 - a way, not a function
        return Validator(engine, opening, self._cache, Platform()).validate(name, trust, secrets)


@pytest.fixture
def case(registry: registries.Registry, tmp_path: Path) -> Case:
    return Case(registry, tmp_path)


def put(case: Case, repository: str, one: Made, tag: str = TAG) -> str:
    case.registry.put(f"validated/{repository}", tag, one)
    return f"{case.registry.host}/validated/{repository}:{tag}"


def test_a_good_image_is_named_by_digest_and_its_binary_can_be_lent(case: Case, tmp_path: Path) -> None:
    key = Key()
    one = made(tmp_path, key)
    name = put(case, "good", one)
    found = case.validate(name, Trust(key.public))
    assert found.candidate.validity is Validity.GOOD
    assert (found.candidate.version, found.candidate.image) == (TAG, f"{name}@{one.digest}")
    assert found.artifact is not None
    assert (found.artifact.name, found.artifact.binary.read_bytes()) == (f"minio.{TAG}", SAYS_IT)
    assert found.notes == ("the image's own signature is not checked: trust.cosignKey is not set",)


def test_an_image_by_digest_is_what_it_was_though_its_tag_names_another(case: Case, tmp_path: Path) -> None:
    key = Key()
    one = made(tmp_path, key)
    name = put(case, "moved", one)
    put(case, "moved", made(tmp_path, key, SAYS_IT + b"# another\n"))
    found = case.validate(f"{name}@{one.digest}", Trust(key.public))
    assert found.candidate.image == f"{name}@{one.digest}"


def test_what_is_kept_is_checked_again(case: Case, tmp_path: Path) -> None:
    key = Key()
    name = put(case, "kept", made(tmp_path, key))
    first = case.validate(name, Trust(key.public))
    assert first.artifact is not None
    first.artifact.binary.write_bytes(b"#!/bin/sh\necho tampered\n")
    damaged = case.validate(name, Trust(key.public))
    assert "not signed as it should be" in damaged.candidate.message
    assert case.validate(name, Trust(key.public)).candidate.validity is Validity.GOOD


def test_each_thing_that_is_wrong_is_told(case: Case, tmp_path: Path) -> None:
    key = Key()
    trust = Trust(key.public)
    good = put(case, "wrong", made(tmp_path, key))
    elsewhere = msgspec.structs.replace(trust, registries=("registry.example",))
    broken = put(case, "broken", made(tmp_path, key, b"#!/bin/sh\nexit 1\n"))
    summed = put(case, "summed", made(tmp_path, key, sum_of=b"another"))
    other = put(case, "tagged", made(tmp_path, key), "RELEASE.2025-10-01T00-00-00Z")
    unsigned = put(case, "unsigned", image(layer(Entry("usr/bin/minio", SAYS_IT))))
    told = {
        "comes from": case.validate(good, elsewhere),
        "not signed as it should be": case.validate(good, Trust(Key().public)),
        "ended with 1": case.validate(broken, trust),
        "does not have the checksum": case.validate(summed, trust),
        "its image says RELEASE.2025-10-01": case.validate(other, trust),
        "has no /usr/bin/minio.sha256sum": case.validate(unsigned, trust),
        "does not have": case.validate(f"{case.registry.host}/validated/none:1", trust),
        "has no cosign signature": case.validate(
            good, msgspec.structs.replace(trust, cosign_key=Signer().public)
        ),
        "is no image with a tag": case.validate(f"{case.registry.host}/validated/wrong", trust),
    }
    for words, found in told.items():
        assert (found.candidate.validity, found.artifact) == (Validity.REFUSED, None), words
        assert words in found.candidate.message


def test_a_registry_that_is_away_says_nothing_of_an_image(case: Case) -> None:
    with pytest.raises(RegistryAway):
        case.validate("127.0.0.1:1/validated/good:1", case.trust)
