"""Records are read by every release, whichever wrote them."""

from __future__ import annotations

import pytest

from shiplift.workloads.record import NO_RECORD, RECORDS, Record, Surge


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("{}", NO_RECORD),
        ('{"toleration":"v1.36.3","template":"5cc99ff1c36de173"}', Record("v1.36.3")),
        ('{"surge":{"before":1,"after":2}}', Record(surge=Surge(1, 2))),
        ('{"toleration":"v2","own":"v2","earlier":"v1"}', Record("v2", own="v2", earlier="v1")),
        ('{"toleration":"v1","inert":"7:abc","later":{"a":[1]}}', Record("v1", "7:abc")),
        ('{"surge":{"before":1,"after":2,"later":true}}', Record(surge=Surge(1, 2))),
    ],
    ids=["empty", "0.1.0 inert", "0.1.0 surge", "turned around", "later", "later inside"],
)
def test_records_of_older_and_newer_releases_can_be_read(text: str, read: Record) -> None:
    assert RECORDS.decode("WorkloadPlacement shop/shiplift", "Deployment.web", text) == read
