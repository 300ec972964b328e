"""Dependencies that are declared in several ways at once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.orders import WorkloadRef
from shiplift.api.workloads import EdgeSource, WorkloadKind
from shiplift.engine.graph import Edge, Graph
from shiplift.facts.meta import Labels
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.observe.dependencies import Declared, gather, source_of
from tests.workloads.declared import (
    DB,
    DEPENDS_ON,
    GROUP,
    INSTANCE,
    RULE,
    TRACKING_ID,
    WAVE,
    WEB,
    order,
    ordered,
    pairs,
    ref,
    wave,
    workload,
)


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
