"""The section of `shiplift status` on the move of workloads, from the one WorkloadMigration."""

from __future__ import annotations

from collections.abc import Iterable

from shiplift.api.workloads import WorkloadMigration
from shiplift.face.parts import Objects, StatusPart
from shiplift.facts.kinds import WORKLOAD_MIGRATION
from shiplift.facts.nodes import Node
from shiplift.view.section import Advice
from shiplift.view.values import Heard
from shiplift.workloads.face import migration_layout
from shiplift.workloads.face.arrival import contradicted as by_nodes
from shiplift.workloads.face.migration import MigrationView, Phase, changes, migration_view
from shiplift.workloads.face.migration_data import migration_data
from shiplift.workloads.face.words import HOW_TO_BEGIN, HOW_TO_GO_ON, NO_MIGRATION


def look(objects: Objects, now: int, heard: Heard | None) -> MigrationView | None:
    found: WorkloadMigration | None = next(iter(objects(WORKLOAD_MIGRATION)), None)
    return migration_view(found, now, heard) if found else None


def contradicted(objects: Objects, nodes: Iterable[Node]) -> str:
    found: WorkloadMigration | None = next(iter(objects(WORKLOAD_MIGRATION)), None)
    return by_nodes(found, nodes) if found else ""


def given_up(view: MigrationView) -> Advice:
    if view.phase in (Phase.REFUSED, Phase.PAUSED):
        return Advice(view.stalled, "shiplift wait waits for it again, once that is done")
    return Advice(f"{view.title}: workloads stay where they are", HOW_TO_GO_ON)


STATUS = StatusPart[MigrationView](
    reads=(WORKLOAD_MIGRATION,),
    look=look,
    changes=changes,
    picture=migration_layout.migration,
    absent=Advice(NO_MIGRATION, HOW_TO_BEGIN),
    done="every workload is on nodes of the target",
    unfinished=Advice("left before every workload had moved", "shiplift status --until-moved waits for it"),
    given_up=given_up,
    data=migration_data,
    contradicted=contradicted,
)
