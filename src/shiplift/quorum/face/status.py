"""The section of `shiplift status` on quorum services, from the QuorumServices."""

from __future__ import annotations

from shiplift.face.parts import Objects, StatusPart
from shiplift.facts.kinds import QUORUM_SERVICE
from shiplift.quorum.face import services_layout
from shiplift.quorum.face.services import ServicesView, changes, services_view
from shiplift.quorum.face.services_data import services_data
from shiplift.view.section import Advice
from shiplift.view.values import Heard


def look(objects: Objects, now: int, heard: Heard | None) -> ServicesView | None:
    return services_view(objects(QUORUM_SERVICE), now, heard)


def given_up(view: ServicesView) -> Advice:
    return Advice(view.stalled or "a quorum service is not at its target", "a change of its spec tries again")


STATUS = StatusPart[ServicesView](
    reads=(QUORUM_SERVICE,),
    look=look,
    changes=changes,
    picture=services_layout.services,
    absent=Advice(
        "there is no QuorumService in this cluster",
        "kubectl apply -f service.yaml makes one, docs/quorum.md shows how",
    ),
    done="every quorum service runs what it should",
    unfinished=Advice(
        "left before every quorum service ran what it should", "shiplift status --until-moved waits for it"
    ),
    given_up=given_up,
    data=services_data,
)
