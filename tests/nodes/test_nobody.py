"""A rollout that matches no node says what it asks for, and what there is."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.rows import make
from shiplift.api.nodes import NodeRolloutSpec
from shiplift.api.values import LabelSelector, SelectorOperator, SelectorRequirement
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.nodes.decide.nobody import told
from shiplift.nodes.model import Member
from shiplift.nodes.observe.members import member


def some(pool: str = "", **labels: str) -> Member:
    found = member(make(Node, "a", labels=Labels(labels)))
    return msgspec.structs.replace(found, pool=pool)


GOLD = LabelSelector(match_labels={"tier": "gold"})
IN = LabelSelector(
    match_expressions=(SelectorRequirement(key="tier", operator=SelectorOperator.IN, values=("gold", "tin")),)
)


@pytest.mark.parametrize(
    ("spec", "members", "said"),
    [
        (NodeRolloutSpec(version="v1.36.3"), [], "NodeRollout r has no node: none is there"),
        (
            NodeRolloutSpec(version="v1.36.3", node_selector=GOLD),
            [some(tier="tin"), some(tier="iron"), some()],
            "no node matches nodeSelector tier=gold of NodeRollout r; nodes have tier=iron, tier=tin",
        ),
        (
            NodeRolloutSpec(version="v1.36.3", node_selector=IN),
            [some()],
            "no node matches nodeSelector tier In gold,tin of NodeRollout r",
        ),
        (
            NodeRolloutSpec(version="v1.36.3", pools=("gold", "tin")),
            [some(f"p{one}") for one in range(7)],
            "no node matches pools gold, tin of NodeRollout r;"
            " nodes are in pools p0, p1, p2, p3, p4 and 2 more",
        ),
        (
            NodeRolloutSpec(version="v1.36.3", pools=("gold",), node_selector=GOLD),
            [some()],
            "no node matches nodeSelector tier=gold and pools gold of NodeRollout r; no node has label tier;"
            " no node is in a pool",
        ),
    ],
)
def test_what_is_asked_for_and_what_there_is_are_named(
    spec: NodeRolloutSpec, members: list[Member], said: str
) -> None:
    assert told(spec, "r", members) == said
