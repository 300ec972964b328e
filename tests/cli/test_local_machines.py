"""What `shiplift local up --machines` makes of what it is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from shiplift.cli.local_machines import version_for
from shiplift.local.machines import Machines
from shiplift.local.machines.programs import NEWEST


@pytest.mark.parametrize(
    ("there", "asked", "found"),
    [
        (None, "", NEWEST),
        ("", "", NEWEST),
        ("v1.35.4", "", "v1.35.4"),
        ("v1.35.4", "v1.36.3", "v1.36.3"),
        (None, "v1.35.4", "v1.35.4"),
    ],
)
def test_machines_that_are_added_are_of_the_version_of_their_cluster(
    there: str | None, asked: str, found: str
) -> None:
    """`there` is the version of the cluster: none where nothing is, empty where machines are bare."""
    machines = SimpleNamespace(exists=there is not None, state=SimpleNamespace(kubernetes=there))
    assert version_for(cast("Machines", machines), asked) == found
