"""The merge patch of a status: laid on what is stored, it gives exactly what is to be told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.api.orders import WorkloadOrder, WorkloadOrderSpec, WorkloadOrderStatus
from shiplift.api.values import Estimate, Progress
from shiplift.api.workloads import MigrationState, Mode, NodesOfVersion, Wave, WorkloadMigrationStatus
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import ServerError
from shiplift.kube.events import Recorder
from shiplift.kube.statuses import Pace, as_patch
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.memory import Evictions
from shiplift.workloads.tell.orders import TIME_FOR_ORDERS
from shiplift.workloads.tell.publish import Publisher
from shiplift.workloads.tell.report import status_of
from tests.examples import tries
from tests.merging import merged
from tests.workloads.views import DEPLOYMENT, an_id, change_pod, look, under_way
from tests.workloads.world import NEW, SPACE, World

Json = dict[str, Any]
ORDER = WorkloadOrder(spec=WorkloadOrderSpec(workloads=()))
progress = st.builds(Progress.of, st.integers(0, 3), st.integers(0, 3))
moments = st.sampled_from([datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2, 3)])
statuses = st.builds(
    WorkloadMigrationStatus,
    state=st.sampled_from(MigrationState),
    target=st.sampled_from((None, "v1.35.4", "v1.36.3")),
    mode=st.sampled_from((None, Mode.INJECT)),
    started_at=st.none() | moments,
    message=st.sampled_from(("", "moving", "moved")),
    versions=st.sampled_from(((), (NodesOfVersion(version="v1.36.3", nodes=2),))),
    progress=progress,
    pods=progress,
    moves=st.integers(0, 2),
    eta=st.none()
    | st.builds(Estimate, likely=moments, earliest=st.none() | moments, latest=st.none() | moments),
    waves=st.lists(st.builds(Wave, number=st.integers(0, 2), workloads=progress), max_size=2).map(tuple),
    met=st.sampled_from(((), ("u1",), ("u1", "u2"))),
    emptying=st.sampled_from(("", "old-1")),
    notes=st.sampled_from(((), ("something",))),
)


@given(statuses, statuses)
@settings(max_examples=tries(300))
def test_the_patch_laid_on_the_old_status_gives_the_new_one(
    before: WorkloadMigrationStatus, after: WorkloadMigrationStatus
) -> None:
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    assert merged(old, as_patch(before, after)) == new


@given(statuses)
def test_what_is_the_same_is_not_written_again(status: WorkloadMigrationStatus) -> None:
    assert as_patch(status, status) == {}


def test_only_what_differs_is_sent() -> None:
    before = WorkloadMigrationStatus(met=("u1",), message="moving", emptying="old-1")
    after = WorkloadMigrationStatus(met=("u1",), message="moved")
    assert as_patch(before, after) == {"message": "moved", "emptying": None}


# --- how often ---


class Slow:
    """A clock, and a client whose writes take as long as they are told to."""

    def __init__(self, world: World, takes: float) -> None:
        self.world = world
        self.now, self.takes, self.writes = 1000.0, takes, 0
        self.orders: dict[str, WorkloadOrder] = {}
        """WorkloadOrders as they were written."""
        self.refused: dict[str, float] = {}
        """WorkloadOrders whose status is refused, and after how many seconds."""
        self.said: list[str] = []
        self.publisher = Publisher(
            cast("Client", self), cast("Recorder", self), Evictions(), Pace(lambda: self.now)
        )

    def patch(self, kind: Kind, name: str, patch: Json, *_: Any, **__: Any) -> Slow:
        self.now += self.takes
        self.writes += 1
        if name in self.refused:
            self.now += self.refused[name]
            raise ServerError("a webhook says no", status=500)
        if kind == kinds.WORKLOAD_ORDER:
            self.orders[name] = WorkloadOrder(
                spec=ORDER.spec, status=msgspec.convert(merged({}, patch["status"]), WorkloadOrderStatus)
            )
        return self

    barrier = None

    def record(self, *_: Any, **__: Any) -> None:
        """Events are not what is tested here."""

    def tell(self) -> list[Requeue]:
        """What is left for later. The status is stored where it was written."""
        decision = decide(look(self.world), self.world.now)
        before = self.writes
        left: list[Requeue] = []
        try:
            for one in self.publisher.publish(decision):
                left += [one] if isinstance(one, Requeue) else []
        except Retry as error:
            self.said.append(str(error))
        if self.writes > before:
            self.world.publish(status_of(decision))
        return left


def told_once(takes: float) -> Slow:
    """A migration under way whose status was just written, which took that long."""
    slow = Slow(under_way((DEPLOYMENT, "web", 3)), takes)
    slow.tell()
    assert slow.writes == 1
    return slow


@pytest.mark.parametrize(("takes", "rests"), [(0.01, 0.99), (0.5, 4.0), (60.0, 5.0)])
def test_mere_progress_is_told_less_often_where_telling_takes_long(takes: float, rests: float) -> None:
    slow = told_once(takes=takes)
    change_pod(slow.world, slow.world.pods(an_id("web"))[0], node="new-1")
    (later,) = slow.tell()
    assert slow.writes == 1
    assert later.after.total_seconds() == pytest.approx(rests)
    slow.now += rests
    assert slow.tell() == []
    assert slow.writes == 2


def test_what_is_more_than_progress_is_not_kept_back() -> None:
    slow = told_once(takes=0.5)
    slow.world.node("late", NEW)
    (later,) = slow.tell()
    assert later.after.total_seconds() == pytest.approx(0.5)
    slow.now += 0.5
    slow.tell()
    assert slow.writes == 2


def test_what_decisions_depend_on_is_told_at_once() -> None:
    slow = told_once(takes=5.0)
    slow.world.migrate(paused=True)
    assert slow.tell() == []
    assert slow.writes == 2


# --- many WorkloadOrders ---


def test_the_status_of_many_orders_is_left_to_later_rounds_where_the_api_server_is_slow() -> None:
    """So that no round takes as long as all of them: 300 of them at half a second each are two minutes and a
    half, and evictions wait for rounds."""
    slow = told_once(takes=0.5)
    for number in range(300):
        slow.world.put_custom(kinds.WORKLOAD_ORDER, f"order-{number}", SPACE, ORDER)
    began, before = slow.now, slow.writes
    (later,) = slow.tell()
    assert later.after == timedelta(0), "the rest comes at once"
    assert slow.now - began <= TIME_FOR_ORDERS + 1
    assert 0 < slow.writes - before <= 6


def test_the_status_of_orders_is_told_whole_round_by_round() -> None:
    slow = told_once(takes=0.5)
    names = [f"order-{number}" for number in range(20)]
    for name in names:
        slow.world.put_custom(kinds.WORKLOAD_ORDER, name, SPACE, ORDER)
    rounds = 0
    while slow.tell():
        rounds += 1
        for name, order in slow.orders.items():
            slow.world.put_custom(kinds.WORKLOAD_ORDER, name, SPACE, order)
    assert set(slow.orders) == set(names)
    assert rounds >= 3


@pytest.mark.parametrize("takes", [0.0, 10.0])
def test_an_order_whose_status_is_refused_keeps_no_other_from_being_told(takes: float) -> None:
    slow = told_once(takes=0.01)
    names = [f"order-{number}" for number in range(5)]
    for name in names:
        slow.world.put_custom(kinds.WORKLOAD_ORDER, name, SPACE, ORDER)
    slow.refused = {"order-0": takes}
    for _ in range(2):
        slow.tell()
    assert set(slow.orders) == set(names[1:])
    (told,) = slow.said
    assert told.startswith(f"the status of WorkloadOrder {SPACE}/order-0 cannot be written: ")
    assert told.endswith("a webhook says no")
    slow.refused, slow.now = {}, slow.now + 60
    slow.tell()
    assert set(slow.orders) == set(names)


def test_an_order_whose_status_is_refused_is_tried_ever_more_rarely_and_holds_up_no_round() -> None:
    slow = told_once(takes=0.01)
    slow.world.put_custom(kinds.WORKLOAD_ORDER, "order", SPACE, ORDER)
    slow.refused = {"order": 10.0}
    began, rounds = slow.now, 0
    while slow.now < began + 600:
        slow.tell()
        slow.now, rounds = slow.now + 1, rounds + 1
    assert 3 <= len(slow.said) <= 8
    assert rounds > 500, "others have waited for it less than a tenth of the time"


def test_a_refused_order_that_is_deleted_is_not_waited_for() -> None:
    slow = told_once(takes=0.01)
    slow.world.put_custom(kinds.WORKLOAD_ORDER, "order", SPACE, ORDER)
    slow.refused = {"order": 0.0}
    (later,) = slow.tell()
    assert later.after.total_seconds() == pytest.approx(0.5)
    for row in slow.world.customs(kinds.WORKLOAD_ORDER):
        slow.world.remove(row, kinds.WORKLOAD_ORDER)
    assert slow.tell() == []


def test_what_was_refused_at_the_end_of_a_migration_is_told_after_it() -> None:
    slow = told_once(takes=0.01)
    slow.world.put_custom(kinds.WORKLOAD_ORDER, "order", SPACE, ORDER)
    slow.refused = {"order": 0.0}
    (later,) = slow.tell()
    slow.world.migrate(abort=True)
    assert not decide(look(slow.world), slow.world.now).moving
    slow.refused, slow.now = {}, slow.now + later.after.total_seconds()
    slow.tell()
    assert set(slow.orders) == {"order"}
    assert slow.tell() == []


def test_what_is_refused_for_good_is_given_up_after_the_end_of_a_migration() -> None:
    slow = told_once(takes=0.01)
    slow.world.put_custom(kinds.WORKLOAD_ORDER, "order", SPACE, ORDER)
    slow.refused = {"order": 0.0}
    slow.tell()
    slow.world.migrate(abort=True)
    for _ in range(20):
        slow.now += 300
        slow.tell()
    assert 2 <= len(slow.said) <= 8
    assert slow.tell() == []
