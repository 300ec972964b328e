"""The section of `shiplift status` on machines, from MachinePools alone."""

from __future__ import annotations

from shiplift.face.parts import Objects, StatusPart
from shiplift.facts.kinds import MACHINE_POOL
from shiplift.machines.face import layout
from shiplift.machines.face.fleet import FleetView, changes, fleet_data, fleet_view
from shiplift.view.section import Advice
from shiplift.view.values import Heard


def look(objects: Objects, now: int, heard: Heard | None) -> FleetView | None:
    return fleet_view(objects(MACHINE_POOL), now, heard)


def given_up(_: FleetView) -> Advice:
    return Advice("pools are never given up", "shiplift status says what each waits for")


STATUS = StatusPart[FleetView](
    reads=(MACHINE_POOL,),
    look=look,
    changes=changes,
    picture=layout.fleet,
    absent=Advice("there is no MachinePool in this cluster", "docs/pools.md shows how to make one"),
    done="every pool has its machines",
    unfinished=Advice(
        "left before every pool had its machines", "shiplift status --until-moved waits for it"
    ),
    given_up=given_up,
    data=fleet_data,
)
