"""Webhooks that deny what this layer writes, or do not answer: whoever looks is told which object and why, it
is tried again at leisure, and the rest goes on. A cluster in memory, with the real layer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from shiplift.kube.errors import ApiError, KubeError
from tests.operators.test_bystanders import running, stopped_for_the_next
from tests.operators.world import World

Json = dict[str, Any]
SAYS = 'admission webhook "policy.example" denied the request: not on a Friday'
DENIED = ApiError(SAYS, status=400)


def denies(world: World, what: str, error: KubeError = DENIED) -> None:
    world.webhook = lambda asked: error if asked == what or asked.startswith(f"{what} ") else None


def looks(world: World, count: int = 30, between: Callable[[], None] = lambda: None) -> None:
    """At everything, two seconds apart."""
    for _ in range(count):
        world.now += timedelta(seconds=2)
        world.look(between)


def told(world: World, plural: str, name: str) -> str:
    return str(world.of(plural)[name]["status"])


def condition(world: World, plural: str, name: str, about: str) -> tuple[str, str, str]:
    said = world.of(plural)[name]["status"]["conditions"]
    return next((one["status"], one["reason"], one["message"]) for one in said if one["type"] == about)


# --- what goes ---


def test_a_version_that_must_not_be_deleted_is_told_and_asked_for_at_leisure() -> None:
    world = running()
    denies(world, "delete OperatorVersion boats.v1.0.0")
    world.edit("boats", version=None)
    looks(world)
    assert world.installed("boats") == "1.1.0"
    status, reason, message = condition(world, "operatorversions", "boats.v1.0.0", "Collected")
    assert (status, reason) == ("False", "Refused")
    assert message.startswith("delete OperatorVersion ops/boats.v1.0.0: ")
    assert SAYS in message
    assert 1 < len(world.denied) < 8
    world.webhook = lambda _: None
    looks(world)
    assert list(world.of("operatorversions")) == ["boats.v1.1.0"]


def test_the_apptype_says_what_keeps_it_from_being_uninstalled() -> None:
    world = running()
    denies(world, "patch ConfigMap settings")
    world.delete("boats")
    looks(world)
    assert not world.of("deployments"), "the rest goes on"
    _, reason, message = condition(world, "apptypes", "boats", "Resolved")
    assert reason == "Refused"
    assert message.startswith("boats.v1.0.0 is uninstalled: leave ConfigMap ops/settings alone: ")
    assert message.endswith(SAYS)
    world.webhook = lambda _: None
    looks(world)
    assert not world.of("apptypes")


def test_two_loops_that_have_lost_the_apptype_come_to_rest() -> None:
    world, lost = running(), list[Json]()

    def bystander() -> None:
        if stopped_for_the_next(world) and not lost:
            lost.append(world.server.objects.pop(("apptypes", "ops", "boats")))

    world.edit("boats", version=None)
    looks(world, between=bystander)
    assert lost
    count = len(world.log)
    looks(world, 5)
    assert len(world.log) == count
    assert "take our finalizer off" in told(world, "operatorversions", "boats.v1.0.0")
