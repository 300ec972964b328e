"""The guide has every fault of a catalog, and every reason that somebody may meet."""

from __future__ import annotations

import pytest

from shiplift.operators.catalog.model import FaultKind
from shiplift.operators.model import Reason
from tests.docs.clone import ROOT

GUIDE = (ROOT / "docs/operators.md").read_text()


def rows(heading: str) -> str:
    """The first cells of the table below a heading."""
    section = GUIDE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("|"))


@pytest.mark.parametrize("kind", FaultKind)
def test_every_fault_is_in_the_table_of_faults(kind: FaultKind) -> None:
    assert f"`{kind}`" in rows("What is wrong with a catalog")


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_in_the_table_of_reasons(reason: Reason) -> None:
    assert f"`{reason.value}`" in rows("What keeps an operator, by reason")
