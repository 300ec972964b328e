"""What is installed: rights where they are needed and nowhere else, and never to all Secrets."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec
import pytest
import yaml

from shiplift.cli.manifests import manifests_app
from shiplift.cli.output import CommandError
from shiplift.engine.layer import Layer
from shiplift.facts.kinds import CONFIG_MAP, SECRET
from shiplift.facts.meta import Row
from shiplift.kube import rbac
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.watch import Watch
from shiplift.operator import install
from shiplift.operator.layers import LAYERS

SYSTEM = "shiplift-system"


def _make(_: Context) -> Layer[Any, Any, Any]:
    raise AssertionError("nothing is made")


def _nobody(*_: Row | object | None) -> tuple[Hashable, ...]:
    return ()


PART = LayerPart("reader", (Watch(CONFIG_MAP, "ops"), Watch(CONFIG_MAP, SYSTEM)), _nobody, _make)


def rights(part: LayerPart) -> dict[tuple[str, str], list[rbac.Rule]]:
    """By kind of role and namespace."""
    return {
        (one["kind"], one["metadata"].get("namespace", "")): one["rules"]
        for one in install.manifests(SYSTEM, [part])
        if one["kind"] in ("Role", "ClusterRole") and one["metadata"]["name"] == install.ACCOUNT
    }


def reads(rules: list[rbac.Rule]) -> bool:
    return any(CONFIG_MAP.plural in one["resources"] for one in rules)


def test_what_is_watched_in_one_namespace_is_granted_there_only() -> None:
    found = rights(PART)
    assert {where for where, rules in found.items() if reads(rules)} == {("Role", "ops"), ("Role", SYSTEM)}
    assert ("RoleBinding", "ops") in {
        (one["kind"], one["metadata"].get("namespace")) for one in install.manifests(SYSTEM, [PART])
    }


JOBS = rbac.rule("batch", ["jobs"], ["create"])


def fenced(part: LayerPart) -> set[tuple[str, str]]:
    """What the fence looks at: operations on resources."""
    policy = next(
        one
        for one in install.manifests(SYSTEM, [part])
        if (one["kind"], one["metadata"]["name"]) == ("ValidatingAdmissionPolicy", "shiplift-fence")
    )
    return {
        (operation, resource)
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for operation in rule["operations"]
        for resource in rule["resources"]
    }


def test_what_a_layer_does_in_one_namespace_is_granted_there_and_fenced() -> None:
    part = msgspec.structs.replace(PART, rules_in={"ops": (JOBS,), "elsewhere": (JOBS,)})
    found = rights(part)
    assert {where for where, rules in found.items() if JOBS in rules} == {
        ("Role", "ops"),
        ("Role", "elsewhere"),
    }
    assert ("CREATE", "jobs") in fenced(part)
    assert ("CREATE", "jobs") not in fenced(PART)


def test_what_is_granted_one_by_one_is_fenced_and_not_granted_to_all() -> None:
    part = msgspec.structs.replace(PART, granted_rules=(JOBS,))
    assert not any(JOBS in rules for rules in rights(part).values())
    assert ("CREATE", "jobs") in fenced(part)


def test_claims_are_kept_in_one_object_of_our_namespace() -> None:
    part = msgspec.structs.replace(PART, claims="plane")
    (claims,) = [one for one in install.manifests(SYSTEM, [part]) if one["kind"] == "ConfigMap"]
    assert claims["metadata"] == {"name": "plane", "namespace": SYSTEM}
    kept = rbac.rule("", ["configmaps"], ["get", "patch"], ["plane"])
    assert {where for where, rules in rights(part).items() if kept in rules} == {("Role", SYSTEM)}
    assert ("UPDATE", "configmaps") in fenced(part)
    assert not [one for one in install.manifests(SYSTEM, [PART]) if one["kind"] == "ConfigMap"]


@pytest.mark.parametrize(
    "part",
    [
        msgspec.structs.replace(PART, watches=(Watch(SECRET),)),
        msgspec.structs.replace(PART, rules=(rbac.rule("", ["secrets"], ["get"], ["mine"]),)),
    ],
)
def test_no_layer_gets_a_right_to_secrets_across_the_cluster(part: LayerPart) -> None:
    with pytest.raises(ValueError, match="asks for Secrets of the whole cluster"):
        install.manifests(SYSTEM, [part])


def test_the_layers_that_there_are_ask_for_none() -> None:
    assert install.manifests(SYSTEM, LAYERS.values())


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    manifests_app(arguments, result_action="return_value")
    return list(yaml.safe_load_all(capsys.readouterr().out))


def test_a_grant_is_for_one_secret_and_nothing_else_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    role, bound = printed(capsys, "--grant", "ops/chat", "--namespace", "system")
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "ops")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["chat"]}
    ]
    assert bound["subjects"] == [{"kind": "ServiceAccount", "name": "shiplift", "namespace": "system"}]


def test_hooks_are_granted_namespace_by_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--hooks", "storage", "--hooks", "db")
    assert [(one["kind"], one["metadata"]["namespace"]) for one in found] == [
        ("Role", "storage"),
        ("RoleBinding", "storage"),
        ("Role", "db"),
        ("RoleBinding", "db"),
    ]


def test_acting_as_an_account_is_granted_account_by_account(capsys: pytest.CaptureFixture[str]) -> None:
    role, bound = printed(capsys, "--account", "ops/installer", "--namespace", "system")
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "ops")
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["serviceaccounts"],
            "verbs": ["impersonate"],
            "resourceNames": ["installer"],
        }
    ]
    assert bound["subjects"] == [{"kind": "ServiceAccount", "name": "shiplift", "namespace": "system"}]


def test_catalogs_are_read_from_namespaces_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    role, _ = printed(capsys, "--catalogs", "fleet")
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "fleet")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]


@pytest.mark.parametrize("text", ["installer", "ops/", "Ops/installer", "ops/a/b"])
def test_what_cannot_be_an_account_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="is not"):
        printed(capsys, "--account", text)


def test_a_swap_is_granted_namespace_by_namespace_and_takes_no_more_than_it_uses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    role, bound = printed(capsys, "--quorum", "store", "--namespace", "system")
    assert (role["kind"], role["metadata"]) == ("Role", {"name": "shiplift-quorum", "namespace": "store"})
    rights = {(verb, one["resources"][0]) for one in role["rules"] for verb in one["verbs"]}
    assert rights == {
        ("get", "statefulsets"),
        ("patch", "statefulsets"),
        ("get", "pods"),
        ("delete", "pods"),
        ("swap", "quorumservices"),
    }
    assert bound["subjects"] == [{"kind": "ServiceAccount", "name": "shiplift", "namespace": "system"}]


def test_secrets_with_long_names_that_differ_at_the_end_get_a_role_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "x" * 252
    found = printed(capsys, "--grant", f"ops/{long}a", "--grant", f"ops/{long}b")
    names = {one["metadata"]["name"] for one in found if one["kind"] == "Role"}
    assert len(names) == 2
    assert max(map(len, names)) == 253


@pytest.mark.parametrize("option", ["--grant", "--hooks", "--quorum"])
@pytest.mark.parametrize("space", ["a.b", "x" * 64, "a-", "Ops"])
def test_what_cannot_be_a_namespace_is_named(
    option: str, space: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="is not the name of a namespace"):
        printed(capsys, option, f"{space}/chat" if option == "--grant" else space)


@pytest.mark.parametrize("text", ["chat", "ops/", "Ops/chat", "ops/chat/more", "ops/$(id)"])
def test_what_cannot_be_a_secret_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="is not"):
        printed(capsys, "--grant", text)
