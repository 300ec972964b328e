"""The policies installed, removed, and where they are not possible."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from shiplift.kube.errors import NotFound
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from shiplift.workloads import admission
from tests.until import until
from tests.workloads.admission.stage import (
    HELD,
    POLICY_KINDS,
    Json,
    Stage,
    is_binding,
    pod_of,
    requiring,
)


def _all_of_them(_: Json) -> bool:
    return True


@pytest.mark.parametrize("which", [is_binding, _all_of_them])
def test_what_was_removed_and_installed_again_works_again(
    stage: Stage, which: Callable[[Json], bool]
) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    for _ in range(2):
        stage.remove(which)
        until(lambda: stage.affinity(namespace, pod_of("web")) is None)
        until(lambda: stage.effective(namespace) == 0)
        stage.install(which)
        until(lambda: stage.effective(namespace) == 1, seconds=90)
        assert stage.affinity(namespace, pod_of("web")) == requiring({"matchExpressions": [HELD]})


def test_the_manifests_can_be_applied_as_yaml_by_anyone(stage: Stage) -> None:
    for manifest in admission.manifests():
        kind, name = POLICY_KINDS[manifest["kind"]], manifest["metadata"]["name"]
        stored = stage.client.get(kind, name)
        answer = stage.client.apply(
            kind, manifest, uid=stored["metadata"]["uid"], force=True, dry_run=True
        ).object
        assert answer["spec"] == stored["spec"]
    assert msgspec.json.decode(msgspec.json.encode(admission.manifests())) == admission.manifests()


def test_the_oldest_supported_server_does_not_know_such_policies(
    private_cluster: Callable[..., Cluster],
) -> None:
    cluster = private_cluster(Settings(components=API_ONLY, emulate="1.33"))
    with cluster.client() as client:
        for manifest in admission.manifests():
            with pytest.raises(NotFound, match="the server could not find the requested resource"):
                client.create(POLICY_KINDS[manifest["kind"]], manifest)
