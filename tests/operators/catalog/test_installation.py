"""What a version consists of is told object by object; what cannot be installed is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.operators.catalog.installation import NotInstallableError, Watches, examples, objects
from shiplift.operators.catalog.model import Bundle

Json = dict[str, Any]
BUNDLE = Bundle(name="app.v1.0.0", version="1.0.0")
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "as.a.example", "namespace": "wrong", "annotations": {"a": "b"}},
    "status": {},
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "metrics", "labels": {"app": "a"}}}
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


def csv(*modes: str, **spec: Any) -> Json:
    pod = {"spec": {"serviceAccountName": "app", "containers": []}}
    strategy = {
        "deployments": [{"name": "app", "spec": {"replicas": 1, "template": pod}, "label": {"tier": "a"}}],
        "permissions": [{"serviceAccountName": "app", "rules": [RULE]}],
        "clusterPermissions": [{"serviceAccountName": "other", "rules": [RULE]}],
    }
    supported = [{"type": one, "supported": True} for one in modes or ("OwnNamespace", "AllNamespaces")]
    return {
        "kind": "ClusterServiceVersion",
        "metadata": {"annotations": {"alm-examples": '[{"kind": "A"}]'}},
        "spec": {"install": {"strategy": "deployment", "spec": strategy}, "installModes": supported, **spec},
    }


def made(*manifests: Json, watches: Watches | None = None, bundle: Bundle = BUNDLE) -> list[Json]:
    return objects(bundle, manifests or (csv(), SERVICE, CRD), "ops", watches)


def named(found: list[Json]) -> list[str]:
    return [
        f"{one['kind']} {one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in found
    ]


def test_objects_come_in_the_order_of_need_and_in_their_place() -> None:
    assert named(made()) == [
        "CustomResourceDefinition /as.a.example",
        "ServiceAccount ops/app",
        "ServiceAccount ops/other",
        "Role ops/app.v1.0.0-app-local-0",
        "ClusterRole /ops.app.v1.0.0-other-cluster-0",
        "Service ops/metrics",
        "RoleBinding ops/app.v1.0.0-app-local-0",
        "ClusterRoleBinding /ops.app.v1.0.0-other-cluster-0",
        "Deployment ops/app",
    ]


def test_an_account_gets_just_the_rules_that_are_named() -> None:
    by_kind = {one["kind"]: one for one in made()}
    assert by_kind["Role"]["rules"] == by_kind["ClusterRole"]["rules"] == [RULE]
    assert by_kind["RoleBinding"]["subjects"] == [
        {"kind": "ServiceAccount", "name": "app", "namespace": "ops"}
    ]
    assert by_kind["ClusterRoleBinding"]["roleRef"]["name"] == "ops.app.v1.0.0-other-cluster-0"


def test_where_all_namespaces_are_watched_rules_hold_in_each() -> None:
    found = made(watches=Watches.ALL)
    assert [one for one in named(found) if "Role " in one] == [
        "ClusterRole /ops.app.v1.0.0-app-local-0",
        "ClusterRole /ops.app.v1.0.0-other-cluster-0",
    ]
    assert found[-1]["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"] == ""


def test_a_deployment_tells_its_operator_what_to_watch() -> None:
    deployment = made()[-1]
    assert deployment["metadata"]["labels"] == {"tier": "a"}
    assert deployment["spec"]["template"]["metadata"]["annotations"] == {
        "olm.targetNamespaces": "ops",
        "olm.operatorNamespace": "ops",
    }


def test_every_object_says_where_it_comes_from() -> None:
    found = made()
    assert {one["metadata"]["annotations"]["operators.shiplift.dev/bundle"] for one in found} == {
        "app.v1.0.0"
    }
    assert found[0]["metadata"]["annotations"]["a"] == "b"
    assert "status" not in found[0]


def test_its_own_namespace_is_watched_unless_it_cannot_do_with_that() -> None:
    assert (
        made(csv("AllNamespaces"))[-1]["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"]
        == ""
    )


@pytest.mark.parametrize(
    ("manifests", "bundle", "watches", "why"),
    [
        ((), BUNDLE, None, r"app.v1.0.0 does not say how it is installed"),
        ((csv(), csv()), BUNDLE, None, r"app.v1.0.0 does not say how it is installed"),
        (
            (csv(install={}),),
            BUNDLE,
            None,
            r"does not say how it is installed: .* missing required field `spec`",
        ),
        ((csv("MultiNamespace"),), BUNDLE, None, r"cannot watch its own or all: it supports MultiNamespace"),
        (
            (csv("OwnNamespace"),),
            BUNDLE,
            Watches.ALL,
            r"cannot watch all namespaces: it supports OwnNamespace",
        ),
        (
            (csv("AllNamespaces"),),
            BUNDLE,
            Watches.OWN,
            r"cannot watch own namespace: it supports AllNamespaces",
        ),
        (
            (csv(), {"apiVersion": "v1", "kind": "Pod"}),
            BUNDLE,
            None,
            r"app.v1.0.0 brings v1 Pod, which is not installed",
        ),
        (
            (csv(),),
            Bundle(name="app.v1.0.0", version="1.0.0", uninstallable=("webhooks", "API services")),
            None,
            r"app.v1.0.0 brings webhooks and API services",
        ),
    ],
)
def test_what_cannot_be_installed_is_refused_by_name(
    manifests: tuple[Json, ...], bundle: Bundle, watches: Watches | None, why: str
) -> None:
    with pytest.raises(NotInstallableError, match=why):
        objects(bundle, manifests, "ops", watches)


def test_an_account_that_a_version_brings_is_not_made_twice() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app"}, "secrets": []}
    found = [one for one in made(csv(), account) if named([one]) == ["ServiceAccount ops/app"]]
    assert [one.get("secrets") for one in found] == [[]], "as it is written there"
    with pytest.raises(NotInstallableError, match="Service metrics more than once"):
        made(csv(), SERVICE, SERVICE)


def test_the_examples_of_a_version_are_found() -> None:
    assert examples([CRD, csv()]) == [{"kind": "A"}]
    assert examples([CRD]) == []
