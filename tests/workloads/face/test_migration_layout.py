"""What a terminal shows of a migration and of one workload in it, letter by letter."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from shiplift.api.placements import Turn
from shiplift.api.workloads import WorkloadState
from shiplift.view.values import Share
from shiplift.workloads.face import explanation_layout
from shiplift.workloads.face import migration_layout as layout
from shiplift.workloads.face.explanation import BudgetView, Explanation, Neighbour, OnNode, Standing
from shiplift.workloads.face.migration import MigrationView, WaitingView, migration_view
from shiplift.workloads.face.passage import GateView, Passage, Passing, Said
from tests.cli.test_layout import drawn
from tests.workloads.face.migrations import BUSY, NEW, NOW, OLD, migration, progress, waiting

GOLDEN = Path(__file__).parent / "golden"


def view(status: dict[str, Any], **spec: Any) -> MigrationView:
    return migration_view(migration(status, spec), NOW)


DONE = {
    "observedGeneration": 2,
    "message": "all nodes run v1.36.3",
    "versions": [{"version": NEW, "nodes": 5}],
}
EXPLAINED = Explanation(
    kind="Deployment",
    namespace="shop",
    name="web",
    ready=2,
    desired=3,
    phase="held",
    line=WaitingView(
        "Deployment", "shop", "web", WorkloadState.HELD, Share(0, 3), 720, "", "StatefulSet shop/db [1/3]"
    ),
    target=NEW,
    turn=Turn.HELD,
    pods=(
        OnNode("old-1", OLD, False, 2, 2, ""),
        OnNode("new-1", NEW, True, 0, 1, "CrashLoopBackOff"),
        OnNode("", "", False, 0, 1, "0/5 nodes are available: 5 Insufficient cpu"),
    ),
    needs=(
        Neighbour("Deployment", "other", "gone", Standing.MISSING, None, "WorkloadOrder shop/order", False),
        Neighbour(
            "StatefulSet", "shop", "db", Standing.NOT_YET, Share(1, 3), "WorkloadOrder shop/order", False
        ),
        Neighbour(
            "StatefulSet",
            "shop",
            "queue",
            Standing.MOVED,
            None,
            "annotation argocd.argoproj.io/sync-wave",
            True,
        ),
    ),
    needed_by=(
        Neighbour("Deployment", "shop", "front", Standing.NOT_YET, Share(0, 2), "annotation x", False),
    ),
    budgets=(BudgetView("web", 2, 2, 0, False), BudgetView("shiplift-hold-deployment-web", 3, 2, 0, True)),
    unblocked_by=("StatefulSet shop/db moves its 2 other pods", "Deployment other/gone is created"),
)
GATES = (
    GateView("all that it depends on have moved", Passing.PASSED),
    GateView("nothing stops all moves", Passing.UNKNOWN),
    GateView(
        "API servers go by its placement",
        Passing.CLOSED,
        said=Said("PlacementNotInForce", "API server [::1]:6443 does not answer: connection refused", 720),
    ),
    GateView("no rollout of it is running", Passing.NOT_REACHED),
)
POD_GATES = (
    GateView("the migration is not paused", Passing.OPEN),
    GateView(
        "its PodDisruptionBudget lets it go",
        Passing.CLOSED,
        "BudgetExhausted",
        "2 pods to move; PodDisruptionBudget shop/web needs 2 healthy pods and has 2, which is quite enough",
    ),
    GateView("a target node has room for it", Passing.NOT_REACHED),
)
TOLD = Said("Evicting", "evict pod web-1 from old-1", None)
ALONE = Explanation(
    kind="Deployment",
    namespace="shop",
    name="web",
    ready=0,
    desired=0,
    phase="there is no migration",
    line=None,
    target="",
    turn=None,
    pods=(),
    needs=(),
    needed_by=(),
    budgets=(),
    unblocked_by=(),
)


def passing(**values: Any) -> Explanation:
    return msgspec.structs.replace(ALONE, passage=Passage(**values))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("name", "picture"),
    [
        ("migration-busy", layout.migration(view(BUSY), 20)),
        ("migration-short", layout.migration(view(BUSY, paused=True), 2)),
        ("migration-done", layout.migration(view(DONE), 20)),
        ("explain-held", explanation_layout.explanation(EXPLAINED)),
        ("explain-alone", explanation_layout.explanation(ALONE)),
        (
            "explain-gates",
            explanation_layout.explanation(passing(workload=GATES, pod=POD_GATES, name="web-1")),
        ),
        (
            "explain-ahead",
            explanation_layout.explanation(
                passing(workload=GATES[:2], pod=POD_GATES[:1], name="web-1", ahead=1, said=TOLD)
            ),
        ),
        (
            "explain-coming",
            explanation_layout.explanation(passing(workload=GATES[:1], instead="1 pod still terminating")),
        ),
        ("explain-no-part", explanation_layout.explanation(passing(instead="left alone: it has opted out"))),
    ],
)
def test_it_is_drawn_as_before(name: str, picture: Any, width: int) -> None:
    assert drawn(picture, width) == (GOLDEN / f"{name}-{width}.txt").read_text()


LONG = {
    "namespace": "n" * 63,
    "name": "q" * 253,
    "message": "waits for " + "x" * 300 + " and more",
}


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_longest_names_fit_and_are_all_there(width: int) -> None:
    status = BUSY | {"workloads": [waiting("web", "Held") | LONG, waiting("db", "Moving", "short")]}
    plain = drawn(layout.migration(view(status), 20), width)
    assert max(map(len, plain.splitlines())) <= width
    assert plain.count("q") == 253
    assert "Moving" in plain


def test_where_nothing_limits_it_a_workload_is_one_line() -> None:
    plain = drawn(layout.migration(view(BUSY), 20), 1000)
    assert sum("shop/cache" in line and "lower minAvailable" in line for line in plain.splitlines()) == 1


def test_of_ten_thousand_only_the_first_are_shown_and_the_rest_is_counted() -> None:
    listed = [waiting(f"web-{number}", "Held", "StatefulSet shop/db") for number in range(2000)]
    status = BUSY | {"progress": progress(0, 10_000), "workloads": listed}
    few = drawn(layout.migration(view(status), 20), 120)
    assert "and 9,980 more; --all shows 1,980 of them\n" in few
    assert few.count("Held") == 20
    every = drawn(layout.migration(view(status), None), 120)
    assert "and 8,000 more, which are only counted\n" in every
    assert every.count("Held") == 2000


def test_messages_are_not_read_as_markup() -> None:
    listed = [waiting("web", "Held", "[b]one[/b]"), waiting("db", "Held", reason="NoSlot")]
    status = BUSY | {"message": "[bold red]boo[/] [/nonsense]", "notes": ["[link=x]y"], "workloads": listed}
    plain = drawn(layout.migration(view(status), 20), 120)
    assert "[bold red]boo[/] [/nonsense]" in plain
    assert "[link=x]y" in plain
    assert "[b]one[/b]" in plain


def test_colour_only_repeats_what_words_say() -> None:
    coloured = Console(
        width=80, file=io.StringIO(), force_terminal=True, color_system="standard", highlight=False
    )
    with coloured.capture() as capture:
        coloured.print(layout.migration(view(BUSY), 20))
    assert "\x1b[" in capture.get()
    assert "Blocked" in drawn(layout.migration(view(BUSY), 20), 80)
