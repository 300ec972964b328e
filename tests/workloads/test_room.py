"""A pod is promised a target exactly where the scheduler would find one."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import HostPort, Pod, PodSpec, PodTerm, Spread, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement, Selector
from shiplift.workloads.room import Booking, NoSlot, Occupancy, Room
from tests.workloads.room_cases import (
    HOST,
    NEW,
    OLD,
    ZONE,
    a_claim,
    a_namespace,
    a_node,
    a_pod,
    a_volume,
)
from tests.workloads.room_oracle import Oracle

WEB = Labels(app="web")
PICKS_WEB = Selector(WEB)


def is_target(node: Node) -> bool:
    return node.kubelet_version == NEW


def occupied(*rows: Node | Pod) -> Occupancy:
    occupancy = Occupancy()
    for row in rows:
        if isinstance(row, Node):
            occupancy.put_node(row)
        else:
            occupancy.put_pod(None, row)
    return occupancy


def room_of(*rows: Node | Pod) -> Room:
    return occupied(*rows).room(is_target)


def spec(cpu: int = 100, **parts: object) -> PodSpec:
    return PodSpec(requests=Resources(cpu=cpu, pods=1), **parts)


def reason(answer: str | NoSlot) -> str:
    assert isinstance(answer, NoSlot), f"it was promised {answer}"
    return answer.reason


def wanting(*requirements: Requirement) -> tuple[NodeTerm, ...]:
    return (NodeTerm(requirements),)


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


# --- topology ---


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


# --- against the slow way ---

APPS = [Labels(), Labels(app="web"), Labels(app="db"), Labels(app="web", revision="2")]
SELECTORS = [
    None,
    Selector(Labels()),
    PICKS_WEB,
    Selector(Labels(), (Requirement("app", "NotIn", ("db",)),)),
    Selector(Labels(), (Requirement("revision", "DoesNotExist"),)),
]
KEYS = [HOST, ZONE, "rack"]
SPACES = {"shop": Labels(team="a"), "bank": Labels(team="b")}
TAINTS = [
    Taint("gpu", "", "NoSchedule"),
    Taint("gpu", "x", "NoExecute"),
    Taint("soft", "", "PreferNoSchedule"),
]

terms = st.lists(
    st.builds(
        PodTerm,
        st.sampled_from(SELECTORS),
        st.sampled_from(KEYS),
        st.sampled_from([(), (), ("bank",)]),
        st.sampled_from([None, None, Selector(Labels()), Selector(Labels(team="a"))]),
    ),
    max_size=2,
).map(tuple)
seldom_terms = st.one_of(st.just(()), st.just(()), terms)
spreads = st.one_of(
    st.just(()),
    st.lists(
        st.builds(
            Spread,
            st.integers(1, 2),
            st.sampled_from(KEYS),
            st.sampled_from([True, True, False]),
            st.sampled_from(SELECTORS),
            st.integers(1, 3),
            st.booleans(),
            st.booleans(),
            st.sampled_from([(), ("revision",)]),
        ),
        max_size=2,
        unique_by=lambda spread: spread.topology_key,
    ).map(tuple),
)
NODE_TERMS = [
    None,
    None,
    None,
    wanting(Requirement("shiplift.dev/off-target", "NotIn", ("t",))),
    wanting(Requirement("rack", "In", ("1",)), Requirement("shiplift.dev/target-version", "NotIn", ("t",))),
    (NodeTerm(), *wanting(Requirement(ZONE, "NotIn", ("a",)))),
]
specs = st.builds(
    PodSpec,
    requests=st.builds(
        Resources,
        cpu=st.sampled_from([0, 100, 200]),
        pods=st.just(1),
        extended=st.sampled_from([(), (), (("gpu", 1),)]),
    ),
    tolerations=st.sampled_from(
        [(), (), (Toleration(operator="Exists"),), (Toleration("gpu", "Exists", effect="NoSchedule"),)]
    ),
    node_selector=st.sampled_from([Labels(), Labels(), Labels(rack="1")]),
    node_terms=st.sampled_from(NODE_TERMS),
    affinity=seldom_terms,
    anti_affinity=seldom_terms,
    spread=spreads,
    host_ports=st.sampled_from([(), (), (HostPort(80, "TCP", ""),), (HostPort(80, "TCP", "10.0.0.1"),)]),
)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Node], list[Pod], list[tuple[Pod, bool]]]:
    """Nodes, pods, and the pods to find a place for: some of those, and some like them."""
    nodes = [
        a_node(
            f"n{number}",
            zone=draw(st.sampled_from(["a", "b", ""])),
            labels=draw(st.sampled_from([{}, {"rack": "1"}, {"rack": "2"}])),
            version=draw(st.sampled_from([NEW, NEW, OLD])),
            cpu=draw(st.sampled_from([100, 300, 500])),
            pods=draw(st.integers(1, 4)),
            extended=draw(st.sampled_from([(), (("gpu", 1),)])),
            taints=draw(st.sampled_from([(), (), (), *((taint,) for taint in TAINTS)])),
            unschedulable=draw(st.sampled_from([False, False, False, True])),
            ready=draw(st.sampled_from([True, True, True, False])),
        )
        for number in range(draw(st.integers(1, 5)))
    ]
    kinds = draw(
        st.lists(
            st.tuples(specs, st.sampled_from(APPS), st.sampled_from(sorted(SPACES))), min_size=1, max_size=4
        )
    )
    names = [*(node.name for node in nodes), "gone", ""]
    pods: list[Pod] = []
    for number in range(draw(st.integers(0, 8))):
        kind, labels, namespace = draw(st.sampled_from(kinds))
        pods.append(
            a_pod(
                f"p{number}",
                namespace=namespace,
                labels=labels,
                spec=kind,
                node=draw(st.sampled_from(names)),
                phase=draw(st.sampled_from(["Running", "Running", "Running", "Succeeded"])),
                deleting=draw(st.sampled_from([0, 0, 1])),
                nominated=draw(st.sampled_from(["", "", nodes[0].name])),
            )
        )
    moving = [(pod, draw(st.booleans())) for pod in pods if draw(st.booleans())]
    kind, labels, namespace = draw(st.sampled_from(kinds))
    more = [
        (a_pod(f"more{number}", namespace=namespace, labels=labels, spec=kind), True) for number in range(3)
    ]
    return nodes, pods, moving + more


@settings(max_examples=400, deadline=None)
@given(clusters())
def test_it_agrees_with_the_slow_way_pod_by_pod(
    cluster: tuple[list[Node], list[Pod], list[tuple[Pod, bool]]],
) -> None:
    nodes, pods, moving = cluster
    occupancy = occupied(*pods, *nodes)
    for name, labels in SPACES.items():
        occupancy.put_namespace(None, a_namespace(name, dict(labels)))
    booking = Booking(occupancy.room(is_target))
    oracle = Oracle(nodes, pods, SPACES, {node.name for node in nodes if is_target(node)})
    for pod, leaving in moving:
        answer, places = booking.book(pod, leaving=leaving), oracle.places(pod, leaving=leaving)
        if isinstance(answer, NoSlot):
            assert not places, f"{pod.name} could go to {places}: {answer.reason}"
            assert told(answer.reason) == len(oracle.targets)
        else:
            assert answer in places, f"{pod.name} cannot go to {answer}"
            oracle.promise(pod, answer, leaving=leaving)


def told(reason: str) -> int:
    """How many nodes the sentence accounts for."""
    if ": " not in reason:
        return 0
    return sum(int(part.split()[0]) for part in reason.split(": ")[1].split(", "))


@settings(max_examples=100, deadline=None)
@given(clusters(), st.randoms(use_true_random=False))
def test_events_in_any_order_leave_the_same_room(
    cluster: tuple[list[Node], list[Pod], list[tuple[Pod, bool]]], chance: object
) -> None:
    nodes, pods, moving = cluster
    straight, crooked = occupied(*nodes, *pods), Occupancy()
    rows = [*nodes, *pods]
    chance.shuffle(rows)
    for row in rows:
        put(crooked, row)
    for pod, _ in moving:
        crooked.put_pod(None, pod)
        moved = msgspec.structs.replace(pod, node="n0", phase="Running", labels=WEB)
        crooked.put_pod(pod, moved)
        crooked.put_pod(moved, None)
    crooked.drop_node("n0")
    crooked.put_node(nodes[0])
    assert contents(crooked) == contents(straight)


def put(occupancy: Occupancy, row: Node | Pod) -> None:
    if isinstance(row, Node):
        occupancy.put_node(row)
    else:
        occupancy.put_pod(None, row)


def contents(occupancy: Occupancy) -> object:
    places = {
        name: (place.node, place.cpu, place.memory, place.pods, place.ports, +Counter(place.extended))
        for name, place in occupancy.places.items()
    }
    return places, occupancy.peers, occupancy.ending, occupancy.guards
