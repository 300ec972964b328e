"""What is printed for an administrator: no right without a use, the dangerous ones only when asked for."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.kube import bounds
from shiplift.operator import install
from shiplift.operator.layers import LAYERS

Json = dict[str, Any]
SPACE = "shiplift-system"
_WRITES = {"create", "update", "patch", "delete", "deletecollection"}


def printed(**more: Any) -> list[Json]:
    return install.manifests(SPACE, LAYERS.values(), **more)


def granted(**more: Any) -> set[str]:
    """By the ClusterRoles, each right as `verb resource`."""
    return {
        f"{verb} {resource}"
        for one in printed(**more)
        if one["kind"] == "ClusterRole"
        for rule in one["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("space", install.CLUSTERS_OWN)
def test_a_namespace_of_the_cluster_is_not_printed_to_be_deleted_later(space: str) -> None:
    found = install.manifests(space, LAYERS.values())
    assert "Namespace" not in {one["kind"] for one in found}
    named = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in found]
    assert len(named) == len(set(named))
    assert ("ServiceAccount", space, install.ACCOUNT) in named


def test_pod_templates_may_be_changed_only_where_the_administrator_says_so() -> None:
    asked = {f"{verb} {kind}" for verb in ("get", "patch") for kind in ("deployments", "statefulsets")}
    assert granted(templates=True) - granted() == asked
    assert not granted() & {f"{verb} {kind}" for verb in _WRITES for kind in ("deployments", "statefulsets")}
    assert "patch deployments/scale" in granted()


def test_the_right_to_change_templates_is_a_role_of_its_own_that_stays_when_others_are_applied_again() -> (
    None
):
    def roles(**more: Any) -> dict[tuple[str, str], Json]:
        return {
            (one["kind"], one["metadata"]["name"]): one for one in printed(**more) if "Role" in one["kind"]
        }

    with_it, without = roles(templates=True), roles()
    of_templates = {(kind, install.TEMPLATES_ROLE) for kind in ("ClusterRole", "ClusterRoleBinding")}
    assert with_it.keys() - without.keys() == of_templates
    assert {key: with_it[key] for key in without} == without
    binding = with_it["ClusterRoleBinding", install.TEMPLATES_ROLE]
    assert binding["roleRef"]["name"] == install.TEMPLATES_ROLE
    assert binding["subjects"][0]["name"] == install.ACCOUNT


def test_the_fence_looks_at_templates_even_where_the_right_to_them_was_printed_another_time() -> None:
    def fenced(**more: Any) -> set[str]:
        (policy,) = (
            one
            for one in printed(**more)
            if one["metadata"]["name"] == "shiplift-fence" and one["kind"] == "ValidatingAdmissionPolicy"
        )
        rules = policy["spec"]["matchConstraints"]["resourceRules"]
        return {name for rule in rules for name in rule["resources"]}

    assert fenced(templates=True) == fenced() >= {"deployments", "statefulsets"}


def test_there_are_no_wildcards_and_no_secrets() -> None:
    rules = [rule for one in printed(templates=True) for rule in one.get("rules", ())]
    words = {word for rule in rules for key in ("apiGroups", "resources", "verbs") for word in rule[key]}
    assert not [word for word in words if "*" in word or word.startswith("secrets")]


def test_what_is_only_watched_is_not_read_one_by_one() -> None:
    only_watched = {"namespaces", "replicasets", "daemonsets", "persistentvolumes", "persistentvolumeclaims"}
    assert not granted(templates=True) & {f"get {kind}" for kind in only_watched}


@pytest.mark.parametrize("user", ["", "alice"])
def test_the_bounds_are_for_our_user_and_fail_closed(user: str) -> None:
    found = {(one["kind"], one["metadata"]["name"]): one for one in printed(user=user)}
    policy = found["ValidatingAdmissionPolicy", bounds.NAME]["spec"]
    who = user or "system:serviceaccount:shiplift-system:shiplift"
    assert policy["matchConditions"][0]["expression"] == f'request.userInfo.username == "{who}"'
    assert (policy["failurePolicy"], policy.get("paramKind")) == ("Fail", None)
    binding = found["ValidatingAdmissionPolicyBinding", bounds.NAME]["spec"]
    assert binding == {"policyName": bounds.NAME, "validationActions": ["Deny"]}


def test_a_user_name_with_quotes_cannot_change_the_bounds() -> None:
    policy = bounds.manifests('me" || true || "')[0]["spec"]
    assert policy["matchConditions"][0]["expression"] == 'request.userInfo.username == "me\\" || true || \\""'
