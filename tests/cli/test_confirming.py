"""What undoes something asks first, and says at the end what stays."""

from __future__ import annotations

import importlib
import io
import sys

import pytest

from shiplift.cli.confirming import confirm
from shiplift.cli.output import CommandError

undo = importlib.import_module("shiplift.cli.undo")


class Terminal(io.StringIO):
    """Somebody is there, and types this."""

    def isatty(self) -> bool:
        return True


def asked() -> None:
    confirm("undo it?", "shiplift undo --yes", CommandError("nothing is undone", "only y or yes undoes"))


@pytest.mark.parametrize("typed", ["y\n", "YES\n", " y \n"])
def test_yes_goes_on(typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    asked()
    assert capsys.readouterr() == ("", "undo it? [y/N] ")


@pytest.mark.parametrize("typed", ["n\n", "\n", "", "yeah\n"])
def test_all_else_does_not(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    with pytest.raises(CommandError, match="nothing is undone"):
        asked()


def test_where_nobody_is_there_it_says_how_to_go_on_without_a_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(CommandError, match="nobody is here to confirm it") as refused:
        asked()
    assert refused.value.hint == "shiplift undo --yes asks nothing"


@pytest.mark.parametrize(
    ("changes", "stays", "said"),
    [
        (0, 0, "nothing of ours was left to undo"),
        (1200, 0, "done: 1,200 changes"),
        (0, 1, "nothing more to undo; 1 thing of ours stays on purpose, named above"),
        (3, 2, "done: 3 changes; 2 things of ours stay on purpose, named above"),
    ],
)
def test_what_stays_is_never_said_to_be_gone(changes: int, stays: int, said: str) -> None:
    assert undo.outcome(changes, stays) == said
