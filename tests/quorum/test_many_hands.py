"""Other hands in a swap: each play lets somebody do what a bystander may do, at some moment of a swap, and
says what has to come of it. Nothing of before is lost, nobody writes for ever without a pause, and whoever
looks is told what is waited for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from shiplift.facts.kinds import STATEFUL_SET
from shiplift.quorum.model import Reason
from shiplift.quorum.names import SWAP
from shiplift.quorum.steps import Switch
from tests.quorum.decide.views import IMAGE, TARGET_SAID, WAS
from tests.quorum.moments import is_told, mixed, moments, recreating, staging
from tests.quorum.world import World

ON_DELETE = {"type": "OnDelete"}


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
