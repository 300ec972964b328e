"""A node that is not there yet takes just the pods that it takes when it has come, empty."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.meta import Labels
from shiplift.facts.pods import PodSpec, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement
from shiplift.facts.storage import PersistentVolume
from shiplift.room.booking import Booking, NoSlot, Occupancy, Room
from shiplift.room.node_room import Cause
from shiplift.room.sample import Sample
from tests.room.cases import ZONE, a_claim, a_node, a_pod, a_volume
from tests.room.rooms import is_target, occupied, wanting

LABELS = {"pool": "new", ZONE: "zone-a", "kubernetes.io/os": "linux"}
VOLUME = Cause.VOLUME
SAMPLE = Sample({"pool": "new", ZONE: "zone-a"}, cpu=1000, memory=1 << 30, pods=10)
IN_A, IN_B = (wanting(Requirement(ZONE, "In", (zone,))) for zone in ("zone-a", "zone-b"))
VOLUMES: list[PersistentVolume | None] = [
    None,
    a_volume("disk"),
    a_volume("disk", IN_A),
    a_volume("disk", IN_B),
    a_volume("disk", labels={ZONE: "zone-b"}),
    a_volume("disk", (NodeTerm(fields=(Requirement("metadata.name", "In", ("old",)),)),), local=True),
]

specs = st.builds(
    PodSpec,
    requests=st.builds(
        Resources,
        cpu=st.sampled_from([0, 1000, 1001]),
        memory=st.sampled_from([0, 1 << 30, (1 << 30) + 1]),
        extended=st.sampled_from([(), (("gpu", 1),)]),
    ),
    node_selector=st.sampled_from(
        [Labels(), Labels(pool="new"), Labels(pool="old"), Labels({"kubernetes.io/os": "linux"})]
    ),
    node_terms=st.sampled_from([None, IN_A, IN_B]),
    tolerations=st.sampled_from([(), (Toleration(operator="Exists"),)]),
    claims=st.sampled_from([(), ("data",)]),
)


def with_volume(occupancy: Occupancy, volume: PersistentVolume | None) -> Room:
    occupancy.put_claim(None, a_claim("data", volume.name if volume else ""))
    occupancy.put_volume(None, volume)
    return occupancy.room(is_target)


@given(specs, st.sampled_from(VOLUMES))
def test_it_is_as_if_it_were_there(spec: PodSpec, volume: PersistentVolume | None) -> None:
    pod = a_pod("web-1", spec=spec)
    there = with_volume(occupied(a_node("new", labels=LABELS)), volume)
    refused = isinstance(Booking(there).book(pod, leaving=False), NoSlot)
    assert bool(SAMPLE.refuses(with_volume(Occupancy(), volume), pod)) is refused


@pytest.mark.parametrize(
    ("number", "refused"), [(0, ""), (1, ""), (2, ""), (3, VOLUME), (4, VOLUME), (5, VOLUME)]
)
def test_a_volume_keeps_its_pod_where_it_can_be_used(number: int, refused: str) -> None:
    pod = a_pod("web-1", spec=PodSpec(claims=("data",)))
    assert SAMPLE.refuses(with_volume(Occupancy(), VOLUMES[number]), pod) == refused


def test_a_claim_that_does_not_exist_is_named() -> None:
    pod = a_pod("web-1", spec=PodSpec(claims=("data",)))
    assert SAMPLE.refuses(Occupancy().room(is_target), pod) == "claim shop/data does not exist"
