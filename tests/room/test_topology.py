"""Room where pods want to be near to others, or apart."""

from __future__ import annotations

from collections import Counter

import msgspec

from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Taint
from shiplift.facts.pods import PodSpec, PodTerm, Spread
from shiplift.facts.selectors import Selector
from shiplift.room.booking import Booking, NoSlot
from tests.room.cases import (
    HOST,
    OLD,
    ZONE,
    a_namespace,
    a_node,
    a_pod,
)
from tests.room.rooms import PICKS_WEB, WEB, is_target, occupied, reason, room_of, spec


def apart(key: str) -> PodSpec:
    return spec(anti_affinity=(PodTerm(PICKS_WEB, key),))


def test_one_replica_for_each_node() -> None:
    booking = Booking(room_of(a_node("a"), a_node("b")))
    answers = [booking.book(a_pod(f"web-{number}", labels=WEB, spec=apart(HOST))) for number in range(3)]
    assert set(answers[:2]) == {"a", "b"}
    assert reason(answers[2]) == "0 of 2 target nodes fit: 2 anti-affinity"


def test_a_leaving_replica_does_not_stand_in_its_own_way() -> None:
    old = [a_node(f"old-{zone}", zone=zone, version=OLD) for zone in "ab"]
    pods = [a_pod(f"web-{zone}", labels=WEB, spec=apart(ZONE), node=f"old-{zone}") for zone in "ab"]
    room = room_of(*old, a_node("new-a", zone="a"), *pods)
    assert Booking(room).book(pods[0]) == "new-a"
    assert isinstance(Booking(room).book(pods[1]), NoSlot)
    assert isinstance(Booking(room).book(pods[0], leaving=False), NoSlot)


def test_pods_that_are_there_may_refuse_a_plain_one_also_from_another_namespace() -> None:
    everywhere = PodTerm(PICKS_WEB, HOST, namespace_selector=Selector(Labels(team="a")))
    guard = a_pod("guard", namespace="bank", spec=spec(anti_affinity=(everywhere,)), node="a")
    occupancy = occupied(a_node("a"), guard)
    occupancy.put_namespace(None, a_namespace("shop", {"team": "b"}))
    assert Booking(occupancy.room(is_target)).book(a_pod("web", labels=WEB)) == "a"
    occupancy.put_namespace(None, a_namespace("shop", {"team": "a"}))
    assert isinstance(Booking(occupancy.room(is_target)).book(a_pod("web", labels=WEB)), NoSlot)


def test_a_promised_pod_refuses_others_too() -> None:
    booking = Booking(room_of(a_node("a")))
    assert booking.book(a_pod("first", labels=WEB)) == "a"
    assert booking.book(a_pod("guard", spec=apart(HOST))) != "a"
    booking = Booking(room_of(a_node("a")))
    assert booking.book(a_pod("guard", spec=apart(HOST))) == "a"
    assert reason(booking.book(a_pod("web", labels=WEB))) == "0 of 1 target nodes fit: 1 anti-affinity"


def test_the_first_that_wants_its_own_kind_may_go_anywhere_and_the_others_follow() -> None:
    together = spec(affinity=(PodTerm(PICKS_WEB, ZONE),))
    nodes = [a_node("n-a", zone="a"), a_node("n-b", zone="b"), a_node("n-none")]
    booking = Booking(room_of(*nodes))
    zones = {booking.book(a_pod(f"web-{number}", labels=WEB, spec=together)) for number in range(5)}
    assert len(zones) == 1
    assert zones < {"n-a", "n-b"}
    alone = Booking(room_of(*nodes)).book(a_pod("other", spec=together))
    assert reason(alone) == "0 of 3 target nodes fit: 3 affinity"


def even(**parts: object) -> PodSpec:
    return spec(spread=(Spread(1, ZONE, True, PICKS_WEB, **parts),))


def test_replicas_are_spread_evenly_over_the_targets() -> None:
    nodes = [
        a_node("n-a", zone="a", cpu=300),
        a_node("n-b", zone="b", cpu=100),
        a_node("o", zone="c", version=OLD),
    ]
    booking = Booking(room_of(*nodes))
    answers = [booking.book(a_pod(f"web-{number}", labels=WEB, spec=even())) for number in range(4)]
    assert Counter(answers[:3]) == {"n-a": 2, "n-b": 1}
    assert reason(answers[3]) == "0 of 2 target nodes fit: 1 insufficient cpu, 1 topology spread"


def test_too_few_domains_count_as_empty_ones() -> None:
    room = room_of(a_node("n-a", zone="a"), a_pod("web-0", labels=WEB, node="n-a"))
    assert Booking(room).book(a_pod("web-1", labels=WEB, spec=even())) == "n-a"
    assert isinstance(Booking(room).book(a_pod("web-1", labels=WEB, spec=even(min_domains=2))), NoSlot)


def test_an_ending_replica_does_not_count_for_spread() -> None:
    nodes = [a_node("n-a", zone="a"), a_node("n-b", zone="b", cpu=0)]
    room = room_of(*nodes, a_pod("web-0", labels=WEB, node="n-a", deleting=1))
    assert Booking(room).book(a_pod("web-1", labels=WEB, spec=even())) == "n-a"


