"""The slot finder against the slow way, on any cluster that can be thought of."""

from __future__ import annotations

from collections import Counter

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import HostPort, Pod, PodSpec, PodTerm, Spread, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement, Selector
from shiplift.room.booking import Booking, NoSlot, Occupancy
from tests.examples import tries
from tests.room.cases import (
    HOST,
    NEW,
    OLD,
    ZONE,
    a_namespace,
    a_node,
    a_pod,
)
from tests.room.oracle import Oracle
from tests.room.rooms import PICKS_WEB, WEB, is_target, occupied, wanting

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


@settings(max_examples=tries(400))
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


@settings(max_examples=tries(100))
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
