"""Texts that somebody else has written: what is odd about them is named, and nothing is lost in silence."""

from __future__ import annotations

import pytest

from shiplift.kube.documents import MOST_BYTES, DocumentError, read


def test_yaml_and_json_say_the_same() -> None:
    assert read("a: [1, x]\nb: {c: true}\n") == read(b'{"a": [1, "x"], "b": {"c": true}}')
    assert read("") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &x 1\nb: *x", "anchors and aliases are not read"),
        ("a: 1\nb: 2\na: 3\n", "line 1: 'a' is there twice"),
        ("x:\n  a: 1\n  a: 3\n", "line 2: 'a' is there twice"),
        ("a: [1,", "line 1: not YAML"),
        ("a: !!python/object/apply:os.system [id]", "not YAML: could not determine a constructor"),
        ("\x00", "not YAML"),
        (b"\xff\xfe\xff", "not YAML"),
        ("[" * 5000, "not YAML"),
        ("a: 2026-99-99", "not YAML"),
        ("? [1]\n: 2", "not YAML"),
        ("x" * (MOST_BYTES + 1), "larger than"),
    ],
)
def test_what_is_odd_is_named(text: str | bytes, why: str) -> None:
    with pytest.raises(DocumentError, match=why):
        read(text)


def test_aliases_never_make_a_small_text_large() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    with pytest.raises(DocumentError, match="aliases are not read"):
        read("\n".join(lines))
