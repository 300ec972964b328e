"""Holding: never a second budget on a pod, never somebody else's pods, and let go when the turn has come."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import CORDONED_BY, HELD_LABEL, HOLD_LEDGER, MANAGED_BY, MANAGER
from shiplift.api.workloads import Hold, Mode
from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.workloads.act.budgets import given_back
from shiplift.workloads.decide import holds
from shiplift.workloads.decide.cleaning import leftovers
from shiplift.workloads.decide.holds import Holding, holding
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.names import SKIP
from shiplift.workloads.steps import DeleteHold, Evict, HoldBudget, MakeHold, RestoreBudget
from tests.model import nature
from tests.workloads import server
from tests.workloads.databases import DB, PRIMARY, a_database, label, named
from tests.workloads.players import Operator, finish, residue, run
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, change, change_pod, look, under_way
from tests.workloads.world import NEW, SPACE, World

WEB, API = an_id("web"), an_id("api")


def a_shop(hold: Hold = Hold.ALWAYS, mode: Mode = Mode.INJECT) -> World:
    return under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "api", 2), hold=hold, mode=mode)


def held(world: World, *going: WorkloadId) -> Holding:
    return holding(look(world), frozenset(going))


def take(world: World, *going: WorkloadId) -> None:
    for step in held(world, *going).steps:
        assert server.take(world, step, {}).ok
    nature.settle(world)


def a_budget(world: World, name: str, spec: dict[str, Any] | None = None, **labels: str) -> None:
    world.budget(name, labels, spec or {"maxUnavailable": 1})
    nature.settle(world)


def relabel(world: World, name: str, **labels: str) -> None:
    """The workload and its pods get other labels."""
    pods = world.pods(an_id(name))
    change(world, name, template_labels=Labels(labels))
    for pod in pods:
        change_pod(world, pod, labels=Labels(labels))


def test_where_a_budget_cannot_be_read_no_hold_is_made_and_none_let_go() -> None:
    world = a_shop()
    take(world, API)
    world.spoil(kinds.POD_DISRUPTION_BUDGET, "odd", "no selector")
    assert not held(world, WEB).steps, "one that cannot be read might cover the same pods"
    assert {type(step) for step in holding(look(a_shop()), frozenset({WEB})).steps} == {MakeHold}


# --- when ---


@pytest.mark.parametrize(
    ("hold", "mode", "expected"),
    [
        (Hold.ALWAYS, Mode.INJECT, True),
        (Hold.ON_FOREIGN_DRAIN, Mode.INJECT, False),
        (Hold.ON_FOREIGN_DRAIN, Mode.TEMPLATE, True),
    ],
)
def test_holds_are_wanted_always_or_only_against_others(hold: Hold, mode: Mode, expected: bool) -> None:
    assert holds.wanted(look(a_shop(hold, mode)), frozenset()) is expected


def test_a_cordon_of_an_old_node_is_somebody_who_drains() -> None:
    world = a_shop(Hold.ON_FOREIGN_DRAIN)
    node = world.named(Node, "old-1", "")
    assert node is not None
    world.put(msgspec.structs.replace(node, unschedulable=True))
    assert holds.wanted(look(world), frozenset())


def test_a_cordon_of_a_rollout_of_ours_is_nobody_who_drains() -> None:
    world = a_shop(Hold.ON_FOREIGN_DRAIN)
    node = world.named(Node, "old-1", "")
    assert node is not None
    ours = Labels({CORDONED_BY: "v1.36.3"})
    world.put(msgspec.structs.replace(node, unschedulable=True, annotations=ours))
    assert not holds.wanted(look(world), frozenset())
    world.put(msgspec.structs.replace(node, unschedulable=True))
    assert holds.wanted(look(world), frozenset())


def test_a_cordon_of_a_target_node_is_not() -> None:
    world = a_shop(Hold.ON_FOREIGN_DRAIN)
    node = world.named(Node, "new-1", "")
    assert node is not None
    world.put(msgspec.structs.replace(node, unschedulable=True))
    assert not holds.wanted(look(world), frozenset())


def test_an_eviction_of_a_held_workload_is_somebody_who_drains_and_of_a_released_one_is_us() -> None:
    world = a_shop(Hold.ON_FOREIGN_DRAIN)
    change_pod(world, world.pods(WEB)[0], disruption="EvictionByEvictionAPI", deleting=1)
    assert holds.wanted(look(world), frozenset())
    assert not holds.wanted(look(world), frozenset({WEB}))


@pytest.mark.parametrize(
    ("answer", "running", "foreign"),
    [
        (Answer.OK, False, False),
        (None, True, False),
        (Answer.REFUSED, False, True),
        (Answer.UNKNOWN, False, True),
        (None, False, True),
    ],
)
def test_an_eviction_of_ours_that_is_still_on_its_way_when_a_workload_is_held_again_is_not_somebody_else(
    answer: Answer | None, running: bool, foreign: bool
) -> None:
    world = a_shop(Hold.ON_FOREIGN_DRAIN)
    pod = world.pods(WEB)[0]
    step = Evict(WEB, pod.name, pod.uid, pod.node, "lane")
    change_pod(world, pod, disruption="EvictionByEvictionAPI", deleting=1)
    outcomes = Outcomes(
        last={step.key: Outcome(step=step.key, answer=answer)} if answer else {},
        running=frozenset({step.key} if running else ()),
    )
    assert holds.wanted(look(world, outcomes), frozenset()) is foreign


def test_once_there_are_holds_they_are_kept_up() -> None:
    world = a_shop(Hold.ALWAYS)
    take(world)
    world.migrate(hold=Hold.ON_FOREIGN_DRAIN)
    assert holds.wanted(look(world), frozenset())


# --- how ---


def test_who_has_no_budget_gets_one_of_ours() -> None:
    world = a_shop()
    assert held(world, API).steps == (MakeHold(WEB, look(world).tallies[WEB].row.selector or _none()),)


def _none() -> Any:
    raise AssertionError("it has a selector")


def test_a_single_budget_of_the_user_is_held_in_place() -> None:
    world = a_shop()
    a_budget(world, "web", app="web")
    (step,) = held(world, API).steps
    assert isinstance(step, HoldBudget)
    assert step.name == "web"


def test_who_is_held_is_not_held_again_and_all_of_it_is_complete() -> None:
    world = a_shop()
    a_budget(world, "web", app="web")
    assert not held(world).complete
    take(world)
    assert held(world) == Holding()
    assert held(world).complete


@pytest.mark.parametrize("spec", [{"minAvailable": "100%"}, {"maxUnavailable": 0}])
def test_a_budget_that_lets_nobody_go_holds_already(spec: dict[str, Any]) -> None:
    world = a_shop()
    a_budget(world, "web", spec, app="web")
    assert held(world, API) == Holding()


def test_a_budget_shared_with_somebody_is_never_touched_and_that_is_told() -> None:
    world = a_shop()
    for name in ("web", "api"):
        relabel(world, name, app=name, tier="shared")
    a_budget(world, "both", tier="shared")
    found = held(world, API)
    assert found.steps == ()
    assert found.complete
    text = "Deployment shop/web cannot be held: PodDisruptionBudget shop/both also covers Deployment shop/api"
    assert found.notes == (text,)


def test_a_budget_that_also_covers_pods_of_strangers_is_never_touched() -> None:
    world = a_shop()
    a_budget(world, "web", app="web")
    (row,) = world.all(PodDisruptionBudget)
    world.put(msgspec.structs.replace(row, expected_pods=5))
    found = held(world, API)
    assert (found.steps, len(found.notes)) == ((), 1)
    assert "also covers other pods" in found.notes[0]


def test_two_budgets_are_left_alone_and_named() -> None:
    world = a_shop()
    a_budget(world, "one", app="web")
    a_budget(world, "two", app="web")
    found = held(world, API)
    assert found.steps == ()
    assert "PodDisruptionBudgets shop/one and shop/two both select its pods" in found.notes[0]


def test_nobody_gets_a_budget_of_ours_whose_selector_picks_others_too() -> None:
    world = a_shop()
    change(world, "api", template_labels=Labels(app="web"))
    found = held(world, API)
    assert found.steps == ()
    assert found.notes == (
        "Deployment shop/web cannot be held: its selector also picks pods of Deployment shop/api",
    )


def test_who_has_no_pods_or_opted_out_is_not_held() -> None:
    world = a_shop()
    change(world, "web", replicas=0)
    nature.settle(world)
    change(world, "api", annotations=Labels({SKIP: "true"}))
    assert held(world).steps == ()


def test_a_budget_that_somebody_loosened_under_our_hands_is_told() -> None:
    world = a_shop()
    a_budget(world, "web", app="web")
    take(world, API)
    (row,) = world.all(PodDisruptionBudget)
    world.put(msgspec.structs.replace(row, max_unavailable=2))
    found = held(world, API)
    assert found.steps == ()
    assert "PodDisruptionBudget shop/web" in found.notes[0]
    assert "maxUnavailable 2" in found.notes[0]


# --- by the labels of each pod ---


def notes_of(found: Holding) -> str:
    return "; ".join(found.notes)


def test_each_budget_that_covers_some_pods_of_one_workload_is_held() -> None:
    world = a_database("primary", "replica", "replica", hold=Hold.ALWAYS)
    found = held(world)
    assert [step.describe() for step in found.steps] == [
        "hold StatefulSet shop/db by its PodDisruptionBudget shop/primary",
        "hold StatefulSet shop/db by its PodDisruptionBudget shop/replica",
    ]
    assert found.notes == ()
    take(world)
    assert held(world) == Holding()
    take(world, DB)
    assert [(row.name, row.min_available) for row in world.all(PodDisruptionBudget)] == [
        ("primary", 0),
        ("replica", 1),
    ]


def test_pods_that_no_budget_covers_while_their_siblings_have_one_are_named() -> None:
    world = a_database("primary", "", "", budgets=PRIMARY, hold=Hold.ALWAYS)
    found = held(world)
    assert [type(step) for step in found.steps] == [HoldBudget]
    text = "StatefulSet shop/db cannot be held whole: no PodDisruptionBudget covers its pods db-1, db-2, and"
    assert text in notes_of(found)


def test_a_pod_with_two_budgets_is_named_and_its_siblings_are_held() -> None:
    world = a_database("primary", "replica", "replica", hold=Hold.ALWAYS)
    a_budget(world, "again", {"minAvailable": 0}, role="primary")
    found = held(world)
    assert [step.describe() for step in found.steps] == [
        "hold StatefulSet shop/db by its PodDisruptionBudget shop/replica"
    ]
    assert found.notes == (
        "StatefulSet shop/db cannot be held: PodDisruptionBudgets shop/again and shop/primary both select"
        " its pod db-0",
    )


def test_ours_goes_as_soon_as_one_pod_gets_a_label_that_another_budget_asks_for() -> None:
    world = a_database("", "", "", budgets={}, hold=Hold.ALWAYS)
    take(world)
    a_budget(world, "primary", {"minAvailable": 0}, role="primary")
    assert held(world) == Holding()
    label(world, 0, "primary")
    nature.settle(world)
    assert [type(step) for step in held(world).steps] == [DeleteHold]
    take(world)
    assert [step.describe() for step in held(world).steps] == [
        "hold StatefulSet shop/db by its PodDisruptionBudget shop/primary"
    ]


def test_a_held_budget_whose_pod_lost_its_label_is_given_back() -> None:
    world = a_database("primary", "replica", "replica", hold=Hold.ALWAYS)
    take(world)
    label(world, 0, "")
    assert [step.describe() for step in held(world).steps] == [
        "give PodDisruptionBudget shop/primary back what it said"
    ]


def test_nobody_gets_a_budget_of_ours_that_picks_pods_which_others_labelled_at_run_time() -> None:
    world = a_shop()
    change(world, "web", selector=Selector(Labels(role="front")))
    pod = world.pods(API)[0]
    change_pod(world, pod, labels=Labels({**pod.labels, "role": "front"}))
    assert held(world, API).notes == (
        "Deployment shop/web cannot be held: its selector also picks pods of Deployment shop/api",
    )


@pytest.mark.parametrize(
    ("labels", "made"),
    [
        ({"app": "web", "role": "primary"}, False),
        ({"app": "other", "role": "primary"}, True),
        ({"role": "primary"}, True),
    ],
)
def test_a_budget_that_waits_for_a_label_on_these_pods_keeps_ours_away(
    labels: dict[str, str], made: bool
) -> None:
    world = a_shop()
    a_budget(world, "primary", **labels)
    found = held(world, API)
    assert [type(step) for step in found.steps] == ([MakeHold] if made else [])
    assert ("PodDisruptionBudget shop/primary covers no pod yet" in notes_of(found)) is not made


def test_a_budget_that_covers_a_stranger_with_the_same_role_is_never_touched() -> None:
    world = a_database("primary", "replica", "replica", hold=Hold.ALWAYS)
    row = named(world, "primary")
    world.put(msgspec.structs.replace(row, expected_pods=2))
    found = held(world)
    assert [step.describe() for step in found.steps] == [
        "hold StatefulSet shop/db by its PodDisruptionBudget shop/replica"
    ]
    assert "PodDisruptionBudget shop/primary also covers other pods" in notes_of(found)


# --- letting go ---


def test_when_the_turn_has_come_ours_is_deleted_and_the_users_restored() -> None:
    world = a_shop()
    a_budget(world, "web", app="web")
    take(world)
    kinds = {type(step) for step in held(world, WEB, API).steps}
    assert kinds == {DeleteHold, RestoreBudget}
    take(world, WEB, API)
    (row,) = world.all(PodDisruptionBudget)
    assert (row.name, row.max_unavailable, row.annotations) == ("web", 1, {})


def test_ours_goes_as_soon_as_a_user_makes_a_budget_for_the_same_pods() -> None:
    world = a_shop()
    take(world, API)
    a_budget(world, "web", app="web")
    steps = held(world, API).steps
    assert [type(step) for step in steps] == [DeleteHold]


def test_a_held_budget_that_came_to_cover_somebody_else_too_is_given_back() -> None:
    world = a_shop()
    a_budget(world, "web", app="web")
    take(world, API)
    relabel(world, "api", app="web")
    assert [type(step) for step in held(world, API).steps] == [RestoreBudget]


def test_a_hold_of_ours_under_a_name_that_is_nobodys_is_deleted() -> None:
    world = a_shop(Hold.ON_FOREIGN_DRAIN)
    a_budget(world, "shiplift-hold-deployment-ghost", app="web")
    (row,) = world.all(PodDisruptionBudget)
    world.put(msgspec.structs.replace(row, labels=Labels({MANAGED_BY: MANAGER})))
    (first, *_) = held(world, API).steps
    assert isinstance(first, DeleteHold)
    assert first.name == "shiplift-hold-deployment-ghost"


def without_label(world: World) -> None:
    """Somebody takes our label off the holds that we made."""
    for row in world.all(PodDisruptionBudget):
        world.put(msgspec.structs.replace(row, labels=Labels({"team": "x"})))


def test_a_hold_of_ours_that_lost_its_label_is_ours_still_and_let_go_in_its_turn() -> None:
    world = a_shop()
    take(world)
    without_label(world)
    assert held(world).steps == (), "it holds as before"
    (step,) = held(world, WEB).steps
    assert isinstance(step, DeleteHold)
    assert step.name == "shiplift-hold-deployment-web"


def test_a_hold_of_ours_that_lost_its_label_is_taken_out_at_the_end() -> None:
    world = a_shop()
    take(world)
    without_label(world)
    world.migrate(abort=True)
    found = [step.name for step in leftovers(look(world)).steps if isinstance(step, DeleteHold)]
    assert sorted(found) == ["shiplift-hold-deployment-api", "shiplift-hold-deployment-web"]


def test_a_budget_of_a_user_with_such_a_name_and_other_limits_is_not_ours() -> None:
    world = a_shop()
    a_budget(world, "shiplift-hold-deployment-web", app="web")
    (row,) = world.all(PodDisruptionBudget)
    assert not holds.is_hold(row)


def test_what_ends_a_hold_is_told_by_who_made_it() -> None:
    world = a_shop()
    a_budget(world, "web", app="web")
    (row,) = world.all(PodDisruptionBudget)
    name = "shiplift-hold-deployment-web"
    ours = msgspec.structs.replace(row, name=name, labels=Labels({MANAGED_BY: MANAGER}))
    another = msgspec.structs.replace(row, labels=Labels({MANAGED_BY: MANAGER}))
    theirs = msgspec.structs.replace(row, annotations=Labels({HOLD_LEDGER: "1"}))
    assert holds.undo(ours) == DeleteHold(SPACE, name, row.uid, row.resource_version)
    assert holds.undo(theirs) == RestoreBudget(SPACE, "web", row.uid)
    assert [holds.is_hold(one) for one in (row, ours, theirs, another)] == [False, True, True, False]


# --- the record of a budget that is held ---


def web_is_held(limits: dict[str, Any]) -> tuple[World, str, Operator]:
    """web waits for db, and is held by its own budget."""
    world = under_way((DEPLOYMENT, "web", 2), (STATEFUL_SET, "db", 1), hold=Hold.ALWAYS)
    world.order("order", [(an_id("web"), an_id("db", STATEFUL_SET))])
    uid = world.budget("web", {"app": "web"}, limits)
    operator = Operator(world)
    while HOLD_LEDGER not in world.documents[uid]["metadata"].get("annotations", {}):
        operator.round()
    return world, uid, operator


def without_annotation(world: World, uid: str) -> dict[str, Any]:
    document = copy.deepcopy(world.documents[uid])
    del document["metadata"]["annotations"]
    world.write_budget(document)
    return document


@pytest.mark.parametrize(
    "limits", [{"minAvailable": 1}, {"minAvailable": "50%"}, {"maxUnavailable": 1}, {"maxUnavailable": "50%"}]
)
def test_a_held_budget_is_given_back_though_somebody_took_the_record_off(limits: dict[str, Any]) -> None:
    world, uid, operator = web_is_held(limits)
    held = dict(without_annotation(world, uid)["spec"])
    operator.round()
    assert world.documents[uid]["spec"] == held, "it is held still"
    finish(world, operator=operator)
    after = world.documents[uid]
    assert after["spec"] == {**limits, "selector": after["spec"]["selector"]}
    assert not after["metadata"].get("labels")
    assert world.versions(an_id("web")) == [NEW, NEW]


def test_aborted_a_held_budget_without_its_record_is_given_back_too() -> None:
    world, uid, operator = web_is_held({"minAvailable": 1})
    without_annotation(world, uid)
    world.migrate(abort=True)
    run(world, operator=operator)
    assert world.documents[uid]["spec"]["minAvailable"] == 1
    assert residue(world) == []


def test_without_its_record_what_somebody_else_set_stays_and_our_label_goes() -> None:
    world, uid, operator = web_is_held({"minAvailable": 1})
    theirs = without_annotation(world, uid)
    theirs = {**theirs, "spec": {**theirs["spec"], "minAvailable": 2}}
    world.write_budget(theirs)
    world.migrate(abort=True)
    run(world, operator=operator)
    assert world.documents[uid]["spec"]["minAvailable"] == 2
    assert residue(world) == []


@pytest.mark.parametrize("text", ["", "other.1", "minAvailable.x", "minAvailable.1pct.2"])
def test_a_label_that_is_not_as_we_write_it_changes_no_limit(text: str) -> None:
    live = {"metadata": {"labels": {HELD_LABEL: text}}, "spec": {"minAvailable": "100%"}}
    assert given_back(live).patch == [{"op": "remove", "path": "/metadata/labels/shiplift.dev~1held"}]


def test_a_budget_without_a_limit_has_none_again() -> None:
    held = {"metadata": {"labels": {HELD_LABEL: "maxUnavailable"}}, "spec": {"maxUnavailable": 0}}
    assert {one["path"] for one in given_back(held).patch} == {
        "/spec/maxUnavailable",
        "/metadata/labels/shiplift.dev~1held",
    }
