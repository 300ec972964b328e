"""The operator inside a cluster: a real API server takes what is applied for it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import msgspec
import pytest

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube import rbac
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component, Settings
from shiplift.operator import inside
from tests.operator.test_inside import SPACE, pod, printed
from tests.until import until

GATHERING = Settings(components=(Component.ETCD, Component.API_SERVER, Component.CONTROLLERS))


@pytest.fixture
def client(private_cluster: Callable[..., Cluster]) -> Iterator[Client]:
    with private_cluster().client() as client:
        yield client


@pytest.fixture
def gathering(private_cluster: Callable[..., Cluster]) -> Iterator[Client]:
    """Where controllers run, which gather the cluster's own roles."""
    with private_cluster(GATHERING).client() as client:
        yield client


def test_a_real_server_takes_it_all_and_lets_in_our_pod_and_none_that_could_do_more(client: Client) -> None:
    bold = copy.deepcopy(pod())
    bold["spec"]["containers"][0]["securityContext"]["capabilities"] = {"add": ["NET_ADMIN"]}
    for manifest in printed():
        client.create(kind_of(manifest), manifest)
    ours = pod() | {"metadata": {"name": "ours", "namespace": SPACE}}
    made = client.create(kinds.POD, ours, SPACE).object
    assert made["spec"]["priority"] == inside.PRIORITY
    with pytest.raises(Forbidden, match="violates PodSecurity"):
        client.create(kinds.POD, bold | {"metadata": {"name": "bold", "namespace": SPACE}}, SPACE)


def test_who_views_and_edits_a_cluster_views_and_edits_our_objects_and_no_more(gathering: Client) -> None:
    client = gathering
    for manifest in printed():
        if manifest["kind"] == "ClusterRole":
            client.create(kind_of(manifest), manifest)
    for role in ("view", "edit"):
        _bind(client, role)
    orders, configs = kinds.WORKLOAD_ORDER, kinds.UPGRADE_CONFIG
    until(lambda: _may(client, "edit", "create", orders) and _may(client, "view", "get", configs), 60)
    assert _may(client, "edit", "get", configs)
    assert not _may(client, "edit", "create", configs)
    assert not _may(client, "view", "create", orders)


def _bind(client: Client, role: str) -> None:
    """A user of that name."""
    binding = {
        "metadata": {"name": f"test-{role}"},
        "subjects": [{"kind": "User", "name": role, "apiGroup": rbac.GROUP}],
        "roleRef": {"kind": "ClusterRole", "name": role, "apiGroup": rbac.GROUP},
    }
    client.create(kinds.CLUSTER_ROLE_BINDING, binding)


def _may(client: Client, user: str, verb: str, kind: Kind) -> bool:
    about = {"group": kind.group, "resource": kind.plural, "verb": verb, "namespace": "default"}
    spec = {"user": user, "resourceAttributes": about}
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = client.raw("POST", path, body=msgspec.json.encode(asked))
    return bool(msgspec.json.decode(answer)["status"]["allowed"])
