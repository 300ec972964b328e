"""What a person is told while the API server cannot answer, as in the middle of an upgrade."""

from __future__ import annotations

from typing import cast

import pytest

from shiplift.cli import access, output
from shiplift.cli.output import CommandError, Exit
from shiplift.facts.kinds import DEPLOYMENT
from shiplift.kube.errors import KubeError, ServerError, Throttled, Unreachable
from shiplift.kube.store import KindHealth, State


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (ServerError("apiserver not ready", status=503), "it may be restarting, as in an upgrade: try again"),
        (Throttled("too many requests", status=429), "has too much to do: try again in a moment"),
        (Unreachable("cannot connect"), "is the API server there"),
    ],
)
def test_it_is_no_fault_of_ours(error: KubeError, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert output.report(error) is Exit.ACT
    said = capsys.readouterr().err
    assert said.startswith(f"error: {error.message}\nhint: ")
    assert hint in said


@pytest.mark.parametrize(
    ("why", "hint"),
    [
        ("403 Forbidden: no", "kubectl auth can-i list deployments"),
        ("cannot connect to it", "is the API server there"),
    ],
)
def test_rights_are_doubted_only_where_the_api_server_said_so(why: str, hint: str) -> None:
    one = KindHealth(DEPLOYMENT, State.SYNCING, 0, 0.0, why, 0, alive=True)
    with pytest.raises(CommandError) as caught:
        access._check(one, passed=1000.0)
    assert hint in cast("CommandError", caught.value).hint
