"""Webhooks that deny what this layer writes, or do not answer: whoever looks is told which object and why, it
is tried again at leisure, and the rest goes on. A cluster in memory, with the real layer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from shiplift.kube.errors import ApiError, Conflict, Forbidden, Invalid, KubeError, NotFound, ServerError
from tests.operators.bundles import Written
from tests.operators.rig import boats
from tests.operators.test_bystanders import running, stopped_for_the_next
from tests.operators.world import World

Json = dict[str, Any]
SAYS = 'admission webhook "policy.example" denied the request: not on a Friday'
DENIED = ApiError(SAYS, status=400)
POLICY = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: replicas are forbidden"
SILENT = 'Internal error occurred: failed calling webhook "policy.example": context deadline exceeded'
EVERY = [
    DENIED,
    Forbidden(SAYS, status=403, reason="Forbidden"),
    NotFound(SAYS, status=404, reason="NotFound"),
    Conflict(SAYS, status=409, reason="Conflict"),
    Invalid(POLICY, status=422, reason="Invalid"),
    Forbidden(POLICY, status=403, reason="Forbidden"),
    ServerError(SILENT, status=500, reason="InternalError"),
]
"""A webhook may choose any status."""


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


# --- what comes ---


@pytest.mark.parametrize("error", EVERY, ids=str)
def test_who_denies_an_object_of_a_version_is_told_before_anything_was_changed(error: KubeError) -> None:
    """No right is missing: that is told of nobody."""
    world = World()
    world.offer(*boats("1.0.0"))
    denies(world, "create Deployment boats", error)
    world.ask("boats")
    looks(world)
    _, reason, message = condition(world, "operatorversions", "boats.v1.0.0", "Installed")
    assert reason == "Refused"
    assert message == f"Deployment ops/boats: {error.message}"
    assert "Permission" not in str(world.of("operatorversions")["boats.v1.0.0"]["status"]["requirements"])
    assert not world.of("customresourcedefinitions")
    assert len(world.denied) < 8


def test_who_denies_what_is_taken_over_is_told_and_no_right_is_missing() -> None:
    world = running()
    denies(world, "patch Deployment boats", Forbidden(POLICY, status=403, reason="Forbidden"))
    world.edit("boats", version=None)
    looks(world)
    _, reason, message = condition(world, "operatorversions", "boats.v1.1.0", "Installed")
    assert (reason, message) == ("Refused", f"stop Deployment ops/boats of boats.v1.0.0: {POLICY}")


def test_who_denies_the_apptype_of_a_provider_is_told_by_who_requires_it() -> None:
    world, nets = World(), Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
    world.offer(nets, *boats("1.0.0"))
    denies(world, "create AppType boats")
    world.ask("nets")
    looks(world)
    status, reason, message = condition(world, "operatorversions", "nets.v1.0.0", "RequirementsProvided")
    assert (status, reason) == ("False", "Refused")
    assert "make AppType ops/boats: " in message
    assert SAYS in message
    assert len(world.denied) < 8
    world.webhook = lambda _: None
    looks(world)
    assert world.installed("boats") == "1.0.0"
    said = condition(world, "operatorversions", "nets.v1.0.0", "RequirementsProvided")
    assert said[:2] == ("True", "Provided")


# --- what goes ---


@pytest.mark.parametrize("error", [DENIED, NotFound(SAYS, status=404, reason="NotFound")], ids=str)
def test_a_version_that_must_not_be_deleted_is_told_and_asked_for_at_leisure(error: KubeError) -> None:
    world = running()
    denies(world, "delete OperatorVersion boats.v1.0.0", error)
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


# --- what is told ---


def test_a_status_that_must_not_be_written_is_told_by_an_event() -> None:
    world = running()
    denies(world, "patch OperatorVersion boats.v1.1.0 status")
    world.edit("boats", version=None)
    looks(world, 10)
    told = "the status of OperatorVersion boats.v1.1.0 cannot be written, and what waits for it does"
    assert f"StatusRefused: {told}: {DENIED}" in world.events.notes
    assert list(world.of("deployments")) == ["boats", "fleet"], "the rest goes on"
    world.webhook = lambda _: None
    looks(world)
    assert world.installed("boats") == "1.1.0"
