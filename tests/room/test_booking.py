"""A pod is promised a target exactly where the scheduler would find one."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from shiplift.facts.nodes import Taint
from shiplift.facts.pods import HostPort, PodSpec, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement
from shiplift.room.booking import Booking, NoSlot, Occupancy, Room
from tests.room.cases import (
    HOST,
    NEW,
    OLD,
    ZONE,
    a_claim,
    a_node,
    a_pod,
    a_volume,
)
from tests.room.rooms import is_target, occupied, reason, room_of, spec, wanting

# --- resources ---


def test_a_pod_goes_to_a_target_and_never_to_an_old_node() -> None:
    booking = Booking(room_of(a_node("old", version=OLD, cpu=9000), a_node("new")))
    assert booking.book(a_pod("web")) == "new"


def test_what_is_promised_once_is_not_promised_again() -> None:
    booking = Booking(room_of(a_node("a", cpu=200), a_node("b", cpu=100)))
    places = [booking.book(a_pod(f"web-{number}")) for number in range(4)]
    assert Counter(places[:3]) == {"a": 2, "b": 1}
    assert reason(places[3]) == "0 of 2 target nodes fit: 2 insufficient cpu"


def test_another_booking_knows_nothing_of_it() -> None:
    room = room_of(a_node("a", cpu=100))
    assert Booking(room).book(a_pod("web-0")) == "a"
    assert Booking(room).book(a_pod("web-1")) == "a"


def test_the_reason_counts_targets_by_cause() -> None:
    room = room_of(
        a_node("full", cpu=100),
        a_node("small", cpu=50),
        a_node("crowded", pods=0),
        a_node("ill", ready=False),
        a_node("cordoned", unschedulable=True),
        a_node("tainted", taints=(Taint("gpu", "", "NoSchedule"),)),
        a_pod("there", node="full"),
    )
    assert reason(Booking(room).book(a_pod("web"))) == (
        "0 of 6 target nodes fit: 2 insufficient cpu, 1 not ready, 1 unschedulable, 1 taint, 1 too many pods"
    )


def test_without_targets_that_is_the_reason() -> None:
    assert (
        reason(Booking(room_of(a_node("a", version=OLD))).book(a_pod("web"))) == "there are no target nodes"
    )


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (Resources(cpu=1001), "cpu"),
        (Resources(memory=(1 << 30) + 1), "memory"),
        (Resources(storage=(1 << 30) + 1), "ephemeral-storage"),
    ],
)
def test_each_resource_must_be_there(wanted: Resources, missing: str) -> None:
    answer = Booking(room_of(a_node("a"))).book(a_pod("web", spec=PodSpec(requests=wanted)))
    assert reason(answer) == f"0 of 1 target nodes fit: 1 insufficient {missing}"


def test_a_device_is_needed_by_name() -> None:
    device = PodSpec(requests=Resources(cpu=1, pods=1, extended=(("example.com/gpu", 2),)))
    room = room_of(a_node("one", extended=(("example.com/gpu", 1),)), a_node("none"))
    assert reason(Booking(room).book(a_pod("web", spec=device))) == (
        "0 of 2 target nodes fit: 2 insufficient example.com/gpu"
    )
    assert (
        Booking(room_of(a_node("two", extended=(("example.com/gpu", 2),)))).book(a_pod("w", spec=device))
        == "two"
    )


def test_a_pod_that_asks_for_nothing_fits_where_more_is_promised_than_there_is() -> None:
    big = PodSpec(requests=Resources(cpu=5000, memory=1 << 40, storage=1 << 40, pods=1))
    room = room_of(a_node("a", cpu=100), a_pod("big", spec=big, node="a"))
    assert Booking(room).book(a_pod("small", spec=spec(0))) == "a"


@pytest.mark.parametrize(
    ("wanted", "taken", "fits"),
    [
        (HostPort(80, "TCP", ""), HostPort(80, "TCP", ""), False),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", ""), False),
        (HostPort(80, "TCP", ""), HostPort(80, "TCP", "10.0.0.1"), False),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.2"), True),
        (HostPort(80, "UDP", ""), HostPort(80, "TCP", ""), True),
        (HostPort(81, "TCP", ""), HostPort(80, "TCP", ""), True),
    ],
)
def test_a_port_of_the_node_is_taken_once(wanted: HostPort, taken: HostPort, fits: bool) -> None:
    room = room_of(a_node("a"), a_pod("there", spec=spec(host_ports=(taken,)), node="a"))
    answer = Booking(room).book(a_pod("web", spec=spec(host_ports=(wanted,))))
    assert (answer == "a") is fits
    assert fits or reason(answer) == "0 of 1 target nodes fit: 1 host port taken"


# --- events ---


def test_finished_and_pending_pods_take_no_room_and_nominated_ones_do() -> None:
    rows = [a_node("a", cpu=100), a_pod("done", node="a", phase="Succeeded"), a_pod("pending")]
    assert Booking(room_of(*rows)).book(a_pod("web")) == "a"
    assert isinstance(Booking(room_of(*rows, a_pod("next", nominated="a"))).book(a_pod("web")), NoSlot)


def test_a_pod_takes_the_place_that_was_cleared_for_it() -> None:
    cleared = a_pod("next", nominated="a", phase="Pending")
    assert Booking(room_of(a_node("a", cpu=100), cleared)).book(cleared) == "a"


def test_room_follows_events() -> None:
    occupancy = occupied(a_node("a", cpu=100))
    bound = a_pod("there", node="a")
    ended = msgspec.structs.replace(bound, phase="Failed")
    steps = [
        (None, bound, False),
        (bound, ended, True),
        (ended, None, True),
        (None, bound, False),
        (bound, None, True),
    ]
    for old, new, free in steps:
        occupancy.put_pod(old, new)
        assert isinstance(Booking(occupancy.room(is_target)).book(a_pod("web")), str) is free


def test_pods_may_be_known_before_their_node_and_after_it() -> None:
    there = a_pod("there", node="a")
    occupancy = occupied(there)
    occupancy.put_node(a_node("a", cpu=150))
    assert isinstance(Booking(occupancy.room(is_target)).book(a_pod("web")), NoSlot)
    occupancy.put_node(a_node("a", cpu=200))
    assert Booking(occupancy.room(is_target)).book(a_pod("web")) == "a"
    occupancy.drop_node("a")
    assert occupancy.room(is_target).eligible == {}
    occupancy.put_pod(there, None)
    assert occupancy.places == {}
    assert occupancy.peers == {}


def test_a_room_that_is_no_longer_true_says_so() -> None:
    occupancy = occupied(a_node("a"))
    booking = Booking(occupancy.room(is_target))
    occupancy.put_pod(None, a_pod("there", node="a"))
    with pytest.raises(RuntimeError, match="make a new one"):
        booking.book(a_pod("web"))


def test_an_event_that_changes_nothing_here_leaves_the_room_true() -> None:
    there = a_pod("there", node="a")
    occupancy = occupied(a_node("a"), there)
    booking = Booking(occupancy.room(is_target))
    occupancy.put_pod(there, msgspec.structs.replace(there, ready=False, resource_version=2))
    assert booking.book(a_pod("web")) == "a"


# --- which nodes it asks for ---


def test_our_own_marks_are_ignored_for_the_pod_will_get_new_ones() -> None:
    nodes = (a_node("arm", labels={"arch": "arm64", "shiplift.dev/target-version": NEW}),)
    held = Requirement("shiplift.dev/target-version", "NotIn", (NEW,))
    arm, amd = Requirement("arch", "In", ("arm64",)), Requirement("arch", "In", ("amd64",))
    room = room_of(*nodes)
    assert Booking(room).book(a_pod("only-ours", spec=spec(node_terms=wanting(held)))) == "arm"
    assert Booking(room).book(a_pod("fits", spec=spec(node_terms=wanting(arm, held)))) == "arm"
    assert reason(Booking(room).book(a_pod("other", spec=spec(node_terms=wanting(amd, held))))) == (
        "0 of 1 target nodes fit: 1 node affinity"
    )


def test_an_empty_term_of_the_user_matches_no_node() -> None:
    room = room_of(a_node("a"))
    assert isinstance(Booking(room).book(a_pod("web", spec=spec(node_terms=(NodeTerm(),)))), NoSlot)


def test_our_own_taint_keeps_nobody_away() -> None:
    room = room_of(a_node("a", taints=(Taint("shiplift.dev/upgrade", NEW, "NoSchedule"),)))
    assert Booking(room).book(a_pod("web")) == "a"


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_taints_and_cordons_need_a_toleration(effect: str) -> None:
    tolerant = spec(tolerations=(Toleration(operator="Exists"),))
    for node in (a_node("a", taints=(Taint("gpu", "", effect),)), a_node("a", unschedulable=True)):
        assert Booking(room_of(node)).book(a_pod("web", spec=tolerant)) == "a"
        assert isinstance(Booking(room_of(node)).book(a_pod("web")), NoSlot)


# --- volumes ---


def in_zone(zone: str) -> tuple[NodeTerm, ...]:
    return wanting(Requirement(ZONE, "In", (zone,)))


def with_volume(occupancy: Occupancy, volume: object) -> Room:
    occupancy.put_volume(None, volume)
    occupancy.put_claim(None, a_claim("data", volume.name))
    return occupancy.room(is_target)


STATEFUL = spec(claims=("data",))


def test_a_volume_holds_its_pod_in_its_zone() -> None:
    nodes = [a_node("n-a", zone="a"), a_node("n-b", zone="b")]
    assert (
        Booking(with_volume(occupied(*nodes), a_volume("v", in_zone("b")))).book(a_pod("db", spec=STATEFUL))
        == "n-b"
    )
    nowhere = with_volume(occupied(*nodes), a_volume("v", in_zone("c")))
    assert reason(Booking(nowhere).book(a_pod("db", spec=STATEFUL))) == (
        "0 of 2 target nodes fit: 2 volume elsewhere"
    )


def test_a_zone_may_be_a_label_of_the_volume() -> None:
    nodes = [a_node("n-a", zone="a"), a_node("n-b", zone="b"), a_node("n-c", zone="c")]
    volume = a_volume("v", labels={"failure-domain.beta.kubernetes.io/zone": "b__c"})
    booking = Booking(with_volume(occupied(*nodes), volume))
    places = {booking.book(a_pod(f"db-{number}", spec=STATEFUL)) for number in range(20)}
    assert places == {"n-b", "n-c"}


@pytest.mark.parametrize("terms", [None, wanting(Requirement(HOST, "In", ("old",)))])
def test_a_volume_on_one_machine_does_not_follow(terms: tuple[NodeTerm, ...] | None) -> None:
    room = with_volume(occupied(a_node("old", version=OLD), a_node("new")), a_volume("v", terms, local=True))
    answer = Booking(room).book(a_pod("db", spec=STATEFUL, node="old"))
    assert reason(answer) == "0 of 1 target nodes fit: 1 volume elsewhere"


def test_a_claim_without_a_volume_goes_anywhere_but_it_must_exist() -> None:
    occupancy = occupied(a_node("a"))
    answer = Booking(occupancy.room(is_target)).book(a_pod("db", spec=STATEFUL))
    assert reason(answer) == "claim shop/data does not exist"
    claim = a_claim("data")
    occupancy.put_claim(None, claim)
    assert Booking(occupancy.room(is_target)).book(a_pod("db", spec=STATEFUL)) == "a"
    occupancy.put_claim(claim, a_claim("data", "lost"))
    answer = Booking(occupancy.room(is_target)).book(a_pod("db", spec=STATEFUL))
    assert reason(answer) == "volume lost of claim shop/data does not exist"
