import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rows import make
from shiplift.api.workloads import (
    EdgeSource,
    OrderedWorkload,
    WorkloadKind,
    WorkloadOrder,
    WorkloadOrderSpec,
    WorkloadRef,
)
from shiplift.engine.graph import Edge, Graph
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Labels
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.observe.dependencies import Declared, gather, source_of

DEPENDS_ON = "config.kubernetes.io/depends-on"
GROUP = "kapp.k14s.io/change-group"
RULE = "kapp.k14s.io/change-rule"
WAVE = "argocd.argoproj.io/sync-wave"
TRACKING_ID = "argocd.argoproj.io/tracking-id"
INSTANCE = "app.kubernetes.io/instance"


def deployment(name, namespace="shop"):
    return WorkloadId("Deployment", namespace, name)


WEB, API, DB = deployment("web"), deployment("api"), WorkloadId("StatefulSet", "shop", "db")


def workload(identity, annotations=None, **labels):
    return Declared(identity, Labels(annotations or {}), Labels(labels.get("labels") or {}))


def ref(text, namespace=""):
    kind, name = text.split("/")
    return WorkloadRef(kind=WorkloadKind(kind), name=name, namespace=namespace)


def ordered(text, *depends_on, namespace=""):
    kind, name = text.split("/")
    return OrderedWorkload(kind=WorkloadKind(kind), name=name, namespace=namespace, depends_on=depends_on)


def order(*workloads, namespace="shop", name="main"):
    object_ = WorkloadOrder(spec=WorkloadOrderSpec(workloads=workloads))
    return make(Custom, name, namespace=namespace, object=object_)


def pairs(found):
    return {(edge.dependent, edge.dependency) for edge in found.edges}


def only_problem(found):
    (problem,) = found.problems
    return problem


# Names


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


# kapp


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


# Argo CD


def wave(identity, number, application="shop", **more):
    annotations = {} if number is None else {WAVE: number}
    return workload(
        identity, {**annotations, **more}, labels={INSTANCE: application} if application else None
    )


def test_a_wave_follows_the_next_lower_one_that_exists_softly():
    found = gather([wave(DB, "-5"), wave(API, "+1"), wave(WEB, "7")], [])
    origin = f"annotation {WAVE}"
    assert set(found.edges) == {Edge(API, DB, origin, soft=True), Edge(WEB, API, origin, soft=True)}
    assert found.problems == ()


def test_a_workload_without_a_wave_is_in_wave_0_and_a_wave_waits_for_all_of_the_one_before():
    found = gather([wave(DB, None), wave(API, "0"), wave(WEB, "1"), wave(deployment("mail"), "1")], [])
    assert pairs(found) == {(one, other) for one in (WEB, deployment("mail")) for other in (DB, API)}


def test_waves_count_within_one_application():
    found = gather([wave(DB, "0", "stores"), wave(WEB, "1", "shop")], [])
    assert (found.edges, found.problems) == ((), ())


def test_two_releases_of_one_name_in_two_namespaces_do_not_wait_for_each_other():
    found = gather([wave(deployment("x", "evil"), "-1"), wave(WEB, None), wave(DB, "-1")], [])
    assert pairs(found) == {(WEB, DB)}
    assert found.problems == ()


def tracked(identity, number):
    named = f"shop:apps/{identity.kind}:{identity.namespace}/{identity.name}"
    return wave(identity, number, None, **{TRACKING_ID: named})


def test_waves_of_an_application_in_several_namespaces_count_within_each_and_that_is_told():
    """Whoever writes a tracking-id could otherwise hold every workload of that application."""
    found = gather([tracked(deployment("x", "evil"), "-1"), tracked(WEB, None), tracked(DB, "-1")], [])
    assert pairs(found) == {(WEB, DB)}
    assert only_problem(found).about == "Deployment shop/web"
    assert only_problem(found).message == (
        f"{WAVE}: waves of application 'shop' count within each of namespaces evil, shop;"
        " say an order between namespaces in a WorkloadOrder of the namespace that waits"
    )


