"""Other hands in a swap: each play lets somebody do what a bystander may do, at some moment of a swap, and
says what has to come of it. Nothing of before is lost, nobody writes for ever without a pause, and whoever
looks is told what is waited for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from shiplift.api.marks import QUORUM_HOLD
from shiplift.engine import clock
from shiplift.facts.kinds import POD, QUORUM_SERVICE, STATEFUL_SET, Kind
from shiplift.quorum.model import Reason
from shiplift.quorum.names import FINALIZER, SWAP
from shiplift.quorum.steps import DeletePod, Switch
from tests.quorum.decide.views import IMAGE, OLD, TAGGED, TARGET_SAID, WAS
from tests.quorum.world import World

ON_DELETE = {"type": "OnDelete"}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(clock, "now", lambda: made.now)
    return made


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> World:
    """Two StatefulSets that are one service."""
    made = World("a", "b", replicas=2)
    monkeypatch.setattr(clock, "now", lambda: made.now)
    return made


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


# a swap with nobody else


def test_a_swap_that_nobody_disturbs_ends_and_is_told_in_its_order(world: World) -> None:
    world.until(world.over)
    world.until(is_told(world, Reason.AT_TARGET))
    assert not world.service().status.swapping
    writes = world.writes()
    world.play(60)
    assert world.writes() == writes
    assert set(world.reasons()[-60:]) == {"AtTarget"}


@moments
def test_whoever_leads_next_ends_it(world: World, moment: Callable[[World], World]) -> None:
    moment(world)
    world.switch_reaches = lambda _: True
    world.new_leader()
    world.until(world.over)


def test_a_new_leader_in_every_round_ends_it_too(world: World) -> None:
    """Only what takes a rehearsal, or a binary that is staged, has to be done within one term."""
    mixed(world)
    world.switch()
    world.server("minio-1").version = TARGET_SAID
    world.bystanders.append(world.new_leader)
    world.until(world.over)


# the record of a swap


@moments
@pytest.mark.parametrize("led", [True, False], ids=["by the same", "by the next"])
def test_what_was_before_outlives_the_annotation(
    world: World, moment: Callable[[World], World], led: bool
) -> None:
    moment(world)
    world.switch_reaches = lambda _: True
    world.strip_all()
    if not led:
        world.new_leader()
    world.until(world.over)
    assert world.set()["spec"]["updateStrategy"]["type"] == "RollingUpdate"


def test_a_swap_that_is_stripped_of_its_record_and_not_wanted_any_more_is_put_back(world: World) -> None:
    staging(world)
    world.strip_all()
    world.new_leader()
    world.edit(image=WAS)
    world.until(world.is_back)
    world.play(20)
    assert world.is_back()
    assert not world.service().status.swapping


def test_a_service_that_is_deleted_is_let_go_only_when_all_is_put_back(world: World) -> None:
    staging(world)
    world.strip_all()
    world.new_leader()
    world.delete_service()
    world.until(lambda: not world.services)
    assert world.is_back()


def test_a_record_that_somebody_spoils_is_written_again(world: World) -> None:
    staging(world)
    world.write_record("{")
    world.new_leader()
    world.until(world.over)


@pytest.mark.parametrize("spoiled", [False, True])
def test_a_record_that_goes_before_anybody_has_seen_it_is_known_by_who_wrote_it(
    world: World, spoiled: bool
) -> None:
    world.until(lambda: bool(world.marks()))
    if spoiled:
        world.write_record("{")
    else:
        world.strip_all()
    world.until(world.over)
    assert world.set()["spec"]["updateStrategy"]["type"] == "RollingUpdate"


def test_what_a_status_says_of_another_stateful_set_of_that_name_is_not_believed(world: World) -> None:
    staging(world)
    world.delete_set()
    world.make_set("minio", image="quay.io/minio/minio:third")
    world.new_leader()
    world.play(20)
    assert "third" not in str(world.service().status.swapping) or world.image() == IMAGE
    world.edit(image=WAS)
    world.play(40)
    assert world.image() != WAS


def test_a_status_that_somebody_wipes_is_written_again(world: World) -> None:
    staging(world)
    assert world.service().status.swapping
    world.edit_status(swapping=[])
    world.play(2)
    assert world.service().status.swapping
    world.until(world.over)


@pytest.mark.parametrize("stripped", [False, True])
def test_all_that_is_undone_without_an_operator_stays_undone_when_one_comes_back(
    world: World, stripped: bool
) -> None:
    staging(world)
    if stripped:
        world.strip_all()
    world.undo_all()
    assert world.is_back()
    world.new_leader()
    world.play(20)
    assert world.is_back()
    assert world.line.reason is Reason.PAUSED


def test_what_cannot_be_undone_keeps_its_record(world: World) -> None:
    mixed(world)
    world.play()
    world.strip_all()
    assert "has switched servers" in world.undo_all()[-1]
    assert world.service().status.swapping


# fights


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


# what the service names


@moments
@pytest.mark.parametrize("stripped", [False, True])
def test_a_set_that_leaves_the_spec_half_way_ends_with_the_others(
    pools: World, moment: Callable[[World], World], stripped: bool
) -> None:
    moment(pools)
    pools.switch_reaches = lambda _: True
    pools.edit(statefulSets=["a"])
    if stripped:
        pools.strip_record("b")
    pools.new_leader()
    pools.until(pools.over)
    assert pools.set("b")["spec"]["updateStrategy"]["type"] == "RollingUpdate"


def test_a_set_that_leaves_the_spec_is_put_back_with_the_others(pools: World) -> None:
    staging(pools)
    pools.edit(statefulSets=["a"], image=WAS)
    pools.strip_record("b")
    pools.new_leader()
    pools.until(pools.is_back)


def test_of_two_services_that_name_one_set_the_younger_changes_nothing(world: World) -> None:
    world.serve("younger", ("minio",), WAS, age=5)
    world.play(30, "younger")
    assert world.line.reason is Reason.NAMED_TWICE
    assert world.line.stalled
    assert "quorumservice/store" in world.line.message
    assert world.writes() == 0
    world.until(world.over)
    world.play(30, "younger")
    assert world.line.reason is Reason.NAMED_TWICE
    world.delete_service()
    world.play(3)
    assert not world.services.get("store")
    world.play(3, "younger")
    assert world.line.reason is not Reason.NAMED_TWICE


def test_services_of_the_same_age_are_told_apart_by_their_names(world: World) -> None:
    world.serve("another", ("minio",))
    world.play(3)
    assert world.line.reason is Reason.NAMED_TWICE
    world.play(3, "another")
    assert world.line.reason is not Reason.NAMED_TWICE


def test_a_set_whose_service_is_gone_for_good_is_named_with_what_helps(world: World) -> None:
    staging(world)
    world.strip_finalizer()
    world.delete_service()
    assert not world.services
    world.serve("later", ("minio",))
    world.play(3, "later")
    assert world.line.reason is Reason.SWAPPED_BY_ANOTHER
    assert world.line.stalled
    assert "is not there any more" in world.line.message
    world.serve("store", ("minio",), WAS)
    world.until(world.is_back)


def test_a_mark_that_cannot_be_read_is_named_with_what_helps(world: World) -> None:
    world.write_record("{")
    world.play(3)
    assert world.line.stalled
    assert SWAP in world.line.message


# what is given up, and what is there


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


# what is taken away half-way


def test_a_set_that_is_deleted_half_way_is_named_and_the_swap_goes_on_when_it_is_back(pools: World) -> None:
    mixed(pools)
    pools.delete_set("b")
    pools.play(5)
    assert pools.line.reason is Reason.NO_STATEFUL_SET
    assert pools.line.stalled
    assert "statefulset/b" in pools.line.message
    pools.make_set("b", 2)
    pools.switch_reaches = lambda _: True
    pools.until(pools.over)


def test_a_swap_goes_on_without_a_set_that_is_deleted_and_named_no_more(pools: World) -> None:
    mixed(pools)
    pools.switch_reaches = lambda _: True
    pools.delete_set("b")
    pools.sets = ("a",)
    pools.edit(statefulSets=["a"])
    pools.until(pools.over)


def test_the_rest_is_put_back_though_a_set_is_deleted(pools: World) -> None:
    staging(pools)
    pools.delete_set("b")
    pools.edit(image=WAS)
    pools.until(pools.is_back)


def test_a_container_that_is_called_otherwise_in_the_spec_half_way_changes_nothing(world: World) -> None:
    staging(world)
    world.edit(container="server")
    world.until(lambda: world.versions() == {TARGET_SAID} and not world.marks())
    assert world.image() == IMAGE


def test_a_container_that_is_renamed_in_the_template_half_way_is_named_until_the_spec_follows(
    world: World,
) -> None:
    mixed(world)
    world.switch_reaches = lambda _: True
    world.rename_container("server")
    world.play(5)
    assert world.line.reason is Reason.NO_CONTAINER
    assert world.line.stalled
    world.edit(container="server")
    world.until(lambda: world.versions() == {TARGET_SAID} and not world.marks())


@moments
def test_a_clock_that_was_set_back_keeps_nobody_waiting(
    world: World, moment: Callable[[World], World]
) -> None:
    """Of who leads next: within one process time never goes back."""
    moment(world)
    world.switch_reaches = lambda _: True
    world.now -= timedelta(days=1)
    world.new_leader()
    world.until(world.over, 60)


def test_a_clock_that_was_set_back_keeps_nothing_from_being_put_back(world: World) -> None:
    staging(world)
    world.switch_reaches = lambda _: False
    world.until(lambda: any(isinstance(one, Switch) for one in world.steps))
    world.now -= timedelta(days=1)
    world.new_leader()
    world.edit(image=WAS)
    world.until(world.is_back, 200)


def test_a_silent_server_that_keeps_all_from_being_put_back_is_named(world: World) -> None:
    staging(world)
    world.switch_reaches = lambda _: False
    world.until(lambda: any(isinstance(one, Switch) for one in world.steps))
    world.silence("minio-2")
    world.edit(image=WAS)
    world.play(200)
    assert "put back" in world.line.message
    assert "minio-2" in world.line.message
    assert "connection refused" in world.line.message
    world.server("minio-2").silent = ""
    world.until(world.is_back)


def test_what_was_begun_on_some_sets_only_is_put_back_though_the_others_cannot_be_written(
    pools: World,
) -> None:
    pools.deny("b is frozen", lambda kind, live: kind == STATEFUL_SET and live["metadata"]["name"] == "b")
    pools.until(is_told(pools, Reason.STEP_FAILED))
    assert pools.image("a") == IMAGE
    assert "b is frozen" in pools.line.message
    pools.edit(image=WAS)
    pools.until(pools.is_back)
    pools.play(10)
    assert not pools.service().status.swapping


def test_a_put_back_that_is_denied_is_named_and_done_once_it_may_be(world: World) -> None:
    staging(world)
    world.deny("frozen", lambda kind, _: kind == STATEFUL_SET)
    world.edit(image=WAS)
    world.play(30)
    assert world.line.reason is Reason.STEP_FAILED
    assert "frozen" in world.line.message
    world.until(lambda: bool(world.service().status.swapping))
    # also where the annotation goes meanwhile, and who has seen it
    world.objects.admission.clear()
    world.strip_all()
    world.new_leader()
    world.until(world.is_back)


@pytest.mark.parametrize("what", ["hold", "record"])
def test_all_pods_at_once_go_whoever_takes_a_mark_off(world: World, what: str) -> None:
    world.edit(strategy="RecreateAll")
    world.until(lambda: bool(world.marks()))
    world.play()
    world.bystanders.append(world.strip_hold if what == "hold" else world.strip_record)
    world.play(20)
    world.bystanders.clear()
    world.until(world.over)


# pods that do not come up


@pytest.mark.parametrize("container", [False, True])
def test_a_pod_that_stays_pending_is_named_with_why(world: World, container: bool) -> None:
    recreating(world)
    world.pend("minio-3", "0/3 nodes are available: 3 Insufficient memory", container)
    world.play(10)
    assert "minio-3" in world.line.message
    assert "Insufficient memory" in world.line.message
    world.delete_pod("minio-3")
    world.until(world.over)


def test_a_service_that_is_scaled_to_none_half_way_is_not_taken_back_once_somebody_switched(
    world: World,
) -> None:
    mixed(world)
    world.scale(0)
    world.delete_service()
    world.play(200)
    world.scale(4)
    world.play(2)
    assert world.image() == IMAGE


def test_a_service_that_is_scaled_to_none_before_the_switch_and_not_wanted_is_put_back(world: World) -> None:
    staging(world)
    world.scale(0)
    world.edit(image=WAS)
    world.until(lambda: world.image() == WAS and not world.marks())


@moments
def test_a_service_that_is_scaled_to_none_and_back_ends_at_the_new_version(
    world: World, moment: Callable[[World], World]
) -> None:
    moment(world)
    world.switch_reaches = lambda _: True
    world.scale(0)
    world.play(10)
    world.scale(4)
    world.until(world.over)


@moments
def test_a_users_own_on_delete_is_theirs_in_the_end_too(
    world: World, moment: Callable[[World], World]
) -> None:
    world.set_strategy(ON_DELETE)
    moment(world)
    world.switch_reaches = lambda _: True
    world.strip_all()
    world.new_leader()
    world.until(world.over)
    assert world.set()["spec"]["updateStrategy"] == ON_DELETE


def _image_of(pod: dict[str, Any]) -> str:
    return pod["spec"]["containers"][1]["image"]
