"""Whoever may look at a cluster may look at our objects: through the cluster's own role `view`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiplift.kube.part import LayerPart
from shiplift.operator import install
from shiplift.operator.layers import chosen


def view_role(layers: Sequence[LayerPart] | None = None) -> dict[str, Any]:
    printed = install.manifests("ours", chosen([]) if layers is None else layers)
    (role,) = [one for one in printed if one["metadata"]["name"] == install.VIEW_ROLE]
    return role


def test_our_objects_are_read_by_whoever_has_the_role_view() -> None:
    role = view_role()
    assert role["kind"] == "ClusterRole"
    assert role["metadata"]["labels"] == {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    (ours,) = [one for one in role["rules"] if one["apiGroups"] == ["shiplift.dev"]]
    operators = ["apptypes", "operatorcatalogs", "operatorversions"]
    workloads = ["workloadmigrations", "workloadorders", "workloadplacements"]
    assert sorted(ours["resources"]) == sorted(
        [
            "machinepools",
            "machines",
            "noderollouts",
            "quorumservices",
            "upgradeconfigs",
            *operators,
            *workloads,
        ]
    )


def test_it_lets_nobody_change_anything() -> None:
    verbs = {verb for rule in view_role()["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}


def test_of_leases_only_ours_can_be_read() -> None:
    (leases,) = [one for one in view_role()["rules"] if one["resources"] == ["leases"]]
    assert leases["resourceNames"] == ["shiplift"]
    assert (leases["apiGroups"], leases["verbs"]) == (["coordination.k8s.io"], ["get", "list"])


def test_of_rights_only_where_the_operator_is_installed_can_be_read() -> None:
    """A Lease of that name in any other namespace says nothing of it."""
    (bindings,) = [one for one in view_role()["rules"] if one["apiGroups"] == ["rbac.authorization.k8s.io"]]
    assert bindings["resources"] == ["clusterrolebindings"]
    assert (bindings["verbs"], bindings["resourceNames"]) == (["get"], ["shiplift"])


def test_where_no_layer_has_objects_of_ours_there_is_no_rule_for_none() -> None:
    """The API server refuses a rule without resources."""
    assert all(rule["resources"] for rule in view_role([])["rules"])
