"""A WorkloadOrder that names what is not there says so: a slip in a name drops no order in silence."""

from __future__ import annotations

import pytest

from shiplift.api.orders import WorkloadOrderStatus
from shiplift.facts import kinds
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.observe.absent import absent, near
from shiplift.workloads.tell.order_status import order_status
from shiplift.workloads.tell.report import status_of
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, look, under_way
from tests.workloads.world import World

WEB, API, DB = an_id("web"), an_id("api"), an_id("db", STATEFUL_SET)
WEBB = an_id("webb")
SAID = (
    "Deployment shop/webb does not exist, so its dependsOn has no effect; did you mean Deployment shop/web?"
)


def a_shop(*needs: tuple[WorkloadId, WorkloadId], **spec: object) -> World:
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "api", 2), (STATEFUL_SET, "db", 2), **spec)
    world.order("order", needs)
    return world


def told(world: World) -> WorkloadOrderStatus:
    (row,) = world.customs(kinds.WORKLOAD_ORDER)
    return order_status(row, look(world).order, world.now)


def test_a_slip_in_the_name_of_a_dependent_is_told_by_its_order() -> None:
    found = told(a_shop((WEBB, API)))
    ready = next(one for one in found.conditions if one.type == "Ready")
    assert (ready.status.value, ready.reason, ready.message) == ("False", "Missing", SAID)
    assert found.absent == ("Deployment shop/webb",)


def test_a_slip_in_the_name_of_a_dependent_is_told_by_the_migration() -> None:
    world = a_shop((WEBB, API))
    notes = status_of(decide(look(world), world.now)).notes
    assert notes == (f"WorkloadOrder shop/order: {SAID}",)


def test_all_that_are_absent_are_counted() -> None:
    found = told(a_shop((WEBB, API), (an_id("apj"), DB)))
    assert next(one for one in found.conditions if one.type == "Stalled").message == f"{SAID} (and 1 more)"


def test_both_faults_of_an_order_are_told_with_what_may_be_meant() -> None:
    world = a_shop((WEBB, API), (API, an_id("apii")))
    second = "Deployment shop/apii does not exist; did you mean Deployment shop/api?"
    for condition in ("Ready", "Stalled"):
        said = next(one for one in told(world).conditions if one.type == condition)
        assert said.message == f"{SAID} {second}"
    world = a_shop((API, an_id("apii")), (WEB, an_id("quite-other")))
    assert (
        next(one for one in told(world).conditions if one.type == "Ready").message == f"{second} (and 1 more)"
    )


def test_who_waits_for_what_does_not_exist_is_told_what_may_be_meant() -> None:
    world = a_shop((API, an_id("webb")))
    (line,) = (one for one in status_of(decide(look(world), world.now)).workloads if one.name == "api")
    assert line.message == (
        "waits for Deployment shop/webb, which does not exist (said by WorkloadOrder shop/order);"
        " did you mean Deployment shop/web? correct it, or set spec.onMissing of WorkloadMigration cluster to"
        " Ignore"
    )


def test_an_order_that_names_what_is_there_is_ready() -> None:
    found = told(a_shop((WEB, API), (API, DB)))
    assert next(one for one in found.conditions if one.type == "Ready").status.value == "True"
    assert found.absent == ()


def test_what_the_migration_leaves_out_is_not_called_absent() -> None:
    world = a_shop((WEB, API), exclude_namespaces=("shop",))
    assert told(world).absent == ()


def test_a_dependent_that_comes_later_is_no_longer_absent() -> None:
    world = a_shop((WEBB, API))
    world.workload(DEPLOYMENT, "webb", 1)
    assert told(world).absent == ()


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        (WEBB, WEB),
        (an_id("db"), DB),
        (an_id("web", namespace="shpo"), WEB),
        (an_id("entirely-different"), None),
        (an_id("webb", namespace="elsewhere"), None),
        (an_id("apis"), API),
        (an_id("apis", STATEFUL_SET), an_id("api", STATEFUL_SET)),
        (an_id("db", STATEFUL_SET, "elsewhere"), an_id("dbs", namespace="elsewhere")),
    ],
)
def test_what_may_be_meant(wanted: WorkloadId, meant: WorkloadId | None) -> None:
    """Of its own kind first; nearly that name in its namespace before that name in another."""
    there = [an_id("api", STATEFUL_SET), API, WEB, DB, an_id("dbs", namespace="elsewhere")]
    assert near(wanted, there) == meant


def test_an_order_does_not_speak_of_other_namespaces() -> None:
    assert told(a_shop((an_id("web", namespace="elsewhere"), API))).absent == ()


def test_absent_ones_come_in_the_order_of_names_and_only_the_first_are_compared_with_what_is_there() -> None:
    """A namespace may have thousands."""
    world = World()
    world.order("b", [(an_id(f"web{number:02}"), API) for number in range(10)])
    world.order("a", [(an_id(f"web{number:02}"), API) for number in range(10)])
    world.order("c", [(an_id("web", namespace="front"), API)], "front")
    rows = sorted(world.customs(kinds.WORKLOAD_ORDER), key=lambda row: row.name, reverse=True)
    found = absent(rows, {WEB, API}, ())
    assert list(dict.fromkeys(one.order for one in found)) == ["front/c", "shop/a", "shop/b"]
    assert [one.like for one in found] == [WEB] * 16 + [None] * 5
