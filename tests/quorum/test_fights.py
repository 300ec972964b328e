"""Somebody undoes what is written, again and again: it is done again ever more slowly, told, and nothing that
matters more waits for the end of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shiplift.api.marks import QUORUM_HOLD
from shiplift.facts.kinds import POD, QUORUM_SERVICE, STATEFUL_SET, Kind
from shiplift.quorum.model import Reason
from shiplift.quorum.names import FINALIZER
from shiplift.quorum.steps import DeletePod
from tests.quorum.decide.views import IMAGE, TAGGED, TARGET_SAID, WAS
from tests.quorum.moments import is_told, mixed, recreating, staging
from tests.quorum.world import World

ON_DELETE = {"type": "OnDelete"}


def fought(world: World, bystander: Callable[[], None], rounds: int = 300) -> int:
    """How often StatefulSets are written in five minutes of somebody who is at it every second."""
    before = world.writes()
    world.bystanders.append(bystander)
    world.play(rounds)
    world.bystanders.clear()
    return world.writes() - before


def test_who_takes_the_hold_off_again_and_again_is_named_and_the_swap_put_back(world: World) -> None:
    staging(world)
    world.switch_reaches = lambda _: False
    assert fought(world, world.strip_hold) < 15
    assert world.line.reason is Reason.MANAGED_ELSEWHERE
    assert world.line.stalled
    assert "hold" in world.line.message
    assert world.is_back()


def test_one_who_takes_the_hold_off_once_is_not_fought(world: World) -> None:
    staging(world)
    world.strip_hold()
    world.until(world.over)
    assert "ManagedElsewhere" not in world.reasons()


@pytest.mark.parametrize("what", ["hold", "record", "all", "strategy", "image"])
def test_servers_that_are_old_among_new_ones_follow_whoever_writes_there(world: World, what: str) -> None:
    """Whatever is undone, and however fast: two versions beside each other are worse."""
    mixed(world)
    verbs: dict[str, Callable[[], None]] = {
        "hold": world.strip_hold,
        "record": world.strip_record,
        "all": world.revert,
        "strategy": lambda: world.set_strategy({"type": "OnDelete", "rollingUpdate": None}),
        "image": lambda: world.set_image(WAS),
    }
    world.comes_back = lambda _: True
    world.bystanders.append(verbs[what])
    world.play(60)
    told = [line for line in world.lines if line.reason is Reason.MANAGED_ELSEWHERE]
    assert what == "strategy" or told
    world.switch_reaches = lambda _: True
    world.play(60)
    assert world.versions() == {TARGET_SAID}
    world.bystanders.clear()
    world.until(world.over)


@pytest.mark.parametrize("what", ["hold", "record", "all", "image", "hold back"])
def test_a_fight_while_pods_are_made_anew_is_paced_and_told(world: World, what: str) -> None:
    recreating(world)
    verbs: dict[str, Callable[[], None]] = {
        "hold": world.strip_hold,
        "record": world.strip_record,
        "all": world.revert,
        "image": lambda: world.set_image(WAS),
        "hold back": world.put_hold,
    }
    writes = fought(world, verbs[what])
    assert writes < 60
    world.until(world.over, 400)
    if what != "hold":
        assert "ManagedElsewhere" in world.reasons()


def test_a_hold_that_somebody_puts_back_does_not_keep_pods_from_being_made_anew(world: World) -> None:
    recreating(world)
    world.bystanders.append(world.put_hold)
    world.until(lambda: {_image_of(pod) for pod in world.pods().values()} == {IMAGE})
    world.bystanders.clear()
    world.until(world.over)


def test_a_hold_that_is_left_behind_without_a_swap_is_taken_off(world: World) -> None:
    """It would keep drains and migrations off its pods for ever."""
    world.until(world.over)
    world.play(3)
    world.put_hold()
    world.play(3)
    assert not world.marks()
    assert fought(world, world.put_hold) < 30
    assert "ManagedElsewhere" in world.reasons()


def test_the_hold_of_another_is_left_alone(world: World) -> None:
    world.until(world.over)
    world.put_hold(service="other")
    world.play(5)
    assert world.marks() == {QUORUM_HOLD}


def test_who_puts_it_back_after_each_end_is_named_and_not_answered_for_ever(world: World) -> None:
    world.until(world.over)

    def reverts() -> None:
        if world.over():
            world.set_strategy(ON_DELETE)
            world.set_image(WAS)

    assert fought(world, reverts, 600) < 60
    assert world.line.reason is Reason.MANAGED_ELSEWHERE
    # whoever manages it has learned of it
    world.set_image(IMAGE)
    world.play(30)
    assert world.line.reason is Reason.AT_TARGET


def test_a_spec_that_changes_is_not_held_against_the_fight_of_before(world: World) -> None:
    staging(world)
    fought(world, world.revert, 60)
    assert world.line.reason is Reason.MANAGED_ELSEWHERE
    world.edit(image=TAGGED)
    world.play(8)
    assert world.image() == IMAGE
    world.until(world.over)


def test_our_finalizer_is_put_again_and_a_fight_for_it_is_told_and_paced(world: World) -> None:
    staging(world)
    world.switch_reaches = lambda _: False
    world.strip_finalizer()
    world.play(2)
    assert FINALIZER in world.service().metadata.finalizers
    before = world.writes(QUORUM_SERVICE)
    world.bystanders.append(world.strip_finalizer)
    world.play(300)
    assert 1 < world.writes(QUORUM_SERVICE) - before < 25
    assert any("finalizer" in line.message for line in world.lines)
    assert world.image() == IMAGE


def test_pods_that_come_back_as_they_were_are_not_deleted_for_ever(world: World) -> None:
    """A webhook that pins the image of pods."""
    recreating(world)

    def pins(kind: Kind, live: dict[str, Any]) -> None:
        if kind == POD:
            live["spec"]["containers"][1]["image"] = WAS

    world.objects.admission.append(pins)
    world.play(200)
    deleted = [one for one in world.steps if isinstance(one, DeletePod)]
    assert len(deleted) < 25
    assert world.line.reason is Reason.MANAGED_ELSEWHERE
    world.objects.admission.clear()
    world.until(world.over)


def test_a_webhook_that_denies_is_told_with_its_words(world: World) -> None:
    world.deny("images come from mirror.example", lambda kind, _: kind == STATEFUL_SET)
    world.until(is_told(world, Reason.STEP_FAILED))
    assert "mirror.example" in world.line.message
    world.objects.admission.clear()
    world.until(world.over)


def test_a_webhook_that_renames_the_image_of_the_set_is_told(world: World) -> None:
    def renames(kind: Kind, live: dict[str, Any]) -> None:
        if kind == STATEFUL_SET:
            image = live["spec"]["template"]["spec"]["containers"][1]["image"]
            live["spec"]["template"]["spec"]["containers"][1]["image"] = image.replace(
                "quay.io", "mirror.example"
            )

    world.objects.admission.append(renames)
    world.play(120)
    assert world.line.reason is Reason.MANAGED_ELSEWHERE
    assert world.writes() < 20
    assert not world.marks()


def test_a_spec_that_was_given_up_and_is_there_all_the_same_is_at_its_target(world: World) -> None:
    staging(world)
    fought(world, world.revert, 60)
    assert world.line.reason is Reason.MANAGED_ELSEWHERE
    world.set_image(TAGGED)
    for at in range(4):
        world.delete_pod(f"minio-{at}")
    for lead in (lambda: None, world.new_leader):
        lead()
        world.play(10)
        assert world.line.reason is Reason.AT_TARGET
        assert not world.line.stalled
    assert not world.service().status.refused


def _image_of(pod: dict[str, Any]) -> str:
    return pod["spec"]["containers"][1]["image"]
