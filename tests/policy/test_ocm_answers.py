"""What OCM may answer besides policies, read without a server: it is never taken for "there is none"."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.outside.door import Got
from shiplift.outside.errors import OutsideError
from shiplift.policy.providers.ocm import Cluster, Session, UpgradePolicy, translated
from tests.policy.views import OCM


class Answering(Session):
    """One refresh in which every question gets the same answer."""

    def __init__(self, body: bytes) -> None:
        self._ocm, self._body = OCM.ocm, body

    def _get(self, path: str) -> Got:
        return Got(path, 200, (), self._body)


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"kind":"Error","code":"CLUSTERS-MGMT-500"}',
        b'{"items":[],"total":3}',
        b'{"page":1,"size":0,"total":1}',
    ],
)
def test_what_is_no_list_of_policies_is_a_failure(body: bytes) -> None:
    with pytest.raises(OutsideError):
        list(Answering(body).policies(Cluster("c")))


@pytest.mark.parametrize("body", [b'{"items":[],"total":0}', b'{"total":0}'])
def test_an_empty_list_is_one(body: bytes) -> None:
    assert list(Answering(body).policies(Cluster("c"))) == []


@pytest.mark.parametrize(
    ("policy", "cluster", "named"),
    [
        ({}, {"node_drain_grace_period": {"value": 20160, "unit": "minutes"}}, "PDBForceDrainTimeout"),
        ({"next_run": "2026-12-01T00:00:00"}, {}, "upgradeAt"),
    ],
)
def test_what_no_upgrade_config_could_have_is_named(
    policy: dict[str, Any], cluster: dict[str, Any], named: str
) -> None:
    asked = msgspec.convert({"id": "p", "version": "4.20.1", **policy}, UpgradePolicy)
    with pytest.raises(ValueError, match=named):
        translated(asked, msgspec.convert({"id": "c", **cluster}, Cluster), OCM.ocm)
