"""When a run of the crash suite fails, and where it is left out instead: what is pure of it."""

from __future__ import annotations

import argparse
import os

import pytest

from shiplift.local.errors import LocalError
from shiplift.local.machines import needs
from tests.crash import __main__ as command
from tests.crash.campaign import Figures
from tests.crash.machines import own
from tests.machines import sshd


@pytest.mark.parametrize(
    ("divergences", "mutants", "caught", "run", "hunt"),
    [
        (0, 20, 20, 0, 0),
        (2, 20, 20, 2, 2),
        (0, 20, 19, 0, 1),
        (0, 20, 18, 2, 2),
        (1, 10, 9, 2, 2),
        (0, 0, 0, 0, 0),
    ],
)
def test_a_run_fails_where_fewer_than_nineteen_of_twenty_mutants_are_caught(
    divergences: int, mutants: int, caught: int, run: int, hunt: int
) -> None:
    figures = Figures("x", divergences=divergences, mutants=mutants, mutants_caught=caught)
    assert figures.wrong(all_caught=False) == run
    assert figures.wrong(all_caught=True) == hunt


def test_a_computer_that_holds_no_machines_leaves_them_out_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(needs, "refusal", lambda: LocalError("no new namespaces here: net", "use your own"))
    asked = argparse.Namespace(command="run", layer=["machines"])
    assert command.each(asked) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "machines is left out: no new namespaces here: net" in said.err


def test_without_root_there_is_no_sshd_and_nothing_is_raised_that_only_pytest_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(needs, "refusal", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert own.refusal() == "a login as root needs root"
    with pytest.raises(sshd.NoSshdError):
        sshd.found()
