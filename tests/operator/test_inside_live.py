"""The operator inside a cluster: a real API server takes what is applied for it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from shiplift.facts import kinds
from shiplift.kube.errors import Forbidden
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.operator import inside
from tests.operator.test_inside import SPACE, pod, printed


def test_a_real_server_takes_it_all_and_lets_in_our_pod_and_none_that_could_do_more(
    private_cluster: Callable[..., Cluster],
) -> None:
    bold = copy.deepcopy(pod())
    bold["spec"]["containers"][0]["securityContext"]["capabilities"] = {"add": ["NET_ADMIN"]}
    with private_cluster().client() as client:
        for manifest in printed():
            client.create(kind_of(manifest), manifest)
        ours = pod() | {"metadata": {"name": "ours", "namespace": SPACE}}
        made = client.create(kinds.POD, ours, SPACE).object
        assert made["spec"]["priority"] == inside.PRIORITY
        with pytest.raises(Forbidden, match="violates PodSecurity"):
            client.create(kinds.POD, bold | {"metadata": {"name": "bold", "namespace": SPACE}}, SPACE)
