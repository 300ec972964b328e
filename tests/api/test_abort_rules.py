"""When an abort may be withdrawn: with another version only. The rule is read here as the API server reads
it, in Python's words."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from shiplift.api.upgrade import UpgradeConfigSpec
from shiplift.api.workloads import WorkloadMigrationSpec

Fields = dict[str, Any]


def rule(of: Any) -> str:
    return next(one.expression for one in of.RULES if "oldSelf.abort" in one.expression)


def holds(text: str, before: Fields, after: Fields) -> bool:
    """Whether the rule lets the change through."""
    words = re.sub(r"has\(([\w.]+)\)", r"has('\1')", text)
    words = words.replace("&&", " and ").replace("||", " or ").replace("!=", "≠").replace("!", " not ")
    names = {"self": made(after), "oldSelf": made(before)}

    def has(path: str) -> bool:
        found: Any = names
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else getattr(found, part, None)
        return found is not None

    return bool(eval(words.replace("≠", "!=").strip(), {"__builtins__": {}, "has": has, **names}))


def made(fields: Any) -> Any:
    if not isinstance(fields, dict):
        return fields
    return SimpleNamespace(**{key: made(value) for key, value in fields.items()})


STABLE, FAST = "stable-4.20", "fast-4.20"


@pytest.mark.parametrize(
    ("before", "after", "may"),
    [
        ({"version": "v1.36.3"}, {"version": "v1.36.3"}, False),
        ({"version": "v1.36.3"}, {"version": "1.36.3"}, False),
        ({"version": "1.36.3"}, {"version": "v1.36.3"}, False),
        ({"version": "v1.36.3"}, {"version": "v1.36.4"}, True),
        ({"version": "v1.36.3"}, {"version": "1.36.4"}, True),
        ({"version": "4.20.1", "channel": STABLE}, {"version": "4.20.1", "channel": FAST}, False),
        ({"version": "4.20.1", "channel": STABLE}, {"version": "4.20.2", "channel": STABLE}, True),
        ({"channel": STABLE}, {"channel": FAST}, False),
        ({"channel": STABLE}, {"version": "4.20.1", "channel": STABLE}, True),
    ],
)
def test_an_abort_of_an_upgrade_is_withdrawn_by_another_version_alone(
    before: Fields, after: Fields, may: bool
) -> None:
    text = rule(UpgradeConfigSpec)
    assert holds(text, {"abort": True, "desired": before}, {"abort": False, "desired": after}) is may
    assert holds(text, {"abort": True, "desired": before}, {"abort": True, "desired": after})
    assert holds(text, {"abort": False, "desired": before}, {"abort": False, "desired": after})


@pytest.mark.parametrize(
    ("before", "after", "may"),
    [
        ({"target": "v1.36.3"}, {"target": "1.36.3"}, False),
        ({"target": "1.36"}, {"target": "v1.36"}, False),
        ({"target": "v1.36.3"}, {"target": "v1.36.4"}, True),
        ({}, {}, False),
        ({}, {"target": "v1.36.4"}, True),
        ({"target": "v1.36.4"}, {}, True),
    ],
)
def test_an_abort_of_a_move_is_withdrawn_by_another_target_alone(
    before: Fields, after: Fields, may: bool
) -> None:
    text = rule(WorkloadMigrationSpec)
    assert holds(text, {"abort": True, **before}, {"abort": False, **after}) is may
