"""The leader's listener: opened when it is needed, never after its term, and its address as pods see it."""

from __future__ import annotations

import hashlib
import os
import socket
import urllib.request
from pathlib import Path

import pytest

from shiplift.kube.config import Looked
from shiplift.quorum.artifacts import Artifacts, CannotServe, base_url, own_address, serving_host
from shiplift.quorum.engines.protocol import Answered
from shiplift.quorum.serving import Artifact
from shiplift.quorum.settings import Section

NAME = "minio.RELEASE.2025-09-07T16-13-09Z"


class Settings:
    """Says what stands in the ConfigMap."""

    def __init__(self, section: Section | None, trouble: str = "") -> None:
        self._looked = Looked(section, trouble)

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

    found.lend("a-1", artifact, lambda port: f"http://127.0.0.1:{port}", call)
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
