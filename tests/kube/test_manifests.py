"""Where manifests are kept: known kinds exactly, others by the regular plural."""

from __future__ import annotations

import pytest

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.manifests import kind_of

RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize("kind", [kinds.NODE, kinds.POD_DISRUPTION_BUDGET, kinds.VALIDATING_ADMISSION_POLICY])
def test_a_kind_that_we_know_is_that_kind_whatever_its_manifest_leaves_out(kind: Kind) -> None:
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "one"}}
    assert kind_of(manifest) == kind


@pytest.mark.parametrize("kind", kinds.OURS)
def test_every_kind_of_ours_is_known(kind: Kind) -> None:
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "one"}}
    assert kind_of(manifest) is kind


@pytest.mark.parametrize(
    ("api_version", "kind", "plural"),
    [
        (f"{RBAC}/v1", "Role", "roles"),
        ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
        ("networking.k8s.io/v1", "Ingress", "ingresses"),
        ("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses"),
        ("gateway.networking.k8s.io/v1", "Gateway", "gateways"),
    ],
)
def test_any_other_has_the_regular_plural(api_version: str, kind: str, plural: str) -> None:
    found = kind_of({"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}})
    assert (found.api_version, found.kind, found.plural) == (api_version, kind, plural)


def test_the_same_kind_of_another_version_is_another() -> None:
    beta = {"apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "MutatingAdmissionPolicy"}
    found = kind_of({**beta, "metadata": {"name": "one"}})
    assert found != kinds.MUTATING_ADMISSION_POLICY
    assert found.path() == "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies"


def test_an_unknown_kind_is_namespaced_where_its_manifest_names_a_namespace() -> None:
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "one", "namespace": "shop"}}
    everywhere = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "one"}}
    assert kind_of(role).namespaced
    assert not kind_of(everywhere).namespaced