def test_an_application_of_one_wave_in_several_namespaces_is_no_problem():
    assert gather([tracked(deployment("x", "evil"), "2"), tracked(WEB, "2")], []).problems == ()


def test_an_application_without_waves_has_no_order():
    assert gather([wave(one, None) for one in (WEB, API, DB)], []).edges == ()


def test_the_tracking_id_tells_the_application_whatever_the_label_says():
    found = gather(
        [
            wave(DB, "0", "postgres", **{TRACKING_ID: "all:apps/StatefulSet:shop/db"}),
            wave(WEB, "1", "shop", **{TRACKING_ID: "all:apps/Deployment:shop/web"}),
            wave(API, "0", "shop"),
        ],
        [],
    )
    assert pairs(found) == {(WEB, DB)}


def test_a_tracking_id_that_was_copied_from_another_object_does_not_count():
    copied = {TRACKING_ID: "other:apps/Deployment:shop/parent"}
    assert pairs(gather([wave(DB, "0"), wave(WEB, "1", **copied)], [])) == {(WEB, DB)}


@pytest.mark.parametrize("text", ["", "first", "1.5", " 1", "1_0", "٣", "9" * 5000])
def test_a_wave_that_is_no_number_is_a_problem_and_counts_as_wave_0(text):
    found = gather([wave(DB, "-1"), wave(WEB, text)], [])
    assert pairs(found) == {(WEB, DB)}
    problem = only_problem(found)
    assert (problem.about, problem.source) == ("Deployment shop/web", EdgeSource.SYNC_WAVE)
    assert problem.message.startswith(f"{WAVE}: '{text[:100]}")
    assert problem.message.endswith("is not a whole number")


def test_a_wave_of_no_known_application_is_a_problem():
    found = gather([wave(DB, "0", None), wave(WEB, None, None)], [])
    assert only_problem(found).about == "StatefulSet shop/db"
    assert TRACKING_ID in only_problem(found).message


def test_waves_with_too_many_edges_between_them_are_a_problem_and_other_waves_count():
    crowd = [wave(deployment(f"d{number:02}"), "0") for number in range(50)]
    late = [wave(deployment(f"e{number:02}"), "1") for number in range(41)]
    found = gather([*crowd, *late, wave(WEB, "2")], [])
    assert pairs(found) == {(WEB, one.id) for one in late}
    assert only_problem(found).about == "Deployment shop/e00"
    assert (
        "waves 0 (50 workloads) and 1 (41) of application 'shop' are too large" in only_problem(found).message
    )


# Together


def declared_four_times():
    everywhere = {
        DEPENDS_ON: "apps/namespaces/shop/StatefulSet/db",
        RULE: "upsert after upserting stores",
        WAVE: "1",
    }
    return [wave(WEB, None, **everywhere), wave(DB, None, **{GROUP: "stores"})]


@pytest.mark.parametrize(
    ("without", "origin"),
    [
        ((), "WorkloadOrder shop/main"),
        (("order",), f"annotation {DEPENDS_ON}"),
        (("order", DEPENDS_ON), f"annotation {RULE}"),
        (("order", DEPENDS_ON, RULE), f"annotation {WAVE}"),
    ],
)
def test_of_several_sources_the_strongest_is_kept(without, origin):
    workloads = [
        Declared(
            one.id,
            Labels({key: text for key, text in one.annotations.items() if key not in without}),
            one.labels,
        )
        for one in declared_four_times()
    ]
    orders = [] if "order" in without else [order(ordered("Deployment/web", ref("StatefulSet/db")))]
    assert gather(workloads, orders).edges == (Edge(WEB, DB, origin, soft=origin.endswith(WAVE)),)


def test_a_wave_against_a_hard_dependency_gives_way_in_the_graph():
    after = {DEPENDS_ON: "apps/namespaces/shop/Deployment/web"}
    found = gather([wave(WEB, "1"), wave(DB, "0", **after)], [])
    assert pairs(found) == {(WEB, DB), (DB, WEB)}
    assert Graph([WEB, DB], found.edges).cycles == ()


