"""An upgrade of which somebody else brings the nodes: a policy names a version, new nodes come, a shop moves
to them, and the old ones go. It ends with the report."""

from __future__ import annotations

from shiplift.demo import policing, shop
from shiplift.demo.plot import FROM, TARGET, ZONES, Hands, Play, Scene, Seen, is_open, never
from shiplift.demo.witness import MoveWitness
from shiplift.local.nodes import POOL_LABEL, Pool
from shiplift.upgrade.face.demo import Conducting

OLD = (
    Pool(name="general", count=4, version=FROM, zones=ZONES),
    Pool(name="data", count=2, version=FROM, zones=ZONES),
)
NEW = tuple(
    # of the same pool, as far as the shop is concerned
    Pool(
        name=f"{pool.name}-new", count=pool.count, version=TARGET, zones=ZONES, labels={POOL_LABEL: pool.name}
    )
    for pool in OLD
)


def _waits_for_nodes(seen: Seen) -> bool:
    acts = [one.act for one in seen.played]
    return any(isinstance(one, Conducting) and one.for_nodes for one in acts)


def _joined(seen: Seen) -> bool:
    ready = {node.name for node in seen.cluster.nodes if node.ready}
    return ready.issuperset(name for pool in NEW for name in pool.names())


def _left(seen: Seen) -> bool:
    return all(node.version == TARGET for node in seen.cluster.nodes) and seen.settled


def _join(hands: Hands) -> None:
    hands.nodes.add(*NEW)


def _leave(hands: Hands) -> None:
    hands.nodes.remove(*(name for pool in OLD for name in pool.names()))


def _witness() -> MoveWitness:
    return MoveWitness(shop.needs(), (name for pool in NEW for name in pool.names()))


OPENING = Scene("a small shop opens", is_open)
ASKING = Scene(f"a policy names {TARGET}", _waits_for_nodes, lambda hands: hands.start())
JOINING = Scene("new nodes join", _joined, _join)
MOVING = Scene("the operator moves the shop", lambda seen: seen.moved)
LEAVING = Scene("all have arrived; the old nodes leave", _left, _leave)
DONE = Scene("everything has moved", never)
PLAY = Play(
    layers=("upgrade", "workloads", "policy", "journal"),
    pools=OLD,
    sample=shop.manifests,
    scenes=(OPENING, ASKING, JOINING, MOVING, LEAVING, DONE),
    witness=_witness,
    failed="the shop did not move as it should",
    asked=policing.published,
    reported=True,
)
