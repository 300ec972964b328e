"""The section of `shiplift status` on rollouts, from the NodeRollouts."""

from __future__ import annotations

from shiplift.face.parts import Objects, StatusPart
from shiplift.facts.kinds import NODE_ROLLOUT
from shiplift.nodes.face import rollouts_layout
from shiplift.nodes.face.rollouts import RolloutsView, changes, rollouts_view
from shiplift.nodes.face.rollouts_data import rollouts_data
from shiplift.view.section import Advice
from shiplift.view.values import Heard


def look(objects: Objects, now: int, heard: Heard | None) -> RolloutsView | None:
    return rollouts_view(objects(NODE_ROLLOUT), now, heard)


def given_up(view: RolloutsView) -> Advice:
    name = next(one.name for one in view.rollouts if one.arrival is view.arrival)
    return Advice(
        f"NodeRollout {name} was aborted: nodes stay as they are", "make a new NodeRollout to go on"
    )


STATUS = StatusPart[RolloutsView](
    reads=(NODE_ROLLOUT,),
    look=look,
    changes=changes,
    picture=rollouts_layout.rollouts,
    absent=Advice(
        "there is no NodeRollout in this cluster",
        "kubectl apply -f rollout.yaml makes one, docs/nodes.md shows how",
    ),
    done="every node runs what it should",
    unfinished=Advice(
        "left before every node ran what it should", "shiplift status --until-moved waits for it"
    ),
    given_up=given_up,
    data=rollouts_data,
)
