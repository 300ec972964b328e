"""A binary is given to servers when its signature, its checksum and its own word all hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shiplift.quorum.binary import Refused, check
from shiplift.quorum.engines.minio import MinIO
from shiplift.quorum.images.pulling import Pulled
from shiplift.quorum.wire import Direct
from tests.minio import builds
from tests.minio.keys import Key
from tests.minio.servers import CREDENTIALS
from tests.quorum.conftest import Programs

TAG = "RELEASE.2025-09-07T16-13-09Z"
ENGINE = MinIO(Direct(), CREDENTIALS)
KEY = Key()
Make = Callable[[bytes], Pulled]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A program with right files beside it."""

    def made(content: bytes) -> Pulled:
        pulled = Pulled(tmp_path / "program", tmp_path / "checksum", tmp_path / "signature")
        pulled.program.write_bytes(content)
        pulled.program.chmod(0o755)
        pulled.checksum.write_text(f"{hashlib.sha256(content).hexdigest()}  minio.{TAG}\n")
        pulled.signature.write_bytes(KEY.sign(pulled.program))
        return pulled

    return made


def script(*lines: str) -> bytes:
    return "\n".join(("#!/bin/sh", *lines, "")).encode()


SAYS_IT = script(f"echo 'minio version {TAG} (commit-id=07c3a429bfed)'")


def checked(pulled: Pulled, tag: str = TAG, labels: dict[str, str] | None = None, key: str = KEY.public):
    return check(pulled, ENGINE, key, tag, labels or {})


def test_a_good_binary_passes_with_its_version(make: Make) -> None:
    found = checked(make(SAYS_IT))
    assert (found.version, found.ran) == (TAG, True)
    assert found.sha256 == hashlib.sha256(SAYS_IT).hexdigest()


def test_a_real_binary_says_its_version(
    minio_programs: Programs, tmp_path: Path, signature: bytes, key: Key
) -> None:
    pulled = Pulled(tmp_path / "program", tmp_path / "checksum", tmp_path / "signature")
    pulled.program.symlink_to(minio_programs.new)
    with minio_programs.new.open("rb") as file:
        pulled.checksum.write_text(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  minio.{TAG}\n")
    pulled.signature.write_bytes(signature)
    found = check(pulled, ENGINE, key.public, TAG, {})
    assert (found.version, found.ran) == (builds.NEW.tag, True)


def test_a_binary_signed_by_another_key_is_refused(make: Make) -> None:
    with pytest.raises(Refused, match="not signed as it should be"):
        checked(make(SAYS_IT), key=Key().public)


def test_a_tampered_binary_is_refused_and_never_run(make: Make, tmp_path: Path) -> None:
    pulled = make(SAYS_IT)
    ran = tmp_path / "ran"
    pulled.program.write_bytes(script(f"touch {ran}"))
    with pytest.raises(Refused, match="not signed as it should be"):
        checked(pulled)
    assert not ran.exists()


def test_a_binary_without_its_checksum_is_refused_and_never_run(make: Make, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    tmp_path.chmod(0o777)
    pulled = make(script(f"touch {ran}"))
    pulled.checksum.write_text(f"{'0' * 64}  minio.{TAG}\n")
    with pytest.raises(Refused, match="does not have the checksum"):
        checked(pulled)
    assert not ran.exists()


@pytest.mark.parametrize("text", ["", "deadbeef\n", f"{'0' * 64}", f"{'0' * 64}  a  b\n", "x" * 9000])
def test_a_checksum_file_that_is_none_is_refused(make: Make, text: str) -> None:
    pulled = make(SAYS_IT)
    pulled.checksum.write_text(text)
    with pytest.raises(Refused, match="is not a checksum and a name"):
        checked(pulled)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (script("exit 1"), "ended with 1"),
        (script("echo hello"), "does not say a version"),
        (script("echo minio version DEVELOPMENT.GOGET"), "is no version of MinIO"),
        (script("kill -9 $$"), "ended with -9"),
        (b"\x7fELFbroken", "cannot be run"),
        (b"not a program", "cannot be run"),
    ],
)
def test_a_signed_but_broken_binary_is_refused(make: Make, content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        checked(make(content))


def test_a_binary_that_does_not_end_is_refused(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiplift.quorum.binary._RUN_SECONDS", 0.5)
    with pytest.raises(Refused, match="did not say its version within"):
        checked(make(script("exec /bin/sleep 60")))


def test_a_binary_of_another_version_than_the_tag_is_refused(make: Make) -> None:
    with pytest.raises(Refused, match=r"says that it is .*09-07.*, its image says .*09-08"):
        checked(make(SAYS_IT), "RELEASE.2025-09-08T16-13-09Z")


def test_where_the_tag_is_no_version_a_label_is_compared(make: Make) -> None:
    assert checked(make(SAYS_IT), "latest", {"release": TAG}).version == TAG
    with pytest.raises(Refused, match=r"its image says RELEASE\.2024"):
        checked(make(SAYS_IT), "latest", {"version": "RELEASE.2024-09-07T16-13-09Z"})


def foreign() -> bytes:
    """An ELF header of a machine that nobody has here."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + b"\x16\x00" + bytes(100)


def test_a_binary_for_another_machine_goes_by_what_its_image_says_and_that_is_told(make: Make) -> None:
    found = checked(make(foreign()))
    assert (found.version, found.ran) == (TAG, False)


def test_a_binary_for_another_machine_without_a_version_is_refused(make: Make) -> None:
    with pytest.raises(Refused, match="cannot run here"):
        checked(make(foreign()), "latest")


def test_it_runs_without_our_rights_and_settings(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "x")
    content = script(
        '[ -z "$SECRET_OF_OURS" ] || exit 3',
        '[ "$(/usr/bin/id -u)" != 0 ] || exit 4',
        f"echo minio version {TAG}",
    )
    assert checked(make(content)).ran
    assert os.environ["SECRET_OF_OURS"] == "x"
