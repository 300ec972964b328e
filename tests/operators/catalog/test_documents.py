"""Whatever somebody puts into a file, it is read or refused: in a moment, and in one line."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.operators.catalog import documents as module
from shiplift.operators.catalog.documents import UnreadableError, documents

LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


def test_documents_are_read_from_yaml_and_json() -> None:
    assert documents(b"a: 1\n---\nb: 2\n---\n") == [{"a": 1}, {"b": 2}]
    assert documents(b'{"a": 1}\n\n{"b": [2]} ') == [{"a": 1}, {"b": [2]}]
    assert documents(b"{a: 1}") == [{"a": 1}]
    assert documents(b"\xef\xbb\xbf{}") == [{}]
    assert documents(b"") == []


def test_dates_and_a_lone_equals_sign_are_text_as_for_kubernetes() -> None:
    assert documents(b"a: 2020-01-01T00:00:00Z") == [{"a": "2020-01-01T00:00:00Z"}]
    assert documents(b"a: 2020-01-01\nb: =\n") == [{"a": "2020-01-01", "b": "="}]


def test_an_anchor_may_be_used_again() -> None:
    assert documents(b"a: &a [1]\nb: *a") == [{"a": [1], "b": [1]}]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff\xfe", "it is not UTF-8"),
        (b"a: [", "it is no YAML: line 2"),
        (b"a: b: c", "it is no YAML: line 1: mapping values are not allowed"),
        (b"\0", "it is no YAML"),
        (b"a: !!python/object:os.system x", "it is no YAML"),
        (b'{"a": ', "it is no YAML"),
        (LAUGHS.encode(), "its anchors make it huge"),
        (b"a: &a [*a]", "something in it contains itself"),
        (b"[" * 100_000, "nested too deeply|it is no YAML"),
        (b"- " * 10_000, "nested too deeply|it is no YAML"),
        (b'{"a":' * 100_000, "nested too deeply|it is no YAML"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_cannot_be_read_is_refused_with_a_reason(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        documents(data)


def test_what_is_too_large_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_YAML", 1 << 20)
    monkeypatch.setattr(module, "MOST_JSON", 2 << 20)
    with pytest.raises(UnreadableError, match="it is YAML of more than 1 MiB; write it as JSON"):
        documents(b"a: " + b"x" * (1 << 20))
    with pytest.raises(UnreadableError, match="it is larger than 2 MiB"):
        documents(b'{"a": "' + b"x" * (2 << 20))


@given(st.binary(max_size=60) | st.text(alphabet="{}[]&*:-\n !|>a\"'", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(UnreadableError):
        assert isinstance(documents(data), list)
