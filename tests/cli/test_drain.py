"""`shiplift drain`: what is refused before a cluster is asked."""

from __future__ import annotations

import importlib

import pytest
from rich.console import Console

from shiplift.cli.drain import helping
from shiplift.cli.drain_run import picture
from shiplift.drain.model import Reason
from shiplift.drain.telling import Standing

main = importlib.import_module("shiplift.cli.main")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["--timeout", "soon"],
            "--timeout 'soon' is no time",
            "for example 90s, 15m or 1h30m; 0 waits for ever",
        ),
        (["--grace-period=-1"], "--grace-period -1 is no number of seconds", "from 0 to 2147483647"),
        (
            ["--skip-wait-for-delete-timeout=-5"],
            "--skip-wait-for-delete-timeout -5 is no number of seconds",
            "from 0 to 2147483647",
        ),
    ],
)
def test_a_slip_is_named(
    words: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["drain", "node-1", *words]) == 1
    assert capsys.readouterr() == ("", f"error: {message}\nhint: {hint}\n")


def test_its_help_has_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["drain", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Exit codes: 0 the node is drained; 1 you must act: pods must not or can never go" in said
    assert "124 not drained within --timeout" in said


def test_on_a_terminal_what_is_left_is_drawn_and_not_all_of_it() -> None:
    waits = Standing(
        "shop/web-1", "waits", 130, "PodDisruptionBudget shop/web needs 2 healthy pods and has 2"
    )
    ends = [Standing(f"shop/api-{number}", "ends", number) for number in range(11)]
    console = Console(width=100)
    with console.capture() as drawn:
        console.print(picture([waits, *ends]))
    lines = [line.rstrip() for line in drawn.get().splitlines()]
    assert lines[:3] == [
        "POD         WHAT   FOR    WHY",
        "shop/web-1  waits  2 min  PodDisruptionBudget shop/web needs 2 healthy pods and has 2",
        "shop/api-0  ends   0 s",
    ]
    assert lines[-1] == "and 2 more"


def test_options_that_are_needed_together_are_told_together() -> None:
    both = [Reason.EMPTY_DIR, Reason.UNMANAGED, Reason.DAEMON_SET_GONE, Reason.DAEMON_SET_UNKNOWN]
    assert helping(both) == (
        "--delete-emptydir-data together with --evict-unmanaged evicts all the same;"
        " kubectl auth can-i get daemonsets.apps -A tells whether you may"
    )
    assert helping(both[:1]) == "--delete-emptydir-data evicts all the same"
