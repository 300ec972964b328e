"""The leader's listener: opened when it is needed, never after its term, and its address as pods see it."""

from __future__ import annotations

import hashlib
import os
import socket
import ssl
import urllib.request
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from shiplift.kube.config import Looked
from shiplift.local import pki
from shiplift.quorum import artifacts as module
from shiplift.quorum.artifacts import Artifacts, CannotServe, base_url, own_address, serving_host
from shiplift.quorum.decide.course import VALIDATE_LIMIT
from shiplift.quorum.engines.protocol import Answered
from shiplift.quorum.images.errors import RegistryAway
from shiplift.quorum.serving import Artifact
from shiplift.quorum.settings import Section
from shiplift.quorum.validating import MOST_SECONDS

NAME = "minio.RELEASE.2025-09-07T16-13-09Z"


class Settings:
    """Says what stands in the ConfigMap."""

    def __init__(self, section: Section | None, trouble: str = "") -> None:
        self._looked = Looked(section, trouble)

    def look_at(self, section: Section) -> None:
        self._looked = Looked(section, "")

    def look(self) -> Looked[Section]:
        return self._looked


def artifacts(section: Section | None = None, trouble: str = "") -> Artifacts:
    given = None if trouble else section or Section(listen="127.0.0.1:0")
    return Artifacts(Settings(given, trouble))  # pyright: ignore[reportArgumentType]


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    program = tmp_path / "program"
    program.write_bytes(b"the real one")
    return Artifact(NAME, program, hashlib.sha256(b"the real one").hexdigest(), b"signature")


def fetched(found: Artifacts, artifact: Artifact) -> bytes:
    seen: list[bytes] = []

    def call(url: str) -> Answered:
        with urllib.request.urlopen(url.replace(".sha256sum", ""), timeout=5) as answer:
            seen.append(answer.read())
        return Answered(())

    found.lend("a-1", artifact, lambda port, scheme: f"{scheme}://127.0.0.1:{port}", call)
    return seen[0]


def test_a_binary_can_be_had_while_it_is_lent(artifact: Artifact) -> None:
    found = artifacts()
    assert fetched(found, artifact) == b"the real one"
    found.close()


def test_a_bait_has_the_name_and_the_signature_and_is_another_file(artifact: Artifact) -> None:
    found = artifacts()
    bait = found.bait(artifact)
    assert (bait.name, bait.signature) == (artifact.name, artifact.signature)
    content = fetched(found, bait)
    assert bait.sha256 == hashlib.sha256(content).hexdigest() != artifact.sha256
    found.close()
    assert not bait.binary.exists()


def test_nothing_is_handed_out_after_the_term(artifact: Artifact) -> None:
    found = artifacts()
    found.close()
    with pytest.raises(CannotServe, match="the term is over"):
        fetched(found, artifact)


def test_a_port_that_is_taken_and_settings_that_are_bad_are_named(artifact: Artifact) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotServe, match=f"cannot listen on 127.0.0.1:{port}"):
            fetched(artifacts(Section(listen=f"127.0.0.1:{port}")), artifact)
    with pytest.raises(CannotServe, match="no good"):
        fetched(artifacts(trouble="no good"), artifact)


def test_a_binary_is_had_over_https_with_a_certificate_that_is_trusted(
    artifact: Artifact, tmp_path: Path
) -> None:
    pki.write_all(tmp_path)
    section = Section(
        listen="127.0.0.1:0", certificate=str(tmp_path / "server.crt"), key=str(tmp_path / "server.key")
    )
    found, seen = artifacts(section), list[bytes]()
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))

    def call(url: str) -> Answered:
        with urllib.request.urlopen(url.replace(".sha256sum", ""), timeout=5, context=trusting) as answer:
            seen.append(answer.read())
        return Answered(())

    found.lend("a-1", artifact, lambda port, scheme: base_url(None, "127.0.0.1", port, scheme), call)
    found.close()
    assert seen == [b"the real one"]


