"""The status of a WorkloadOrder tells of what that order itself declares, and of all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from shiplift.api.orders import WorkloadOrderStatus
from shiplift.api.workloads import Edge, OnCycle, OnMissing
from shiplift.facts import kinds
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.tell.order_status import order_status
from tests.workloads.views import DEPLOYMENT, an_id, look, under_way
from tests.workloads.world import SPACE, World

WEB, API, DB = an_id("web"), an_id("api"), an_id("db")
NOWHERE = an_id("nowhere")
Needs = Iterable[tuple[WorkloadId, WorkloadId]]


def told(orders: Mapping[str, Needs]) -> dict[str, WorkloadOrderStatus]:
    """The status of each of these orders of one namespace."""
    world = under_way(
        *((DEPLOYMENT, name, 1) for name in ("web", "api", "db")),
        on_missing=OnMissing.BLOCK,
        on_cycle=OnCycle.STOP,
    )
    for name, needs in orders.items():
        world.order(name, needs)
    return statuses(world)


def statuses(world: World) -> dict[str, WorkloadOrderStatus]:
    order = look(world).order
    return {row.name: order_status(row, order, world.now) for row in world.customs(kinds.WORKLOAD_ORDER)}


def ready(status: WorkloadOrderStatus) -> tuple[str, str]:
    (found,) = (one for one in status.conditions if one.type == "Ready")
    return found.status.value, found.reason


def pairs(edges: Iterable[Edge]) -> list[tuple[str, str]]:
    return [(one.dependent, one.dependency) for one in edges]


def test_what_another_order_of_the_namespace_misses_is_not_held_against_it() -> None:
    found = told({"fine": [(WEB, API)], "odd": [(WEB, NOWHERE)]})
    assert ready(found["fine"]) == ("True", "Followed")
    assert ready(found["odd"]) == ("False", "Missing")
    assert (pairs(found["fine"].missing), pairs(found["odd"].missing)) == (
        [],
        [(str(WEB), str(NOWHERE))],
    )


def test_a_cycle_is_told_by_all_orders_that_take_part_in_it_and_by_no_other() -> None:
    found = told({"fine": [(WEB, API)], "half": [(API, DB)], "other": [(DB, API)]})
    assert ready(found["fine"]) == ("True", "Followed")
    assert (ready(found["half"]), ready(found["other"])) == (("False", "Cycle"), ("False", "Cycle"))
    assert (pairs(found["half"].cycles), pairs(found["other"].cycles)) == (
        [(str(API), str(DB))],
        [(str(DB), str(API))],
    )


def test_what_two_orders_miss_is_told_by_both() -> None:
    found = told({"one": [(WEB, NOWHERE)], "two": [(WEB, NOWHERE)]})
    assert {ready(one) for one in found.values()} == {("False", "Missing")}


def test_a_name_that_is_too_long_to_be_told_whole_is_missed_all_the_same() -> None:
    long = an_id("w" * 253, namespace="n" * 63)
    world = under_way((DEPLOYMENT, "web", 1), on_missing=OnMissing.BLOCK)
    world.workload(DEPLOYMENT, long.name, 1, long.namespace)
    gone = WorkloadId(long.kind, long.namespace, "g" * 253)
    world.order("order", [(long, gone)], long.namespace)
    found = statuses(world)["order"]
    assert ready(found) == ("False", "Missing")
    ((dependent, dependency),) = pairs(found.missing)
    assert (len(dependent), len(dependency)) == (256, 256)


@pytest.mark.parametrize("number", [0, 128, 200])
def test_however_many_others_miss_something_each_tells_of_its_own(number: int) -> None:
    orders = {f"order-{one:03}": [(an_id(f"absent-{one}"), API)] for one in range(201)}
    found = told(orders)[f"order-{number:03}"]
    assert ready(found) == ("False", "Missing")
    assert found.absent == (f"Deployment {SPACE}/absent-{number}",)


def test_no_more_than_there_is_room_for_is_told() -> None:
    found = told({"order": [(WEB, an_id(f"nowhere-{one}")) for one in range(300)]})["order"]
    assert len(found.missing) == 256
