"""Our Lease has the level of Kubernetes' own leader elections, as the API server itself counts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.facts.kinds import CONFIG_MAP, LEASE
from shiplift.kube import credentials, priority
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.fence import HOME, Names, service_account
from shiplift.kube.manifests import kind_of
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.cluster import Cluster
from tests.until import until


@pytest.fixture
def admin(cluster: Cluster, namespace: str) -> Iterator[Client]:
    with cluster.client() as admin:
        admin.create(HOME, {"metadata": {"name": "operator"}}, namespace)
        (schema,) = priority.manifests(Names(namespace, service_account(namespace, "operator")))
        made = admin.create(kind_of(schema), schema).object
        yield admin
        admin.delete(kind_of(schema), priority.NAME, uid=made["metadata"]["uid"])


def dispatched(admin: Client) -> int:
    """Calls of our FlowSchema in the level of leader elections, as the server counts them."""
    found = re.search(
        rf'apiserver_flowcontrol_dispatched_requests_total{{flow_schema="{priority.NAME}",'
        r'priority_level="leader-election"} (\d+)',
        admin.raw("GET", "/metrics").decode(),
    )
    return int(found[1]) if found else 0


def test_a_lease_of_ours_is_served_with_the_leader_elections_and_other_calls_are_not(
    cluster: Cluster, namespace: str, admin: Client, tmp_path: Path
) -> None:
    like = kubeconfig_of(Account(namespace, "operator"), cluster.kubeconfig, tmp_path / "operator")
    at_first = dispatched(admin)
    with Client(credentials.load(like)) as client:

        def asked() -> bool:
            with contextlib.suppress(KubeError):
                client.get(LEASE, "shiplift", namespace)
            return dispatched(admin) > at_first

        until(asked)
        before = dispatched(admin)
        with contextlib.suppress(KubeError):
            client.get(CONFIG_MAP, "any", namespace)
        assert dispatched(admin) == before


def test_another_user_is_named_as_such() -> None:
    (schema,) = priority.manifests(Names("ops", "someone"))
    assert schema["spec"]["rules"][0]["subjects"] == [{"kind": "User", "user": {"name": "someone"}}]
