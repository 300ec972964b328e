"""What a drain says: before it begins, while it runs, and where it did not come to its end."""

from __future__ import annotations

from shiplift.drain.holds import MIGRATION
from shiplift.drain.model import Reason
from shiplift.drain.plan import Plan, plan
from shiplift.drain.telling import REMIND, Row, Standing, Teller, left, rows, summary
from tests.drain.pods import DAEMON_SET, NOW, a_budget, a_pod
from tests.drain.test_plan import OTHER, a_scene

EXHAUSTED = "PodDisruptionBudget shop/web needs 2 healthy pods and has just 2"
HELPS = "1 more of its pods has to become Ready"
TIER = {"tier": "two"}


def said(teller: Teller, found: Plan, after: int = 0) -> list[str]:
    return list(teller.lines(found, NOW + after))


def test_before_it_begins_every_pod_has_a_row_those_in_the_way_first() -> None:
    found = plan(
        a_scene(
            [
                a_pod("web-1"),
                a_pod("bare", owner=None, labels=OTHER, empty_dir=True),
                a_pod("free", labels=OTHER),
                a_pod("twice", labels={"app": "web"} | TIER),
                a_pod("proxy", owner=DAEMON_SET),
                a_pod("ends", deleting=NOW),
            ],
            a_budget(),
            a_budget("two", selects=TIER),
        )
    )
    assert rows(found, {Reason.UNMANAGED: "say so"}) == [
        Row(
            "shop/bare",
            "must not go",
            why="what it keeps in emptyDir volumes is lost; nobody brings it back (say so)",
        ),
        Row(
            "shop/twice",
            "never goes",
            "shop/two and shop/web",
            "PodDisruptionBudgets shop/two and shop/web both select pod shop/twice"
            " (leave one PodDisruptionBudget that selects it)",
        ),
        Row("shop/web-1", "waits", "shop/web", f"{EXHAUSTED} ({HELPS})"),
        Row("shop/free", "goes"),
        Row("shop/ends", "ends already"),
        Row("shop/proxy", "stays", why="a DaemonSet runs it on every node"),
    ]
    assert summary("node-1", found) == (
        "node-1: 2 pods would go, 1 would wait, 1 can never go, 1 must not go, 1 would stay"
    )


def test_a_pod_that_goes_after_others_of_its_budget_goes() -> None:
    found = plan(a_scene([a_pod("web-1"), a_pod("web-2")], a_budget(allowed=1)))
    assert [(row.what, row.budget) for row in rows(found, {})] == [
        ("goes", "shop/web"),
        ("goes later", "shop/web"),
    ]
    assert summary("node-1", found) == "node-1: 2 pods would go, 0 would stay"


def test_each_change_is_told_once() -> None:
    teller, budget = Teller(), a_budget()
    both = [a_pod("free", labels=OTHER), a_pod("web-1")]
    kept = f"shop/web-1 waits: {EXHAUSTED} ({HELPS})"
    first = plan(a_scene(both, budget))
    assert list(teller.lines(first, NOW, evicts=False)) == [kept]
    assert said(teller, first) == ["shop/free is being evicted"]
    going = plan(a_scene(both, budget, evicting={"free"}))
    assert said(teller, going) == []
    assert said(teller, plan(a_scene(both[1:], budget))) == ["shop/free is gone (1 of 2)"]
    assert said(teller, plan(a_scene([]))) == ["shop/web-1 is gone (2 of 2)"]
    assert teller.gone == 2


def test_pods_that_are_gone_at_once_are_counted_of_the_same_number() -> None:
    teller, three = Teller(), [a_pod(name, labels=OTHER) for name in ("a", "b", "c")]
    said(teller, plan(a_scene(three)))
    assert said(teller, plan(a_scene(three[2:]))) == ["shop/a is gone (1 of 3)", "shop/b is gone (2 of 3)"]


