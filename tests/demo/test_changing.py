"""The play of the layer nodes: scenes end by what the cluster shows, and its nodes have room for the shop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from shiplift.api.nodes import NodeRollout, NodeState, RolloutPhase
from shiplift.demo.changing import CHANGING, DONE, OPENING, PLAY, POOLS
from shiplift.demo.plot import FROM, TARGET, Played, Scene, Seen
from shiplift.demo.shop import without_order
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.nodes.face.demo import DEMO, residue
from shiplift.nodes.face.rollouts import rollouts_view
from shiplift.nodes.face.standing import standing
from shiplift.view.look import look
from tests.nodes.face.rollouts import NOW, a_record, a_rollout
from tests.view.rows import Snapshot, node

NAMES = [name for pool in POOLS for name in pool.names()]
OLD_NODES = [node(name, FROM) for name in NAMES]
NEW_NODES = [node(name, TARGET) for name in NAMES]
CORDONED = node(NAMES[0], TARGET, unschedulable=True)
RUNNING: dict[str, Any] = {"phase": RolloutPhase.RUNNING}
COMPLETE: dict[str, Any] = {"phase": RolloutPhase.COMPLETE}


def seen(scene: Scene, nodes: Iterable[Node], rollout: NodeRollout | None = None, *left: str) -> Seen:
    rows = list(nodes)
    cluster = look(Snapshot(*rows), NOW, TARGET)
    view = rollouts_view([rollout], NOW, None) if rollout else None
    act = standing(cluster, rows, view.rollouts[0] if view else None, TARGET)
    return Seen(scene, cluster, (Played(DEMO, act),), left, 0)


@pytest.mark.parametrize(
    ("view", "over"),
    [
        (seen(OPENING, OLD_NODES), True),
        (seen(OPENING, [*OLD_NODES[1:], node(NAMES[0], ready="False")]), False),
        (seen(CHANGING, OLD_NODES), False),
        (seen(CHANGING, NEW_NODES), False),
        (seen(CHANGING, NEW_NODES, a_rollout(**RUNNING)), False),
        (seen(CHANGING, OLD_NODES, a_rollout(**COMPLETE)), False),
        (seen(CHANGING, NEW_NODES, a_rollout(**COMPLETE), "a cordon on node x"), False),
        (seen(CHANGING, NEW_NODES, a_rollout(a_record(NAMES[0], NodeState.FAILED), **COMPLETE)), False),
        (seen(CHANGING, [*NEW_NODES[1:], CORDONED], a_rollout(**COMPLETE)), False),
        (seen(CHANGING, NEW_NODES, a_rollout(**COMPLETE)), True),
        (seen(DONE, NEW_NODES, a_rollout(**COMPLETE)), False),
    ],
)
def test_a_scene_is_over_when_the_cluster_shows_it(view: Seen, over: bool) -> None:
    assert view.over is over


def test_the_scenes_follow_each_other_to_the_end() -> None:
    assert (PLAY.after(OPENING), PLAY.after(CHANGING), PLAY.last) == (CHANGING, DONE, DONE)


@pytest.mark.parametrize(
    ("annotations", "found"),
    [
        ({"node.shiplift.dev/cordoned-by": "r"}, ("a cordon on node a",)),
        ({"node.shiplift.dev/changes-allowed": "{}"}, ("an order on node a",)),
        (
            {"kubelet.shiplift.dev/desired-version": "1.36.3"},
            ("the desired version of kubelet on node a",),
        ),
        ({"kubelet.shiplift.dev/current-version": "1.36.3", "node.shiplift.dev/agent": "{}"}, ()),
    ],
)
def test_all_that_a_rollout_leaves_while_it_runs_is_found(
    annotations: dict[str, str], found: tuple[str, ...]
) -> None:
    assert residue(Snapshot(node("a", annotations=Labels(annotations)))) == found


def test_while_one_node_of_each_zone_is_away_all_that_the_shop_asks_for_is_there() -> None:
    selected = {
        one["spec"]["template"]["spec"]["nodeSelector"]["local.shiplift.dev/pool"]
        for one in without_order()
        if one["kind"] in ("Deployment", "StatefulSet")
    }
    for pool in POOLS:
        if pool.name in selected:
            assert pool.count == 2 * len(pool.zones)
    assert selected <= {pool.name for pool in POOLS}
