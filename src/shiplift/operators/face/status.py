"""The section of `shiplift status` on operators, from AppTypes and catalogs."""

from __future__ import annotations

from shiplift.face.parts import Objects, StatusPart
from shiplift.facts.kinds import APP_TYPE, OPERATOR_CATALOG
from shiplift.operators.face import layout
from shiplift.operators.face.fleet import FleetView, changes, fleet_data, fleet_view
from shiplift.view.section import Advice
from shiplift.view.values import Heard


def look(objects: Objects, now: int, heard: Heard | None) -> FleetView | None:
    return fleet_view(objects(APP_TYPE), objects(OPERATOR_CATALOG), now, heard)


def given_up(_: FleetView) -> Advice:
    return Advice("operators are never given up", "shiplift status says what each waits for")


STATUS = StatusPart[FleetView](
    reads=(APP_TYPE, OPERATOR_CATALOG),
    look=look,
    changes=changes,
    picture=layout.fleet,
    absent=Advice("there is no AppType in this cluster", "docs/operators.md shows how to make one"),
    done="every operator runs",
    unfinished=Advice("left before every operator ran", "shiplift status --until-moved waits for it"),
    given_up=given_up,
    data=fleet_data,
)