names = st.sampled_from(["web", "api", "db", "mail"])
namespaces = st.sampled_from(["shop", "auth"])
kinds = st.sampled_from(["Deployment", "StatefulSet"])
identities = st.builds(WorkloadId, kinds, namespaces, names)
references = st.builds(lambda one: f"apps/namespaces/{one.namespace}/{one.kind}/{one.name}", identities)
groups = st.sampled_from(["stores", "fronts", "{name}", "{kind}-{namespace}"])
rules = st.builds("upsert {} upserting {}".format, st.sampled_from(["before", "after"]), groups)
suffixes = st.sampled_from(["", ".a", ".b"])


def texts(sensible):
    pieces = st.sampled_from([",", "/", " ", "{", "}", "apps", "namespaces", "upsert", "after", "0", "-"])
    return sensible | st.text() | st.lists(pieces).map("".join)


annotations = st.builds(
    lambda *parts: Labels({key: text for part in parts for key, text in part.items()}),
    st.dictionaries(st.just(DEPENDS_ON), texts(st.lists(references, max_size=4).map(",".join))),
    st.dictionaries(suffixes.map(GROUP.__add__), texts(groups)),
    st.dictionaries(suffixes.map(RULE.__add__), texts(rules)),
    st.dictionaries(st.just(WAVE), texts(st.integers(-2, 2).map(str))),
    st.dictionaries(st.just(TRACKING_ID), st.text()),
)
labels = st.dictionaries(st.sampled_from([INSTANCE, "kapp.k14s.io/app"]), st.sampled_from("ab")).map(Labels)
workload_lists = st.lists(st.builds(Declared, identities, annotations, labels), unique_by=lambda one: one.id)


def as_ordered(one, others):
    refs = [WorkloadRef(kind=WorkloadKind(o.kind), name=o.name, namespace=o.namespace) for o in others]
    return ordered(f"{one.kind}/{one.name}", *refs, namespace=one.namespace)


entries = st.builds(as_ordered, identities, st.lists(identities, max_size=4))
order_lists = st.lists(st.tuples(namespaces, st.lists(entries, min_size=1, max_size=4))).map(
    lambda given: [order(*own, namespace=at, name=f"o{number}") for number, (at, own) in enumerate(given)]
)


@given(workload_lists, order_lists)
def test_nothing_waits_for_itself_and_no_pair_has_two_edges(workloads, orders):
    found = gather(workloads, orders)
    assert all(edge.dependent != edge.dependency for edge in found.edges)
    assert len(pairs(found)) == len(found.edges)


@given(workload_lists, order_lists, st.integers())
def test_the_result_is_the_same_in_whatever_order_things_are_given(workloads, orders, seed):
    found = gather(workloads, orders)
    shuffle = random.Random(seed).shuffle
    shuffle(workloads)
    shuffle(orders)
    assert gather(iter(workloads), iter(orders)) == found


@given(workload_lists, order_lists)
def test_only_waves_are_soft_and_every_origin_has_a_source(workloads, orders):
    for edge in gather(workloads, orders).edges:
        assert edge.soft == (source_of(edge.origin) is EdgeSource.SYNC_WAVE)


@given(workload_lists, order_lists)
def test_nobody_is_made_to_wait_from_another_namespace(workloads, orders):
    for edge in gather(workloads, orders).edges:
        if edge.dependent.namespace != edge.dependency.namespace:
            own_order = edge.origin.startswith(f"WorkloadOrder {edge.dependent.namespace}/")
            assert own_order or source_of(edge.origin) is EdgeSource.DEPENDS_ON


@given(workload_lists, order_lists)
def test_an_order_is_never_lost_to_what_is_written_on_workloads(workloads, orders):
    assert set(gather([], orders).edges) <= set(gather(workloads, orders).edges)


@given(st.dictionaries(st.sampled_from([DEPENDS_ON, GROUP, RULE, WAVE, TRACKING_ID]), st.text()))
def test_whatever_is_written_has_at_most_one_short_problem_each(written):
    found = gather([workload(WEB, written)], [])
    assert len(found.problems) <= len(written)
    assert all(problem.about == "Deployment shop/web" for problem in found.problems)
    assert all(len(problem.message) < 1200 for problem in found.problems)
