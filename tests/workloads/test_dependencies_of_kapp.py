"""Groups and rules of kapp as dependencies."""

import pytest

from shiplift.api.workloads import (
    EdgeSource,
)
from shiplift.engine.graph import Edge
from shiplift.workloads.observe.dependencies import gather
from tests.workloads.declared import API, DB, GROUP, RULE, WEB, deployment, only_problem, pairs, workload


def test_a_kapp_rule_waits_for_all_members_of_a_group():
    found = gather(
        [
            workload(DB, {GROUP: "big.co/stores"}),
            workload(API, {f"{GROUP}.mine": "big.co/stores"}),
            workload(WEB, {f"{RULE}.x": "upsert after upserting big.co/stores"}),
        ],
        [],
    )
    assert set(found.edges) == {Edge(WEB, other, f"annotation {RULE}.x") for other in (API, DB)}
    assert found.problems == ()


def test_a_kapp_rule_before_a_group_holds_its_members_and_says_whose_rule_that_is():
    found = gather(
        [workload(WEB, {GROUP: "fronts"}), workload(DB, {RULE: "upsert before upserting fronts"})], []
    )
    assert found.edges == (Edge(WEB, DB, f"annotation {RULE} of StatefulSet shop/db"),)


@pytest.mark.parametrize(
    ("group", "rule"),
    [
        ("{name}", "upsert after upserting db"),
        ("{kind}.{name}", "upsert after upserting StatefulSet.db"),
        ("{api-group}/{namespace}-stores", "upsert after upserting {api-group}/shop-stores"),
        ("stores-of-{namespace}", "upsert after upserting stores-of-{namespace}"),
    ],
)
def test_kapp_placeholders_stand_for_the_workload_that_has_them(group, rule):
    found = gather([workload(DB, {GROUP: group}), workload(WEB, {RULE: rule})], [])
    assert pairs(found) == {(WEB, DB)}
    assert found.problems == ()


@pytest.mark.parametrize(
    "rule",
    [
        "upsert after upserting nobody",
        "upsert after deleting stores",
        "delete before deleting stores",
        "delete after upserting stores",
    ],
)
def test_kapp_rules_about_nobody_or_about_deletion_ask_for_nothing(rule):
    found = gather([workload(DB, {GROUP: "stores"}), workload(WEB, {RULE: rule})], [])
    assert (found.edges, found.problems) == ((), ())


@pytest.mark.parametrize(
    ("annotation", "text", "said"),
    [
        (RULE, "after upserting stores", "'after upserting stores' is not upsert <before|after> upserting"),
        (RULE, "upsert  after upserting stores", "is not upsert <before|after> upserting <group>"),
        (RULE, "upsert around upserting stores", "is not upsert <before|after> upserting <group>"),
        (f"{RULE}.y", "upsert after upserting -stores", "'-stores' is not the name of a group"),
        (RULE, "upsert after upserting {crd-kind}", "'{crd-kind}' is none of {name}, {namespace}, {kind},"),
        (RULE, "upsert after upserting {name", "'{name' is not the name of a group"),
        (GROUP, "two words", "'two words' is not the name of a group"),
        (GROUP, "", "'' is not the name of a group"),
        (f"{GROUP}.long", "x" * 64, "is not the name of a group"),
        (GROUP, "{" * 250_000, "is longer than 1024 characters"),
    ],
)
def test_kapp_annotations_that_cannot_be_read_are_problems_and_the_others_count(annotation, text, said):
    good = {f"{RULE}.good": "upsert after upserting stores"}
    found = gather([workload(DB, {GROUP: "stores"}), workload(WEB, {annotation: text, **good})], [])
    assert pairs(found) == {(WEB, DB)}
    problem = only_problem(found)
    assert (problem.about, problem.source) == ("Deployment shop/web", EdgeSource.KAPP)
    assert problem.message.startswith(f"{annotation}: ")
    assert said in problem.message


def test_other_kapp_annotations_are_not_rules():
    found = gather(
        [workload(WEB, {"kapp.k14s.io/change-rules": "?", "kapp.k14s.io/change-groups": "? ?"})], []
    )
    assert found.problems == ()


