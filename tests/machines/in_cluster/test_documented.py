"""The guide has every reason that somebody may meet."""

from __future__ import annotations

import pytest

from shiplift.machines.in_cluster.model import Reason
from tests.docs.clone import ROOT

GUIDE = (ROOT / "docs/pools.md").read_text()


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_in_the_guide(reason: Reason) -> None:
    assert f"`{reason.value}`" in GUIDE
