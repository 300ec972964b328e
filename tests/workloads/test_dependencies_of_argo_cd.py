"""Sync waves of Argo CD as dependencies."""

import pytest

from shiplift.api.workloads import (
    EdgeSource,
)
from shiplift.engine.graph import Edge
from shiplift.workloads.observe.dependencies import gather
from tests.workloads.declared import API, DB, TRACKING_ID, WAVE, WEB, deployment, only_problem, pairs, wave


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
