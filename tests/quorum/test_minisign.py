"""A file is believed when the one trusted key signed it, whole, with its comment; else the error says why."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.quorum.minisign import MOST_TEXT, PublicKey, SignatureError, verify
from tests.minio.keys import Key

KEY = Key()
TRUSTED = PublicKey.read(KEY.public)
PUBLISHERS_OWN = "RWTx5Zr1tiHQLwG9keckT0c45M3AGeHD6IvimQHpyRywVWGbP1aVSGav"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "minio"
    path.write_bytes(b"\x7fELF" + bytes(range(256)) * 5000)
    return path


def test_a_signed_file_is_believed_with_its_comment(file: Path) -> None:
    assert verify(file, KEY.sign(file, "released today"), TRUSTED).comment == "released today"


def test_a_signature_over_the_file_itself_is_believed_too(file: Path) -> None:
    assert verify(file, KEY.sign_whole(file), TRUSTED).comment == "file:minio"


def test_the_publishers_key_is_read() -> None:
    assert PublicKey.read(f"{PUBLISHERS_OWN}\n").id[::-1].hex().upper() == "2FD021B6F59AE5F1"


def test_a_signature_of_another_key_is_refused_and_both_keys_are_named(file: Path) -> None:
    with pytest.raises(
        SignatureError, match=r"signed with the minisign key [0-9A-F]{16}, and [0-9A-F]{16} is"
    ):
        verify(file, Key().sign(file), TRUSTED)


def test_another_key_with_the_same_id_does_not_pass(file: Path) -> None:
    with pytest.raises(SignatureError, match="the signature of the file was not made with"):
        verify(file, Key(KEY.id).sign(file), TRUSTED)


@pytest.mark.parametrize("form", ["sign", "sign_whole"])
def test_a_file_that_was_changed_after_signing_is_refused(file: Path, form: str) -> None:
    signature: bytes = getattr(KEY, form)(file)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(SignatureError, match="the signature of the file was not made with"):
        verify(file, signature, TRUSTED)


def test_a_changed_comment_is_refused(file: Path) -> None:
    signature = KEY.sign(file, "version 1").replace(b"version 1", b"version 2")
    with pytest.raises(SignatureError, match="the signature of the comment was not made with"):
        verify(file, signature, TRUSTED)


def test_a_comment_is_signed_as_it_is_whatever_characters_it_has(file: Path) -> None:
    assert verify(file, KEY.sign(file, "a\u2028b\x0bc"), TRUSTED).comment == "a\u2028b\x0bc"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "four lines"),
        (b"untrusted comment: x\nAAAA\n", "four lines"),
        (b"a comment: x\nAAAA\ntrusted comment: y\nAAAA\n", "four lines"),
        (b"untrusted comment: x\n????\ntrusted comment: y\nAAAA\n", "second line .* is not base64"),
        (b"untrusted comment: x\nAAAA\ntrusted comment: y\n????\n", "fourth line .* is not base64"),
        (b"untrusted comment: x\nAAAA\ntrusted comment: y\nAAAA\n", "wrong kind or size"),
        (b"\xff\xfe", "not text"),
        (b"x" * (MOST_TEXT + 1), "more than"),
    ],
)
def test_what_is_no_signature_is_refused_by_name(file: Path, text: bytes, why: str) -> None:
    with pytest.raises(SignatureError, match=why):
        verify(file, text, TRUSTED)


@pytest.mark.parametrize("text", ["", "RW", "RW!!", base64.b64encode(b"ED" + bytes(40)).decode()])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(SignatureError, match="the minisign key"):
        PublicKey.read(text)


@given(st.binary(max_size=400))
def test_whatever_a_signature_file_holds_it_is_refused_and_nothing_else_happens(content: bytes) -> None:
    with pytest.raises(SignatureError):
        verify(Path(__file__), content, TRUSTED)