def test_a_certificate_is_read_anew_and_the_scheme_is_that_of_the_listener(
    artifact: Artifact, tmp_path: Path
) -> None:
    for folder in (tmp_path / "first", tmp_path / "second"):
        pki.write_all(folder)
    settings = Settings(secured(tmp_path / "first"))
    found, asked = Artifacts(settings), list[str]()  # pyright: ignore[reportArgumentType]

    def call(url: str, folder: Path) -> Answered:
        trusting = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        with urllib.request.urlopen(url, timeout=5, context=trusting):
            asked.append(url)
        return Answered(())

    for section, folder in (
        (secured(tmp_path / "first"), tmp_path / "first"),
        (secured(tmp_path / "second"), tmp_path / "second"),
        (Section(listen="127.0.0.1:0"), tmp_path / "second"),
    ):
        settings.look_at(section)
        found.lend(
            "a-1",
            artifact,
            lambda port, scheme: base_url(None, "127.0.0.1", port, scheme),
            lambda url, folder=folder: call(url, folder),
        )
    found.close()
    assert len({url.partition("/a-1")[0] for url in asked}) == 1


def secured(folder: Path) -> Section:
    return Section(
        listen="127.0.0.1:0", certificate=str(folder / "server.crt"), key=str(folder / "server.key")
    )


def test_a_certificate_that_is_none_is_named_and_one_without_its_key_is_refused(
    artifact: Artifact, tmp_path: Path
) -> None:
    (tmp_path / "x.crt").write_text("nothing")
    section = Section(listen="127.0.0.1:0", certificate=str(tmp_path / "x.crt"), key=str(tmp_path / "x.crt"))
    with pytest.raises(CannotServe, match=r"x\.crt are no certificate and its key"):
        fetched(artifacts(section), artifact)
    with pytest.raises(msgspec.ValidationError, match="certificate and key go together"):
        msgspec.convert({"certificate": "/x.crt"}, Section)


def test_pods_are_told_the_address_that_has_the_way_to_them() -> None:
    assert own_address("127.0.0.9").startswith("127.")
    assert base_url(None, "127.0.0.9", 8090) == f"http://{own_address('127.0.0.9')}:8090"
    assert base_url("https://operator.example/x", "127.0.0.9", 1) == "https://operator.example/x"
    assert serving_host("https://operator.example:7/x", "") == "operator.example"


@pytest.mark.parametrize(
    ("listen", "address"), [(":8090", ("", 8090)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:7", ("::1", 7))]
)
def test_where_to_listen_is_read(listen: str, address: tuple[str, int]) -> None:
    assert Section(listen=listen).address == address


def test_the_cache_is_ours_alone_and_holds_what_services_have_pulled(tmp_path: Path) -> None:
    found = artifacts(Section(listen="127.0.0.1:0", cache=str(tmp_path / "cache")))
    with found.pulling() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        for name in ("sha256-a", "sha256-b", "pulling-left", "sha256-young"):
            (folder / name / "minio").mkdir(parents=True)
            if name != "sha256-young":
                os.utime(folder / name, (0, 0))
        mine = Artifact(NAME, folder / "sha256-a/minio/program", "", b"")
        found.keep("shop/store", mine, folder)
        assert {one.name for one in folder.iterdir()} == {"sha256-a", "sha256-young"}
        found.keep("shop/store", None, folder)
        assert [one.name for one in folder.iterdir()] == ["sha256-young"]


def test_a_cache_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    found = artifacts(Section(listen="127.0.0.1:0", cache=str(tmp_path / "cache")))
    with pytest.raises(CannotServe, match="belongs to somebody else"), found.pulling():
        pass


def test_who_waits_too_long_for_a_turn_to_pull_is_told_and_may_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TURN_SECONDS", 0.01)
    found = artifacts(Section(listen="127.0.0.1:0", cache=str(tmp_path / "cache")))
    with found.pulling(), pytest.raises(RegistryAway, match="of other services"), found.pulling():
        pass
    with found.pulling():
        pass


def test_a_turn_and_a_pull_end_before_the_time_of_a_validation_is_up() -> None:
    assert timedelta(seconds=module.TURN_SECONDS + MOST_SECONDS + 60) < VALIDATE_LIMIT
