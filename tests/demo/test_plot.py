"""Each scene ends by what the cluster shows, and the shop of the demo is one that is worth moving."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
import yaml

from shiplift.api.upgrade import TurnOf, UpgradePhase, UpgradeType
from shiplift.api.workloads import WorkloadMigration
from shiplift.demo.moving import ASKING, DONE, JOINING, LEAVING, MOVING, NEW, OLD, OPENING, PLAY
from shiplift.demo.plot import TARGET, Played, Scene, Seen
from shiplift.demo.policing import DOCUMENT
from shiplift.demo.shop import manifests, needs, without_order
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import WORKLOAD_PLACEMENT, Kind
from shiplift.facts.meta import Labels, Row
from shiplift.facts.nodes import Node
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.policy.document import first
from shiplift.upgrade.face.demo import DEMO as CONDUCTOR
from shiplift.upgrade.face.demo import Conducting
from shiplift.view.look import look
from shiplift.workloads.face.demo import DEMO, residue
from shiplift.workloads.face.migration import migration_view
from shiplift.workloads.face.movement import Movement, Mover, Stand, movement
from tests.toy.face import DEMO as TOY
from tests.toy.face import Juggling
from tests.view.rows import Snapshot, make, node
from tests.workloads.face.migrations import NOW, migration, progress

OLD_NODES = [node(name, OLD[0].version) for pool in OLD for name in pool.names()]
NEW_NODES = [node(name, TARGET) for pool in NEW for name in pool.names()]


def seen(scene: Scene, nodes: Iterable[Node], status: dict[str, Any] | None = None, *left: str) -> Seen:
    found: WorkloadMigration | None = migration(status) if status is not None else None
    cluster = look(Snapshot(*nodes), NOW, TARGET)
    view = migration_view(found, NOW) if found else None
    played = Played(DEMO, movement(cluster, view, [], TARGET))
    return Seen(scene, cluster, (played,), left, 0)


UNDER_WAY = {"observedGeneration": 2, "state": "Upgrade", "target": TARGET, "progress": progress(5, 6)}
ARRIVED = UNDER_WAY | {"progress": progress(6, 6)}
FINISHED: dict[str, Any] = {"observedGeneration": 2, "state": "NoUpgrade"}
UNREADY = node("data-new-1", TARGET, ready="False")


@pytest.mark.parametrize(
    ("view", "over"),
    [
        (seen(OPENING, OLD_NODES), True),
        (seen(OPENING, [*OLD_NODES, UNREADY]), False),
        (seen(JOINING, OLD_NODES), False),
        (seen(JOINING, [*OLD_NODES, *NEW_NODES[:-1], UNREADY]), False),
        (seen(JOINING, [*OLD_NODES, *NEW_NODES]), True),
        (seen(MOVING, NEW_NODES), False),
        (seen(MOVING, NEW_NODES, {}), False),
        (seen(MOVING, NEW_NODES, UNDER_WAY), False),
        (seen(MOVING, NEW_NODES, ARRIVED), True),
        (seen(LEAVING, [*OLD_NODES, *NEW_NODES], FINISHED), False),
        (seen(LEAVING, NEW_NODES, ARRIVED), False),
        (seen(LEAVING, NEW_NODES, FINISHED, "a label on node x"), False),
        (seen(LEAVING, NEW_NODES, FINISHED), True),
        (seen(DONE, NEW_NODES, FINISHED), False),
    ],
)
def test_a_scene_is_over_when_the_cluster_shows_it(view: Seen, over: bool) -> None:
    assert view.over is over


@pytest.mark.parametrize(
    ("turn", "phase", "waits", "settled"),
    [
        (None, None, False, False),
        (TurnOf.CONTROL_PLANE, UpgradePhase.UPGRADING, False, False),
        (TurnOf.NODES, UpgradePhase.UPGRADING, True, False),
        (TurnOf.OURS, UpgradePhase.UPGRADING, False, False),
        (None, UpgradePhase.UPGRADED, False, True),
    ],
)
def test_nodes_join_when_it_is_their_turn_and_all_is_over_when_the_upgrade_is(
    turn: TurnOf | None, phase: UpgradePhase | None, waits: bool, settled: bool
) -> None:
    conducting = Played(CONDUCTOR, Conducting(TARGET, phase, turn))
    asked = seen(ASKING, OLD_NODES)
    assert msgspec.structs.replace(asked, played=(*asked.played, conducting)).over is waits
    left = seen(LEAVING, NEW_NODES, FINISHED)
    assert msgspec.structs.replace(left, played=(*left.played, conducting)).over is settled


def test_the_document_of_the_demo_is_a_policy_for_its_target() -> None:
    found = first(yaml.safe_load(DOCUMENT))
    assert found is not None
    assert (found.spec.desired.version, found.spec.type) == (TARGET, UpgradeType.EXTERNAL)


def test_a_scene_is_over_when_it_is_for_every_layer() -> None:
    there = seen(MOVING, NEW_NODES, ARRIVED)
    toy = Played(TOY, Juggling())
    assert msgspec.structs.replace(there, played=(*there.played, toy)).over
    dropped = Played(TOY, Juggling(moved=False))
    assert not msgspec.structs.replace(there, played=(*there.played, dropped)).over


def test_the_scenes_follow_each_other_to_the_end() -> None:
    scene = OPENING
    for wanted in (ASKING, JOINING, MOVING, LEAVING, DONE):
        scene = PLAY.after(scene)
        assert scene is wanted
    assert PLAY.last is DONE


def placement(namespace: str) -> Custom:
    about: dict[str, Any] = msgspec.structs.asdict(make(Row, "shiplift", namespace=namespace))
    return Custom(**about, object=None)


@pytest.mark.parametrize(
    ("states", "moved", "half_way"),
    [
        ((Stand.ARRIVED, Stand.MOVING, Stand.HELD, Stand.HELD), 1, True),
        ((Stand.ARRIVED, Stand.MOVING, Stand.HELD, Stand.HELD), 0, False),
        ((Stand.ARRIVED, Stand.MOVING, Stand.MOVING, Stand.HELD), 1, False),
        ((Stand.MOVING, Stand.MOVING, Stand.HELD, Stand.HELD), 1, False),
        ((Stand.ARRIVED, Stand.ARRIVED, Stand.HELD, Stand.HELD), 1, False),
    ],
)
def test_half_way_some_have_arrived_some_move_and_some_wait(
    states: tuple[Stand, ...], moved: int, half_way: bool
) -> None:
    movers = [Mover(("Deployment", "shop", str(state)), "", state, moved, 0, 2, "") for state in states]
    played = Played(DEMO, Movement(TARGET, None, tuple(movers)))
    there = seen(MOVING, NEW_NODES)
    assert msgspec.structs.replace(there, played=(played,)).half_way is half_way


class Rows(Snapshot):
    def customs(self, kind: Kind) -> Iterable[Custom]:
        return list(self.all(Custom)) if kind == WORKLOAD_PLACEMENT else []


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (placement("shop"), ("the placement of shop",)),
        (
            make(PodDisruptionBudget, "h", labels=Labels({"app.kubernetes.io/managed-by": "shiplift"})),
            ("PodDisruptionBudget h",),
        ),
        (
            make(PodDisruptionBudget, "held", annotations=Labels({"shiplift.dev/hold-ledger": "{}"})),
            ("PodDisruptionBudget held",),
        ),
        (make(PodDisruptionBudget, "theirs"), ()),
        (node("a", labels=Labels({"shiplift.dev/target-version": TARGET})), ("a label on node a",)),
        (node("b", labels=Labels({"shiplift.dev/off-target": TARGET})), ("a label on node b",)),
        (node("c"), ()),
    ],
)
def test_all_that_a_migration_leaves_while_it_runs_is_found(row: Any, found: tuple[str, ...]) -> None:
    assert residue(Rows(row)) == found


def test_the_shop_protects_all_that_keeps_state() -> None:
    kinds = [(one["kind"], one["metadata"]["name"]) for one in manifests()]
    for kind, name in kinds:
        if kind == "StatefulSet":
            assert ("PodDisruptionBudget", name) in kinds
            assert ("Service", name) in kinds


def test_without_its_order_the_shop_has_nothing_of_ours() -> None:
    assert [one for one in manifests() if one not in without_order()] == [
        one for one in manifests() if "shiplift.dev/" in one["apiVersion"]
    ]


def test_the_order_of_the_shop_names_what_is_in_it_and_is_four_deep() -> None:
    workloads = {
        one["metadata"]["name"] for one in manifests() if one["kind"] in ("Deployment", "StatefulSet")
    }
    order = needs()
    assert workloads == {*order, *(name for names in order.values() for name in names)}
    assert depth("web") == 4


def depth(name: str) -> int:
    return 1 + max(map(depth, needs().get(name, ())), default=0)


def test_new_nodes_are_of_the_pools_that_the_shop_asks_for() -> None:
    for old, new in zip(OLD, NEW, strict=True):
        labels = [one["metadata"]["labels"]["local.shiplift.dev/pool"] for one in new.manifests()]
        assert labels == [old.name] * old.count
        assert msgspec.structs.replace(new, name=old.name, version=old.version, labels={}) == old
