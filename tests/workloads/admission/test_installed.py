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


def the_echo_of_0_1_0() -> list[Json]:
    """A policy of its own, with a binding of its own."""
    key = "'shiplift.dev/effective-generation'"
    into = f"path: '/metadata/annotations/' + jsonpatch.escapeKey({key}), value: '1'"
    whole = f"path: '/metadata/annotations', value: {{{key}: '1'}}"
    entry = (
        f"has(object.metadata.annotations) ? [JSONPatch{{op: 'add', {into}}}]"
        f" : [JSONPatch{{op: 'add', {whole}}}]"
    )
    about = {"name": "shiplift-echo"}
    rule = {
        "apiGroups": ["shiplift.dev"],
        "apiVersions": ["v1alpha1"],
        "operations": ["UPDATE"],
        "resources": ["workloadplacements"],
    }
    spec = {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "paramKind": {"apiVersion": "shiplift.dev/v1alpha1", "kind": "WorkloadPlacement"},
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": entry}}],
    }
    bound = {
        "policyName": "shiplift-echo",
        "paramRef": {"name": "shiplift", "parameterNotFoundAction": "Allow"},
    }
    return [
        {"kind": "MutatingAdmissionPolicy", "metadata": about, "spec": spec},
        {"kind": "MutatingAdmissionPolicyBinding", "metadata": about, "spec": bound},
    ]


def test_without_the_binding_of_pods_nothing_answers_not_even_a_leftover(stage: Stage) -> None:
    """What is proven is what steers: 0.1.0 proved by another policy, which may still be there."""
    namespace = stage.placed({"Deployment.web": "Held"})
    for manifest in the_echo_of_0_1_0():
        stage.client.create(POLICY_KINDS[manifest["kind"]], manifest)
    stage.remove(is_binding_of_pods)
    until(lambda: stage.effective(namespace) == 0)
    assert stage.affinity(namespace, pod_of("web")) is None
    stage.install(is_binding_of_pods)
    until(lambda: stage.effective(namespace) == 1, seconds=90)
    for manifest in the_echo_of_0_1_0():
        kind, name = POLICY_KINDS[manifest["kind"]], manifest["metadata"]["name"]
        stage.client.delete(kind, name, uid=stage.client.get(kind, name)["metadata"]["uid"])


def is_binding_of_pods(manifest: Json) -> bool:
    return is_binding(manifest) and manifest["metadata"]["name"] == admission.PODS_POLICY


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