def test_a_pod_whose_reason_changes_at_once_has_not_waited_for_0_s() -> None:
    teller = Teller()
    said(teller, plan(a_scene([a_pod()], a_budget())))
    (line,) = said(teller, plan(a_scene([a_pod()], a_budget(current_healthy=1))), 0.4)
    assert line.startswith("shop/web-1 waits: PodDisruptionBudget shop/web needs 2 healthy pods and has 1")


def test_a_pod_that_still_waits_is_told_again_with_how_long() -> None:
    teller, found = Teller(), plan(a_scene([a_pod()], a_budget()))
    assert len(said(teller, found)) == 1
    assert said(teller, found, REMIND - 1) == []
    assert said(teller, found, REMIND) == [f"shop/web-1 has waited for 30 s: {EXHAUSTED} ({HELPS})"]
    assert said(teller, found, REMIND + 1) == []
    fewer = plan(a_scene([a_pod()], a_budget(current_healthy=1)))
    assert said(teller, fewer, REMIND + 2) == [
        "shop/web-1 has waited for 32 s: PodDisruptionBudget shop/web needs 2 healthy pods and has 1"
        " (2 more of its pods have to become Ready)"
    ]


def test_a_pod_that_waits_for_something_else_begins_to_wait_anew() -> None:
    teller = Teller()
    said(teller, plan(a_scene([a_pod()], a_budget())))
    held = plan(a_scene([a_pod()], a_budget(), hold=lambda _: MIGRATION))
    assert said(teller, held, 5) == [f"shop/web-1 waits: {MIGRATION} ({MIGRATION.unblocks})"]
    assert said(teller, held, 5 + REMIND) == [
        f"shop/web-1 has waited for 30 s: {MIGRATION} ({MIGRATION.unblocks})"
    ]


def test_a_pod_that_does_not_end_in_time_is_told() -> None:
    teller, pod = Teller(), a_pod(deleting=NOW)
    assert said(teller, plan(a_scene([pod]))) == ["shop/web-1 ends"]
    assert said(teller, plan(a_scene([pod])), 31) == [
        "shop/web-1 waits: it should have ended 31 s ago: its node does not end it"
    ]
    assert said(teller, plan(a_scene([pod])), 32) == []


def test_volumes_are_told_when_no_pod_is_left() -> None:
    teller = Teller()
    assert said(teller, plan(a_scene([a_pod(deleting=NOW)], volumes=("pv-1",)))) == ["shop/web-1 ends"]
    assert said(teller, plan(a_scene([], volumes=("pv-1",)))) == [
        "shop/web-1 is gone (1 of 1)",
        "waits for 1 volume to be detached: pv-1",
    ]


def test_what_is_left_is_told_where_it_did_not_come_to_its_end() -> None:
    two = [a_pod("web-1"), a_pod("web-2")]
    assert left(plan(a_scene(two, a_budget()))) == (
        f"shop/web-1 waits: {EXHAUSTED} ({HELPS}), and 1 more pod"
    )
    assert left(plan(a_scene([a_pod(owner=None)]))) == "shop/web-1 must not go, as nobody brings it back"
    assert left(plan(a_scene([a_pod(deleting=NOW)]))) == "1 pod had not ended"
    volumes = tuple(f"pv-{number}" for number in range(7))
    assert left(plan(a_scene([], volumes=volumes))) == (
        "7 volumes still attached: pv-0, pv-1, pv-2, pv-3, pv-4 and 2 more"
    )


def test_what_is_left_stands_with_how_long_it_has() -> None:
    teller = Teller()
    both = [a_pod("web-1"), a_pod("free", labels=OTHER)]
    waits = Standing("shop/web-1", "waits", 0, f"{EXHAUSTED} ({HELPS})")
    assert teller.standing(plan(a_scene(both, a_budget())), NOW) == [waits]
    going = plan(a_scene(both, a_budget(), evicting={"free"}))
    assert teller.standing(going, NOW + 5) == [waits._replace(seconds=5), Standing("shop/free", "ends", 0)]
    assert teller.standing(plan(a_scene([])), NOW + 6) == []
    assert teller.standing(plan(a_scene(both, a_budget())), NOW + 7) == [waits]
