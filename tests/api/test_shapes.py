"""What a decoder found wrong, in words."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

import pytest
from msgspec import Meta

from shiplift import api
from shiplift.api import values
from shiplift.api.registry import TYPES
from shiplift.api.shapes import plain
from shiplift.facts.kinds import MACHINE_POOL, NODE_ROLLOUT, UPGRADE_CONFIG, Kind
from tests.api.api_examples import changed, minimal
from tests.api.test_stored_objects import raw


@pytest.mark.parametrize(
    ("kind", "path", "value", "problem"),
    [
        (MACHINE_POOL, "spec.version", "v1.36", "it has to be a whole version, such as v1.36.3"),
        (MACHINE_POOL, "spec.version", 1.36, "it has to be a text, and is a number; put it in quotes"),
        (MACHINE_POOL, "spec.role", "worker", "it has to be one of ControlPlane, Worker, and is 'worker'"),
        (MACHINE_POOL, "spec.replicas", [1], "it has to be a whole number, and is a list"),
        (MACHINE_POOL, "spec.paused", "yes", "it has to be true or false, and is a text"),
        (MACHINE_POOL, "spec.labels", [], "it has to be an object, and is a list"),
        (
            MACHINE_POOL,
            "spec.initialiseTimeout",
            "5 minutes",
            "it has to be a duration, such as 90s, 10m or 1h30m",
        ),
        (
            NODE_ROLLOUT,
            "spec.maxUnavailable",
            "half",
            "it has to be a count or a percentage, such as 1 or 10%",
        ),
        (
            UPGRADE_CONFIG,
            "spec.desired.version",
            "newest",
            "it has to be a version, such as v1.36.3, or a minor, such as v1.36",
        ),
    ],
)
def test_it_is_said_what_has_to_stand_there(kind: Kind, path: str, value: Any, problem: str) -> None:
    with pytest.raises(api.UnfitObjectError) as refusal:
        api.decode(kind, raw(changed(minimal(kind), path, value)))
    assert refusal.value.problem == problem


@pytest.mark.parametrize("name", [name for name, one in vars(values).items() if get_origin(one) is Annotated])
def test_every_shape_that_several_kinds_share_has_words(name: str) -> None:
    patterns = [
        one.pattern for one in get_args(getattr(values, name)) if isinstance(one, Meta) and one.pattern
    ]
    for one in patterns:
        found = plain(f"Expected `str` matching regex {one!r}", TYPES[MACHINE_POOL], "spec.version")
        assert one not in found or name == "Reason", "a user does not write reasons"


def test_what_has_no_words_stays_as_it_is() -> None:
    for problem in (
        "JSON is malformed: expected '}'",
        "invalid enum value 7",
        "expected `str` of length >= 1",
    ):
        assert plain(problem, TYPES[MACHINE_POOL], "spec.nothing[0].there") == problem
