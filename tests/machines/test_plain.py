"""What machines say reaches a terminal as text, whatever they say."""

from __future__ import annotations

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.machines.ssh import door
from shiplift.machines.ssh.door import Target
from shiplift.machines.ssh.errors import CutOffError, RefusedError
from shiplift.machines.ssh.plain import plain
from tests.machines.world import KEY

WILD = "E: \x1b]0;owned\x07\x1b[2J\x1b[1;1Hall is well\rxx"
TAME = "E: all is well\nxx"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (WILD, TAME),
        ("\x1b[31m[ERROR Mem]\x1b[0m: too little\n", "[ERROR Mem]: too little\n"),
        ("10%\r20%\r\ndone", "10%\n20%\ndone"),
        ("\x9b2Jx\x9d0;t\x9cy", "xy"),
        ("\x1bcreset\x1b(Bx", "resetx"),
        ("a\u202eb\u200b\x00\x7f\x08c\x85d", "abc\nd"),
        ("\x1b", ""),
        ("tab\there, Größe 5\u00a0GiB 猫 \ufffd\n", "tab\there, Größe 5\u00a0GiB 猫 \ufffd\n"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_act_on_is_left_out(said: str, shown: str) -> None:
    assert plain(said) == shown


@given(st.text(), st.text(st.sampled_from("\x1b\x9b\x9c\x07[]0;mc\\\r\n\tx")))
def test_no_text_gets_past_with_a_control_character(any_text: str, wild: str) -> None:
    for said in (any_text, wild, wild + any_text):
        shown = plain(said)
        assert all(one in "\n\t" or unicodedata.category(one)[0] != "C" for one in shown)
        assert plain(shown) == shown


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, include_characters="\n\t")))
def test_ordinary_text_stays_as_it_is(said: str) -> None:
    assert plain(said) == said


def test_every_text_of_an_answer_is_plain() -> None:
    answer = {"ok": {"commands": [{"tail": WILD}], "mark": {"name": WILD}, "number": 1, "ready": True}}
    assert door._answer(msgspec.json.encode(answer)) == {
        "commands": [{"tail": TAME}],
        "mark": {"name": TAME},
        "number": 1,
        "ready": True,
    }


def test_why_a_machine_refuses_is_plain() -> None:
    with pytest.raises(RefusedError) as refused:
        door._answer(msgspec.json.encode({"error": WILD}))
    assert str(refused.value) == TAME


def test_what_a_machine_complains_of_is_plain() -> None:
    target = Target("w-1", "10.0.0.10", 22, KEY)
    assert (
        str(door._failure(target, 1, WILD.encode()))
        == "its python3 ended with exit code 1: E: all is well xx"
    )


def test_an_answer_without_end_in_itself_is_none_of_ours() -> None:
    with pytest.raises(CutOffError, match="is no answer of ours"):
        door._answer(b'{"ok":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
