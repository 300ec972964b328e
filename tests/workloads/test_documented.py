"""The guide has every reason of a migration and of a workload, and none that is not."""

from __future__ import annotations

import re

from shiplift.workloads.model import Reason
from tests.docs.clone import ROOT

GUIDE = (ROOT / "docs/workloads.md").read_text()


def test_every_reason_is_in_a_table_of_reasons_and_no_other() -> None:
    section = GUIDE.partition("\n### What it waits for, by reason\n")[2].partition("\n### ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {name for cell in rows for name in re.findall("`([^`]+)`", cell)} == {one.value for one in Reason}
