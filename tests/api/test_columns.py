"""`kubectl get` shows a column of type date as how long ago that was: of a time to come it shows nothing."""

from __future__ import annotations

import pytest

from shiplift.api import crd
from shiplift.api.registry import TYPES
from shiplift.facts.kinds import Kind

_PAST = ("creationTimestamp", "Time")
_TO_COME = (".eta", ".next", ".deadline")


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_no_time_to_come_is_a_date(kind: Kind) -> None:
    for version in crd.manifest(kind)["spec"]["versions"]:
        for column in version["additionalPrinterColumns"]:
            if column["type"] == "date":
                assert not any(word in column["jsonPath"] for word in _TO_COME), column
                assert column["jsonPath"].endswith(_PAST)
