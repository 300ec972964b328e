"""Which pod a budget waits for, and why that pod is not Ready."""

from __future__ import annotations

import pytest

from shiplift.drain.holds import MIGRATION
from shiplift.drain.plan import plan
from shiplift.drain.shortage import Sibling, missing, sibling, told
from tests.drain.pods import NOW, a_budget, a_pod
from tests.drain.test_plan import a_scene

READY = Sibling("web-0", ready=True)


@pytest.mark.parametrize(
    ("siblings", "words"),
    [
        ([], ""),
        ([READY], ""),
        ([READY, sibling(a_pod("web-1", ready=False, deleting=NOW))], ""),
        ([sibling(a_pod("web-1", ready=False, phase="Failed"))], ""),
        ([READY, sibling(a_pod("web-1", ready=False))], "pod web-1 is not Ready: it is starting"),
        (
            [
                sibling(a_pod("web-1", ready=False)),
                sibling(a_pod("web-2", ready=False, waiting="CrashLoopBackOff")),
            ],
            "pod web-2 is not Ready: CrashLoopBackOff, and 1 more",
        ),
        (
            [sibling(a_pod("web-1", ready=False, unschedulable="0/3 nodes are available"))],
            "pod web-1 is not Ready: no node takes it: 0/3 nodes are available",
        ),
    ],
)
def test_the_pod_that_is_missing_is_named(siblings: list[Sibling], words: str) -> None:
    assert missing(siblings) == words


def test_a_plan_tells_whom_its_budget_waits_for() -> None:
    found = told(plan(a_scene([a_pod()], a_budget())), {"shop/web": "pod web-2 is not Ready: it is starting"})
    assert found.waits[0].unblocks == (
        "1 more of its pods has to become Ready: pod web-2 is not Ready: it is starting"
    )


def test_a_pod_that_waits_for_others_of_its_node_waits_for_no_sibling() -> None:
    two = plan(a_scene([a_pod("web-1"), a_pod("web-2")], a_budget(allowed=1)))
    assert told(two, {"shop/web": "pod web-3 is not Ready: it is starting"}) == two


def test_a_plan_tells_when_the_migration_that_holds_a_pod_ends() -> None:
    found = told(plan(a_scene([a_pod()], hold=lambda _: MIGRATION)), {}, "in 4 min")
    assert found.waits[0].unblocks == f"{MIGRATION.unblocks}; it is expected to end in 4 min"
