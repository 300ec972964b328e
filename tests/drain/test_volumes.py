"""A node is drained when no volume of a pod that went is attached to it any more."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.rows import make
from shiplift.drain.filters import judge_all
from shiplift.drain.volumes import Claim, Volume, attached, claims_that_stay
from shiplift.facts.nodes import Node
from shiplift.facts.storage import VolumeAttachment
from tests.drain.pods import DAEMON_SET, MIRROR, NODE, a_pod, around

ON_NODE = "kubernetes.io/csi/disk.example.com^vol-1"
STAYING = Volume("pv-1", "disk.example.com", "vol-1")


def a_node(**given: Any) -> Node:
    return make(Node, NODE, **given)


def attachment(volume: str, node: str = NODE, **given: Any) -> VolumeAttachment:
    return make(VolumeAttachment, f"csi-{volume}", node=node, volume=volume, **given)


@pytest.mark.parametrize(
    ("node", "attachments", "staying", "expected"),
    [
        (a_node(), [], [], ()),
        (a_node(), [attachment("pv-2"), attachment("pv-1")], [], ("pv-1", "pv-2")),
        (a_node(), [attachment("pv-1", "node-2")], [], ()),
        (a_node(), [attachment("pv-1")], [STAYING], ()),
        (a_node(), [attachment("")], [], ("csi-",)),
        (a_node(volumes_attached=(ON_NODE,)), [], [], (ON_NODE,)),
        (a_node(volumes_in_use=(ON_NODE,)), [], [], (ON_NODE,)),
        (a_node(volumes_attached=(ON_NODE,)), [attachment("pv-1")], [], ("pv-1",)),
        (a_node(volumes_attached=(ON_NODE,), volumes_in_use=(ON_NODE,)), [attachment("pv-1")], [STAYING], ()),
        (a_node(volumes_attached=(ON_NODE,)), [attachment("pv-2")], [STAYING], ("pv-2",)),
    ],
)
def test_what_is_attached_and_of_no_pod_that_stays(
    node: Node, attachments: list[VolumeAttachment], staying: list[Volume], expected: tuple[str, ...]
) -> None:
    assert attached(node, attachments, staying) == expected


def test_the_claims_of_pods_that_stay() -> None:
    judged = judge_all(
        [
            a_pod("goes", claims=("data",)),
            a_pod("proxy", owner=DAEMON_SET, claims=("cache",), ephemeral_claims=("scratch",)),
            a_pod("static", owner=None, annotations=MIRROR, claims=("old",), phase="Failed"),
        ],
        around(),
    )
    assert claims_that_stay(judged) == (Claim("shop", "cache"), Claim("shop", "proxy-scratch"))
