"""An operator that does not run any more: another version, newer or older, leads out of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.facts.workloads import Deployment
from shiplift.operators.names import BUNDLE
from tests.operators import world as worlds
from tests.operators.test_interrupted import THREE
from tests.operators.world import World

BROKEN = "boats.v1.1.0"


FIRST = "boats.v1.0.0"


@pytest.fixture
def crashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The versions whose pods crash from now on."""
    made = worlds._deployment  # pyright: ignore[reportPrivateUsage]

    def crashing(one: dict[str, Any]) -> Deployment:
        row = made(one)
        broken = (one["metadata"].get("annotations") or {}).get(BUNDLE) in found
        return msgspec.structs.replace(row, available_replicas=0) if broken else row

    found: list[str] = []
    monkeypatch.setattr(worlds, "_deployment", crashing)
    return found


@pytest.fixture
def world(crashes: list[str]) -> World:
    """Pods of 1.1.0 come up once, and crash from then on."""
    found = World()
    found.offer(*THREE[:2])
    found.ask("boats", version="1.0.0")
    found.settle()
    found.edit("boats", version=None)
    found.settle()
    crashes.append(BROKEN)
    found.settle()
    assert condition(found, "Installed") == ("False", "WaitingForPods")
    return found


def condition(world: World, type_: str) -> tuple[str, str]:
    said = world.of("apptypes")["boats"]["status"]["conditions"]
    return next((one["status"], one["reason"]) for one in said if one["type"] == type_)


def installed(world: World) -> str:
    return world.of("apptypes")["boats"]["status"].get("installed", "")


def test_a_newer_version_is_taken(world: World) -> None:
    world.offer(*THREE)
    world.settle()
    assert installed(world) == "1.2.0"
    assert list(world.of("operatorversions")) == ["boats.v1.2.0"]


def test_a_pin_below_it_goes_back(world: World) -> None:
    world.edit("boats", version="1.0.0")
    world.settle()
    assert installed(world) == "1.0.0"
    assert list(world.of("operatorversions")) == ["boats.v1.0.0"]


def test_without_another_version_it_is_waited_for(world: World) -> None:
    assert condition(world, "UpToDate") == ("Unknown", "Upgrading")


def test_a_first_version_that_ran_and_crashes_now_and_again_is_left_for_the_next(crashes: list[str]) -> None:
    """It never takes over from anybody, and is never down for as long as a version may take to come up."""
    found = World()
    found.offer(*THREE[:1])
    found.ask("boats")
    found.settle()
    crashes.append(FIRST)
    found.settle()
    assert condition(found, "Installed") == ("False", "WaitingForPods")
    found.offer(*THREE[:2])
    found.settle()
    assert installed(found) == "1.1.0"
