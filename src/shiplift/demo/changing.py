"""The play of the layer nodes: every node is changed in place, while the shop runs on them.

Of each pool there are two nodes in each zone: what one of them runs has somewhere to go, also where the other
zone's node is away too.
"""

from __future__ import annotations

from shiplift.demo import shop
from shiplift.demo.node_witness import NodeWitness
from shiplift.demo.plot import FROM, TARGET, ZONES, Play, Scene, Seen, is_open, never
from shiplift.facts.nodes import CONTROL_PLANE
from shiplift.local.nodes import Pool
from shiplift.nodes.face.demo import MOST_AWAY

_ROLE = CONTROL_PLANE[0]
POOLS = (
    Pool(
        name="control-plane",
        version=FROM,
        zones=(*ZONES, "zone-c"),
        labels={_ROLE: ""},
        taints=({"key": _ROLE, "effect": "NoSchedule"},),
    ),
    Pool(name="general", count=4, version=FROM, zones=ZONES),
    Pool(name="data", count=4, version=FROM, zones=ZONES),
)


def _changed(seen: Seen) -> bool:
    every = all(node.version == TARGET and not node.cordoned for node in seen.cluster.nodes)
    return every and seen.moved and seen.settled


OPENING = Scene("a small shop opens", is_open)
CHANGING = Scene(
    "the operator changes the nodes in place, the control plane first", _changed, lambda hands: hands.start()
)
DONE = Scene(f"every node runs {TARGET}", never)
PLAY = Play(
    layers=("nodes",),
    pools=POOLS,
    sample=shop.without_order,
    scenes=(OPENING, CHANGING, DONE),
    witness=lambda: NodeWitness(FROM, TARGET, MOST_AWAY),
    failed="the nodes were not changed as they should be",
    agents=True,
)
