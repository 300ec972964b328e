"""`shiplift local agents`: what is wrong with how it was called is said before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiplift.cli.main import run
from shiplift.cli.output import Exit


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--change", "2x"], "--change '2x' is no time\nhint: for example 2s, 500ms or 1m"),
        (["--reboot", ""], "--reboot '' is no time"),
        (["--lease", "-1s"], "--lease"),
        (["--change", "999999s"], "--change '999999s' is no time"),
        (["--heartbeat", "10ms"], "--heartbeat '10ms' is too often\nhint: 1s or more"),
        (["--name", "none"], "there is no cluster 'none'\nhint: shiplift local up --name none makes one"),
    ],
)
def test_bad_words_are_named(
    words: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SHIPLIFT_STATE", str(tmp_path))
    assert run(["local", "agents", *words]) == Exit.ACT
    assert says in capsys.readouterr().err
