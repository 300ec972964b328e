"""A program is pulled from a real registry by digest, from allowed hosts only, and kept for the next time."""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shiplift.kube.secrets import Hidden
from shiplift.quorum.images import cosign, credentials, pulling
from shiplift.quorum.images import registry as registries
from shiplift.quorum.images.errors import BadImage, Denied, ImageError, NotAllowed, NotFound, RegistryAway
from shiplift.quorum.images.fetching import Https
from shiplift.quorum.images.reference import Reference, allowed
from shiplift.quorum.images.registry import Image, Platform, Registry
from tests import registry as real
from tests.quorum.images_made import INDEX, Entry, Made, folder, image, index, layer, packed
from tests.quorum.signer import Signer

TAG = "RELEASE.2025-09-07T16-13-09Z"
AMD64 = Platform()
PATH = "/opt/bin:/usr/local/bin:/usr/bin"


@pytest.fixture(scope="module")
def at(minio_programs: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[real.Registry]:
    """Beside the other real parts: it is fetched over the network."""
    with real.running(tmp_path_factory.mktemp("registry")) as one:
        yield one


def program(content: bytes = b"program", where: str = "usr/bin") -> bytes:
    entries = [Entry(f"{where}/minio", content), Entry(f"{where}/minio.sha256sum", b"sum")]
    return packed(layer(folder(where), *entries, Entry(f"{where}/minio.minisig", b"signature")))


def soon() -> float:
    return time.monotonic() + 30


def https(reference: Reference, tls: ssl.SSLContext | None = None) -> Https:
    return Https(allowed(reference, ()), soon(), tls)


def asking(at: real.Registry, name: str, secrets: dict[str, Hidden] | None = None) -> Registry:
    reference = Reference.read(f"{at.host}/{name}")
    return Registry(https(reference, at.tls), reference, secrets or {})


def pulled(at: real.Registry, name: str, cache: Path) -> bytes:
    asked = asking(at, name)
    return pulling.program_of(asked.image(AMD64), asked, "minio", cache, soon()).program.read_bytes()


def test_a_program_is_pulled_with_the_files_beside_it(at: real.Registry, tmp_path: Path) -> None:
    made = image(packed(layer(Entry("etc/x", b"base"))), program(), labels={"release": TAG})
    at.put("store/minio", TAG, made)
    asked = asking(at, f"store/minio:{TAG}")
    found = asked.image(AMD64)
    assert (found.digest, found.config.labels["release"]) == (made.digest, TAG)
    kept = pulling.program_of(found, asked, "minio", tmp_path / "cache", soon())
    assert [path.read_bytes() for path in (kept.program, kept.checksum, kept.signature)] == [
        b"program",
        b"sum",
        b"signature",
    ]


def test_the_program_is_the_one_that_a_container_would_start(at: real.Registry, tmp_path: Path) -> None:
    at.put("store/two", "1", image(program(b"usr"), program(b"opt", "opt/bin"), path=PATH))
    assert pulled(at, "store/two:1", tmp_path) == b"opt"
    at.put("store/two", "2", image(program(b"usr"), program(b"opt", "opt/bin"), path="/usr/bin:/opt/bin"))
    assert pulled(at, "store/two:2", tmp_path) == b"usr"


def test_of_several_platforms_ours_is_taken_and_the_digest_is_that_of_the_whole(
    at: real.Registry, tmp_path: Path
) -> None:
    mine, other = image(program(b"amd64")), image(program(b"arm64"))
    for one in (mine, other):
        at.put("store/many", one.digest, one)
    whole = index((other, "arm64"), (mine, "amd64"))
    at.put_manifest("store/many", "1", whole, INDEX)
    asked = asking(at, "store/many:1")
    found = asked.image(AMD64)
    assert (found.manifest_digest, found.digest) == (mine.digest, Made({}, whole).digest)
    assert pulled(at, "store/many:1", tmp_path) == b"amd64"
    with pytest.raises(BadImage, match="is there for no linux/riscv64"):
        asked.image(Platform("linux", "riscv64"))


def test_what_was_pulled_is_not_pulled_again_and_what_is_lost_is(at: real.Registry, tmp_path: Path) -> None:
    made = image(program(b"once"))
    at.put("store/kept", "1", made)
    pulled(at, "store/kept:1", tmp_path / "cache")
    blobs = [at.blob_file(part.digest) for part in asking(at, "store/kept:1").image(AMD64).layers]
    held = [(blob, blob.read_bytes()) for blob in blobs]
    for blob in blobs:
        blob.write_bytes(b"")
    assert pulled(at, "store/kept:1", tmp_path / "cache") == b"once"
    with pytest.raises(ImageError):
        pulled(at, "store/kept:1", tmp_path / "another cache")
    for blob, content in held:
        blob.write_bytes(content)
    assert pulled(at, "store/kept:1", tmp_path / "another cache") == b"once"
    assert [path.name for path in (tmp_path / "another cache").iterdir()] == [made.digest.replace(":", "-")]


def test_what_nobody_wants_any_more_is_forgotten(at: real.Registry, tmp_path: Path) -> None:
    one, other = image(program(b"1")), image(program(b"2"))
    for number, made in enumerate((one, other)):
        at.put("store/forgotten", str(number), made)
        pulled(at, f"store/forgotten:{number}", tmp_path)
    (tmp_path / "pulling-killed").mkdir()
    pulling.forget_all_but(tmp_path, frozenset({other.digest}))
    assert [path.name for path in tmp_path.iterdir()] == [other.digest.replace(":", "-")]


def test_a_layer_that_the_registry_changed_is_refused(at: real.Registry, tmp_path: Path) -> None:
    made = image(program(b"a" * 5000))
    at.put("store/changed", "1", made)
    found = asking(at, "store/changed:1").image(AMD64)
    blob = at.blob_file(found.layers[0].digest)
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    with pytest.raises(BadImage, match="what the registry sent is not sha256:"):
        pulled(at, "store/changed:1", tmp_path)
    assert not list(tmp_path.glob("sha256-*/minio"))


@pytest.mark.parametrize("missing", ["minio", "minio.sha256sum", "minio.minisig"])
def test_an_image_without_one_of_the_three_files_is_refused_by_name(
    at: real.Registry, tmp_path: Path, missing: str
) -> None:
    names = [name for name in ("minio", "minio.sha256sum", "minio.minisig") if name != missing]
    at.put("store/lacking", missing, image(packed(layer(*(Entry(f"usr/bin/{name}") for name in names)))))
    with pytest.raises(BadImage, match=f"the image has no .*{missing}"):
        pulled(at, f"store/lacking:{missing}", tmp_path)


def test_a_tag_or_digest_that_is_not_there_is_not_found(at: real.Registry) -> None:
    for name in ("store/none:1", f"store/none@sha256:{'0' * 64}"):
        with pytest.raises(NotFound, match="does not have"):
            asking(at, name).image(AMD64)


def test_an_image_that_is_too_large_is_refused_before_it_is_pulled(
    at: real.Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.put("store/large", "1", image(program()))
    monkeypatch.setattr(registries, "MOST_IMAGE", 10)
    with pytest.raises(NotAllowed, match="more than"):
        pulled(at, "store/large:1", tmp_path)


def test_a_registry_whose_certificate_is_not_trusted_is_not_believed(at: real.Registry) -> None:
    reference = Reference.read(f"{at.host}/store/minio:1")
    with pytest.raises(RegistryAway, match="shows a certificate that is not trusted"):
        Registry(https(reference), reference, {}).image(AMD64)


def test_a_registry_that_is_away_may_come_back(at: real.Registry) -> None:
    reference = Reference.read("127.0.0.1:1/store/minio:1")
    with pytest.raises(RegistryAway, match=r"cannot connect to 127.0.0.1 port 1"):
        Registry(https(reference, at.tls), reference, {}).image(AMD64)


def test_a_host_that_is_not_allowed_is_never_asked(at: real.Registry) -> None:
    reference = Reference.read(f"{at.host}/store/minio:1")
    with pytest.raises(NotAllowed, match=r"trust.registries does not have it"):
        Registry(Https(frozenset({"registry.example"}), soon(), at.tls), reference, {}).image(AMD64)


def secret(host: str, user: str, password: str) -> dict[str, Hidden]:
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    return credentials.read(Hidden(json.dumps({"auths": {host: {"auth": pair}}}).encode()))


def test_a_registry_that_asks_who_is_told_from_the_pull_secret(
    minio_programs: object, tmp_path: Path
) -> None:
    with real.running(tmp_path / "registry", asks_who=True) as at:
        at.put("store/minio", "1", image(program()))
        right = secret(at.host, real.USER, real.PASSWORD)
        asked = asking(at, "store/minio:1", right)
        kept = pulling.program_of(asked.image(AMD64), asked, "minio", tmp_path / "cache", soon())
        assert kept.program.read_bytes() == b"program"
        wrong = secret(at.host, real.USER, "wrong")
        for secrets in ({}, wrong, secret("elsewhere:1", real.USER, real.PASSWORD)):
            with pytest.raises(Denied) as refused:
                asking(at, "store/minio:1", secrets).image(AMD64)
            assert "wrong" not in str(refused.value)


@pytest.fixture(scope="module")
def signer() -> Signer:
    return Signer()


def beside(digest: str) -> str:
    return f"{digest.replace(':', '-')}.sig"


def test_an_image_signed_with_the_key_passes_and_only_with_that_key(
    at: real.Registry, signer: Signer
) -> None:
    made = image(program(b"signed"))
    at.put("store/signed", "1", made)
    asked = asking(at, "store/signed:1")
    with pytest.raises(BadImage, match="has no cosign signature"):
        cosign.verify(asked, made.digest, signer.public)
    at.put("store/signed", beside(made.digest), signer.sign(made.digest))
    cosign.verify(asked, made.digest, signer.public)
    with pytest.raises(BadImage, match="was made with the key that is trusted"):
        cosign.verify(asked, made.digest, Signer().public)


def test_a_good_signature_of_another_image_or_another_kind_does_not_count(
    at: real.Registry, signer: Signer
) -> None:
    made = image(program(b"not signed"))
    at.put("store/unsigned", "1", made)
    asked = asking(at, "store/unsigned:1")
    for forged in (signer.sign(f"sha256:{'1' * 64}"), signer.sign(made.digest, "something else")):
        at.put("store/unsigned", beside(made.digest), forged)
        with pytest.raises(BadImage, match="was made with the key that is trusted"):
            cosign.verify(asked, made.digest, signer.public)


@pytest.mark.parametrize("text", ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_what_is_no_key_is_named(at: real.Registry, text: str) -> None:
    with pytest.raises(NotAllowed, match=r"trust.cosignKey is no public key"):
        cosign.verify(asking(at, "store/minio:1"), "sha256:0", text)


def test_the_layers_of_an_image_are_bounded_in_number(
    at: real.Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registries, "MOST_LAYERS", 1)
    at.put("store/layers", "1", image(program(b"1"), program(b"2")))
    with pytest.raises(NotAllowed, match="has 2 layers, more than 1"):
        asking(at, "store/layers:1").image(AMD64)


def test_discarded_is_pulled_anew(at: real.Registry, tmp_path: Path) -> None:
    at.put("store/damaged", "1", image(program(b"good")))
    asked = asking(at, "store/damaged:1")
    found: Image = asked.image(AMD64)
    kept = pulling.program_of(found, asked, "minio", tmp_path, soon())
    kept.program.write_bytes(b"damaged")
    pulling.discard(found, tmp_path)
    assert pulled(at, "store/damaged:1", tmp_path) == b"good"
    assert msgspec.structs.asdict(found)
