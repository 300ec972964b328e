"""Whoever may look at a cluster may look at our objects: through the cluster's own role `view`."""

from __future__ import annotations

from typing import Any

from shiplift.operator import install
from shiplift.operator.layers import chosen


def view_role() -> dict[str, Any]:
    printed = install.manifests("ours", chosen([]))
    (role,) = [one for one in printed if one["metadata"]["name"] == install.VIEW_ROLE]
    return role


def test_our_objects_are_read_by_whoever_has_the_role_view() -> None:
    role = view_role()
    assert role["kind"] == "ClusterRole"
    assert role["metadata"]["labels"] == {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    (ours,) = [one for one in role["rules"] if one["apiGroups"] == ["shiplift.dev"]]
    workloads = ["workloadmigrations", "workloadorders", "workloadplacements"]
    assert ours["resources"] == ["machines", "noderollouts", *workloads]


def test_it_lets_nobody_change_anything() -> None:
    verbs = {verb for rule in view_role()["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}


def test_of_leases_only_ours_can_be_read() -> None:
    (leases,) = [one for one in view_role()["rules"] if one["resources"] == ["leases"]]
    assert leases["resourceNames"] == ["shiplift"]


def test_of_rights_only_where_the_operator_is_installed_can_be_read() -> None:
    """A Lease of that name in any other namespace says nothing of it."""
    (bindings,) = [one for one in view_role()["rules"] if one["apiGroups"] == ["rbac.authorization.k8s.io"]]
    assert bindings["resources"] == ["clusterrolebindings"]
    assert (bindings["verbs"], bindings["resourceNames"]) == (["get"], ["shiplift"])
