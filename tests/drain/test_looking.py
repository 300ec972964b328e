"""How what the API server tells of pods and budgets is read."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.drain.looking import as_sibling, selector_text
from shiplift.drain.shortage import Sibling
from shiplift.facts.meta import Labels
from shiplift.facts.selectors import Requirement, Selector


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (Selector(Labels()), ""),
        (Selector(Labels({"app": "web", "tier": "front"})), "app=web,tier=front"),
        (
            Selector(
                Labels({"app": "web"}),
                (
                    Requirement("tier", "In", ("a", "b")),
                    Requirement("zone", "NotIn", ("c",)),
                    Requirement("new", "Exists"),
                    Requirement("old", "DoesNotExist"),
                ),
            ),
            "app=web,tier in (a,b),zone notin (c),new,!old",
        ),
    ],
)
def test_a_selector_is_asked_for_as_the_api_writes_it(selector: Selector, text: str) -> None:
    assert selector_text(selector) == text


def condition(kind: str, status: str, message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "message": message}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Running", "conditions": [condition("Ready", "True")]}, Sibling("a", ready=True)),
        ({}, Sibling("a", ready=False)),
        ({"phase": "Failed"}, Sibling("a", ready=False, leaving=True)),
        (
            {"conditions": [condition("PodScheduled", "False", "0/3 nodes")]},
            Sibling("a", ready=False, unschedulable="0/3 nodes"),
        ),
        (
            {
                "conditions": [condition("PodScheduled", "True", "fine")],
                "containerStatuses": [
                    {"state": {"running": {}}},
                    {"state": {"waiting": {"reason": "ImagePullBackOff"}}},
                ],
            },
            Sibling("a", ready=False, waiting="ImagePullBackOff"),
        ),
    ],
)
def test_a_pod_tells_why_it_is_not_ready(status: dict[str, Any], expected: Sibling) -> None:
    assert as_sibling({"metadata": {"name": "a"}, "status": status}) == expected


def test_a_pod_that_ends_is_not_waited_for() -> None:
    found = as_sibling({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert found.leaving
