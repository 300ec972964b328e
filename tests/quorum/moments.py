"""The moments of a swap at which somebody else has a hand in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shiplift.quorum.model import Reason
from shiplift.quorum.steps import DeletePod
from tests.quorum.decide.views import OLD, TARGET_SAID
from tests.quorum.world import World


def is_told(world: World, reason: Reason) -> Callable[[], bool]:
    return lambda: bool(world.lines) and world.line.reason is reason


def staging(world: World) -> World:
    world.until(is_told(world, Reason.STAGING))
    return world


def mixed(world: World) -> World:
    """One server did not take the switch, and the call to it is not repeated yet."""
    world.switch_reaches = lambda pod: not pod.endswith("-1") or pod.startswith("b")
    world.until(lambda: world.versions() == {OLD, TARGET_SAID})
    return world


def recreating(world: World) -> World:
    world.until(lambda: any(isinstance(one, DeletePod) for one in world.steps))
    return world


MOMENTS: dict[str, Callable[[World], World]] = {"staging": staging, "mixed": mixed, "recreating": recreating}
moments = pytest.mark.parametrize("moment", list(MOMENTS.values()), ids=list(MOMENTS))
