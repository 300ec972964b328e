"""`shiplift drain`: what is refused before a cluster is asked."""

from __future__ import annotations

import importlib

import pytest

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