def test_a_kapp_rule_about_its_own_group_is_a_problem_and_waits_for_the_others():
    both = {GROUP: "stores", RULE: "upsert after upserting stores"}
    found = gather([workload(WEB, both), workload(DB, {GROUP: "stores"})], [])
    assert pairs(found) == {(WEB, DB)}
    assert only_problem(found).message == f"{RULE}: it is itself in group 'stores'"


def test_groups_of_two_kapp_apps_are_two_even_with_one_name():
    first, second = {"kapp.k14s.io/app": "1700000001"}, {"kapp.k14s.io/app": "1700000002"}
    found = gather(
        [
            workload(DB, {GROUP: "stores"}, labels=first),
            workload(API, {GROUP: "stores"}, labels=second),
            workload(WEB, {RULE: "upsert after upserting stores"}, labels=first),
        ],
        [],
    )
    assert pairs(found) == {(WEB, DB)}


@pytest.mark.parametrize("rule", ["upsert before upserting g", "upsert after upserting g"])
def test_a_kapp_app_that_somebody_names_in_another_namespace_holds_nobody(rule):
    app, theirs = {"kapp.k14s.io/app": "1700000001"}, deployment("x", "evil")
    found = gather([workload(WEB, {GROUP: "g"}, labels=app), workload(theirs, {RULE: rule}, labels=app)], [])
    assert found.edges == ()
    assert only_problem(found).about == "Deployment evil/x"
    assert only_problem(found).message == (
        f"{RULE}: members of group 'g' in namespace shop do not count;"
        " say an order between namespaces in a WorkloadOrder of the namespace that waits"
    )


def test_who_joins_a_kapp_group_from_another_namespace_holds_nobody():
    app, theirs = {"kapp.k14s.io/app": "1700000001"}, deployment("x", "evil")
    after = {RULE: "upsert after upserting stores"}
    found = gather(
        [
            workload(DB, {GROUP: "stores"}, labels=app),
            workload(theirs, {GROUP: "stores"}, labels=app),
            workload(WEB, after, labels=app),
        ],
        [],
    )
    assert pairs(found) == {(WEB, DB)}


def test_without_a_kapp_app_a_group_ends_with_its_namespace():
    found = gather(
        [
            workload(deployment("cache", "auth"), {GROUP: "stores"}),
            workload(WEB, {RULE: "upsert before upserting stores"}),
        ],
        [],
    )
    assert found.edges == ()


def test_a_kapp_rule_about_too_many_is_a_problem_and_smaller_ones_of_the_workload_count():
    crowd = [workload(deployment(f"d{number}"), {GROUP: "crowd"}) for number in range(257)]
    rules = {f"{RULE}.a": "upsert after upserting crowd", f"{RULE}.b": "upsert after upserting stores"}
    found = gather([*crowd, workload(DB, {GROUP: "stores"}), workload(WEB, rules)], [])
    assert pairs(found) == {(WEB, DB)}
    assert only_problem(found).message.startswith(f"{RULE}.a: not followed")
    assert "256" in only_problem(found).message


def test_all_kapp_rules_of_a_workload_share_one_limit():
    crowds = [workload(deployment(f"d{number:03}"), {GROUP: f"crowd{number % 2}"}) for number in range(300)]
    rules = {f"{RULE}.{number}": f"upsert after upserting crowd{number}" for number in range(2)}
    found = gather([*crowds, workload(WEB, rules)], [])
    assert len(found.edges) == 150
    assert only_problem(found).message.startswith(f"{RULE}.1: not followed")


def test_kapp_rules_count_by_name_and_not_as_they_happen_to_be_written():
    rules = {f"{RULE}.{name}": "upsert after upserting stores" for name in "ba"}
    found = gather([workload(DB, {GROUP: "stores"}), workload(WEB, rules)], [])
    assert found.edges == (Edge(WEB, DB, f"annotation {RULE}.a"),)


def test_kapp_annotations_beyond_the_limit_are_one_problem():
    rules = {f"{RULE}.{number:05}": "nonsense" for number in range(1000)}
    found = gather([workload(WEB, rules)], [])
    assert len(found.problems) == 257
    assert found.problems[0].message == "only the first 256 kapp annotations count, there are 1000"
