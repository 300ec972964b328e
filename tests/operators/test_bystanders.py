"""What others do to operators while this layer is at work: whoever replaces, reverts, strips or withdraws
something, the end is right, and nothing that must not be was so on the way. A cluster in memory, with the
real layer."""

from __future__ import annotations

from typing import Any

from shiplift.facts.kinds import DEPLOYMENT
from shiplift.operators.handing.ownership import OWNER_UID
from tests.operators.test_interrupted import Judge, renamed
from tests.operators.world import World

Json = dict[str, Any]


def running() -> World:
    """Version 1.0.0 runs; the next has a Deployment of another name, and is not asked for yet."""
    world = World()
    Judge(world)
    world.offer(*renamed())
    world.ask("boats", version="1.0.0")
    world.settle()
    assert world.installed("boats") == "1.0.0"
    return world


def deployment(world: World, name: str) -> Json:
    return world.of("deployments").get(name, {})


# --- somebody applies what stands in a repository ---


def test_the_old_deployment_is_replaced_whole_after_it_was_stopped() -> None:
    """It would act beside the new one, and stay for ever."""
    world, replaced = running(), list[str]()

    def bystander() -> None:
        stopped = deployment(world, "boats").get("spec", {}).get("replicas") == 0
        if stopped and not replaced and "fleet" not in world.of("deployments"):
            replaced.append("boats")
            world.replace(DEPLOYMENT, "boats", replicas=1)

    world.edit("boats", version=None)
    world.settle(between=bystander)
    assert replaced
    assert world.installed("boats") == "1.1.0"
    assert list(world.of("deployments")) == ["fleet"]
    assert list(world.of("operatorversions")) == ["boats.v1.1.0"]


def test_the_deployment_of_what_runs_is_replaced_whole() -> None:
    world = running()
    world.replace(DEPLOYMENT, "boats")
    world.settle()
    assert OWNER_UID in deployment(world, "boats")["metadata"]["annotations"]
    assert world.installed("boats") == "1.0.0"


def test_an_operator_whose_deployment_was_replaced_whole_is_uninstalled_with_it() -> None:
    world = running()
    world.delete("boats")
    world.replace(DEPLOYMENT, "boats")
    world.settle()
    assert not world.of("deployments")
    assert not world.of("apptypes")