def test_a_replica_that_begins_to_end_no_longer_counts_for_spread() -> None:
    there = a_pod("web-0", labels=WEB, node="n-a")
    occupancy = occupied(a_node("n-a", zone="a"), a_node("n-b", zone="b", cpu=0), there)
    more = a_pod("web-1", labels=WEB, spec=even())
    assert isinstance(Booking(occupancy.room(is_target)).book(more), NoSlot)
    occupancy.put_pod(there, msgspec.structs.replace(there, deleting=1))
    assert Booking(occupancy.room(is_target)).book(more) == "n-a"


def test_an_ending_replica_that_moves_is_counted_where_it_goes_only() -> None:
    ending = a_pod("web-0", labels=WEB, spec=even(), node="n-a", deleting=1)
    booking = Booking(room_of(a_node("n-a", zone="a"), a_node("n-b", zone="b", cpu=0), ending))
    assert booking.book(ending) == "n-a"
    assert isinstance(booking.book(a_pod("web-1", labels=WEB, spec=even())), NoSlot)


def test_a_pod_that_its_own_spread_does_not_pick_adds_nothing() -> None:
    nodes = [a_node("n-a", zone="a"), a_node("n-b", zone="b", cpu=0)]
    room = room_of(*nodes, a_pod("web-0", labels=WEB, node="n-a"))
    assert Booking(room).book(a_pod("other", spec=even())) == "n-a"
    assert isinstance(Booking(room).book(a_pod("web-1", labels=WEB, spec=even())), NoSlot)


def test_a_spread_over_every_pod_counts_none() -> None:
    over_all = spec(spread=(Spread(1, ZONE, True, Selector(Labels())),))
    nodes = [a_node("n-a", zone="a"), a_node("n-b", zone="b", cpu=0)]
    assert Booking(room_of(*nodes, a_pod("web-0", node="n-a"))).book(a_pod("web-1", spec=over_all)) == "n-a"


def test_a_node_without_all_the_keys_is_no_domain_of_any() -> None:
    nodes = [a_node("n-a", zone="a", labels={"rack": "1"}), a_node("n-b", zone="b")]
    room = room_of(*nodes, a_pod("web-0", labels=WEB, node="n-a"))
    both = spec(spread=(Spread(1, ZONE, True, PICKS_WEB), Spread(5, "rack", True, PICKS_WEB)))
    assert Booking(room).book(a_pod("web-1", labels=WEB, spec=both)) == "n-a"
    assert Booking(room).book(a_pod("web-1", labels=WEB, spec=even())) == "n-b"


def test_a_tainted_node_is_no_domain_where_taints_are_honoured() -> None:
    nodes = [a_node("n-a", zone="a"), a_node("n-b", zone="b", taints=(Taint("gpu", "", "NoSchedule"),))]
    room = room_of(*nodes, a_pod("web-0", labels=WEB, node="n-a"))
    assert Booking(room).book(a_pod("web-1", labels=WEB, spec=even(honours_taints=True))) == "n-a"
    assert isinstance(Booking(room).book(a_pod("web-1", labels=WEB, spec=even())), NoSlot)


def test_a_pod_is_not_the_first_while_any_of_its_wishes_is_met_somewhere() -> None:
    both = spec(affinity=(PodTerm(PICKS_WEB, ZONE), PodTerm(PICKS_WEB, "rack")))
    nodes = [a_node("old", zone="a", version=OLD), a_node("n-a", zone="a", labels={"rack": "1"})]
    alone = Booking(room_of(*nodes)).book(a_pod("web-1", labels=WEB, spec=both))
    assert alone == "n-a"
    room = room_of(*nodes, a_pod("web-0", labels=WEB, node="old"))
    assert isinstance(Booking(room).book(a_pod("web-1", labels=WEB, spec=both)), NoSlot)


def test_a_promise_binds_pods_of_kinds_that_were_asked_about_before() -> None:
    booking = Booking(room_of(a_node("a", cpu=100), a_node("b", cpu=1000)))
    big = a_pod("big", spec=spec(900, anti_affinity=(PodTerm(PICKS_WEB, HOST),)))
    same = spec()
    assert booking.book(a_pod("web-0", labels=WEB, spec=same)) == "a"
    assert booking.book(big) == "b"
    assert reason(booking.book(a_pod("web-1", labels=WEB, spec=same))) == (
        "0 of 2 target nodes fit: 1 insufficient cpu, 1 anti-affinity"
    )


def test_only_replicas_of_the_same_revision_count_where_asked() -> None:
    def of(revision: str) -> Labels:
        return Labels(app="web", revision=revision)

    nodes = [a_node("n-a", zone="a"), a_node("n-b", zone="b", cpu=0)]
    room = room_of(*nodes, a_pod("web-0", labels=of("1"), node="n-a"))
    keyed = even(match_label_keys=("revision",))
    assert Booking(room).book(a_pod("web-1", labels=of("2"), spec=keyed)) == "n-a"
    assert isinstance(Booking(room).book(a_pod("web-1", labels=of("1"), spec=keyed)), NoSlot)


def test_old_nodes_count_for_spread_where_affinity_is_ignored() -> None:
    nodes = [a_node("n-a", zone="a"), a_node("old-b", zone="b", version=OLD)]
    room = room_of(*nodes, a_pod("web-0", labels=WEB, node="n-a"))
    assert Booking(room).book(a_pod("web-1", labels=WEB, spec=even())) == "n-a"
    ignoring = even(honours_affinity=False)
    assert isinstance(Booking(room).book(a_pod("web-1", labels=WEB, spec=ignoring)), NoSlot)
