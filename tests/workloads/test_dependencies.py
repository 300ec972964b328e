"""What depends on what, by orders and the annotation of Config Sync and kustomize."""

import pytest

from shiplift.api.workloads import (
    EdgeSource,
)
from shiplift.engine.graph import Edge
from shiplift.workloads.observe.dependencies import gather, source_of
from tests.workloads.declared import (
    API,
    DB,
    DEPENDS_ON,
    RULE,
    WAVE,
    WEB,
    deployment,
    only_problem,
    order,
    ordered,
    pairs,
    ref,
    workload,
)


def test_a_workload_says_its_name_for_people_and_for_a_placement():
    assert str(WEB) == "Deployment shop/web"
    assert DB.owner_key == "StatefulSet.db"


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        ("WorkloadOrder shop/main", EdgeSource.WORKLOAD_ORDER),
        (f"annotation {DEPENDS_ON}", EdgeSource.DEPENDS_ON),
        (f"annotation {RULE}", EdgeSource.KAPP),
        (f"annotation {RULE}.db of Deployment shop/web", EdgeSource.KAPP),
        (f"annotation {WAVE}", EdgeSource.SYNC_WAVE),
    ],
)
def test_an_origin_tells_its_source(origin, source):
    assert source_of(origin) is source


def test_an_origin_of_nobody_is_refused_by_name():
    with pytest.raises(ValueError, match="'a guess'"):
        source_of("a guess")


# WorkloadOrder


def test_an_order_speaks_of_its_own_namespace():
    found = gather([], [order(ordered("Deployment/web", ref("StatefulSet/db")))])
    assert found.edges == (Edge(WEB, DB, "WorkloadOrder shop/main"),)
    assert found.problems == ()


def test_an_order_may_point_to_other_namespaces_and_speaks_for_its_own_only():
    here = ordered("Deployment/web", ref("Deployment/idp", namespace="auth"))
    there = ordered("Deployment/mail", ref("Deployment/web"), namespace="post")
    found = gather([], [order(here, there)])
    assert pairs(found) == {(WEB, deployment("idp", "auth"))}
    assert only_problem(found).about == "WorkloadOrder shop/main"
    assert only_problem(found).message == (
        "what it says of Deployment post/mail does not count, it speaks for its own namespace only;"
        " say it in a WorkloadOrder of namespace post"
    )


def test_a_workload_that_names_itself_by_its_namespace_is_a_problem_and_the_rest_counts():
    itself = ordered("Deployment/web", ref("Deployment/web", namespace="shop"), ref("StatefulSet/db"))
    found = gather([], [order(itself)])
    assert pairs(found) == {(WEB, DB)}
    assert only_problem(found).about == "WorkloadOrder shop/main"
    assert only_problem(found).source is EdgeSource.WORKLOAD_ORDER
    assert only_problem(found).message == "Deployment shop/web cannot depend on itself"


def test_a_deployment_and_a_stateful_set_of_one_name_are_two():
    found = gather([], [order(ordered("Deployment/db", ref("StatefulSet/db")))])
    assert pairs(found) == {(deployment("db"), DB)}


# config.kubernetes.io/depends-on


def depends_on(text):
    return gather([workload(WEB, {DEPENDS_ON: text})], [])


@pytest.mark.parametrize(
    ("text", "dependencies"),
    [
        ("apps/namespaces/shop/StatefulSet/db", {DB}),
        ("apps/namespaces/shop/Deployment/api,apps/namespaces/shop/StatefulSet/db", {API, DB}),
        (" apps/namespaces/shop/Deployment/api , apps/namespaces/shop/StatefulSet/db\n", {API, DB}),
        ("apps/namespaces/auth/Deployment/idp.v2", {deployment("idp.v2", "auth")}),
    ],
)
def test_depends_on_names_workloads_of_any_namespace(text, dependencies):
    found = depends_on(text)
    assert set(found.edges) == {Edge(WEB, other, f"annotation {DEPENDS_ON}") for other in dependencies}
    assert found.problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "/namespaces/shop/ConfigMap/settings",
        "/Namespace/shop",
        "rbac.authorization.k8s.io/ClusterRole/reader",
        "batch/namespaces/shop/Job/migrate",
        "apps/namespaces/shop/DaemonSet/agent",
        "apps.kruise.io/namespaces/shop/StatefulSet/db",
    ],
)
def test_depends_on_passes_over_kinds_that_are_not_moved(text):
    found = depends_on(text)
    assert (found.edges, found.problems) == ((), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not <group>/namespaces/<namespace>/<kind>/<name>"),
        ("db", "'db' is not <group>/namespaces/"),
        ("apps/v1/namespaces/shop/Deployment/api", "'apps/v1/namespaces/shop/Deployment/api' is not <group>"),
        ("apps/shop/namespaces/Deployment/api", "is not <group>/namespaces/"),
        ("/namespaces/shop", "is not <group>/namespaces/"),
        ("apps/namespaces/shop/Deployment/", "is not <group>/namespaces/"),
        ("apps/namespaces/shop/deployment/api", "names a kind that group apps does not have"),
        ("apps/Deployment/api", "is not apps/namespaces/<namespace>/Deployment/<name>"),
        ("apps/namespaces//StatefulSet/db", "is not apps/namespaces/<namespace>/StatefulSet/<name>"),
        ("/namespaces/shop/Deployment/api", "is not apps/namespaces/<namespace>/Deployment/<name>"),
        ("apps/namespaces/shop/Deployment/Api_1", "is not apps/namespaces/<namespace>/Deployment/<name>"),
        ("apps/namespaces/shop/Deployment/web", "is the workload itself"),
    ],
)
def test_depends_on_that_cannot_be_followed_is_a_problem_that_quotes_it(text, said):
    found = depends_on(f"{text},apps/namespaces/shop/StatefulSet/db")
    assert pairs(found) == {(WEB, DB)}
    problem = only_problem(found)
    assert (problem.about, problem.source) == ("Deployment shop/web", EdgeSource.DEPENDS_ON)
    assert problem.message.startswith(f"{DEPENDS_ON}: {text!r} ")
    assert said in problem.message


def test_an_annotation_has_one_problem_however_much_of_it_is_wrong():
    problem = only_problem(depends_on("a,b,c,d,e"))
    assert "'a' is not" in problem.message
    assert problem.message.endswith("; and 2 more")


def test_references_beyond_the_limit_are_a_problem_and_the_first_ones_count():
    found = depends_on(",".join(f"apps/namespaces/shop/Deployment/d{number}" for number in range(10_000)))
    assert pairs(found) == {(WEB, deployment(f"d{number}")) for number in range(256)}
    assert only_problem(found).message.endswith("only the first 256 references count, there are 10000")


def test_exactly_as_many_references_as_allowed_are_no_problem():
    found = depends_on(",".join(f"apps/namespaces/shop/Deployment/d{number}" for number in range(256)))
    assert len(found.edges) == 256
    assert found.problems == ()


def test_a_quote_in_a_problem_is_short_whatever_was_written():
    assert len(only_problem(depends_on("x" * 250_000)).message) < 300
