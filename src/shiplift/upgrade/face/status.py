"""The section of `shiplift status` on the upgrade, from the UpgradeConfig."""

from __future__ import annotations

from shiplift.face.parts import Objects, StatusPart
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.upgrade.face import upgrading_layout
from shiplift.upgrade.face.upgrading import UpgradeView, changes, upgrade_view
from shiplift.upgrade.face.upgrading_data import upgrade_data
from shiplift.view.section import Advice
from shiplift.view.values import Heard


def look(objects: Objects, now: int, heard: Heard | None) -> UpgradeView | None:
    return upgrade_view(objects(UPGRADE_CONFIG), now, heard)


def given_up(view: UpgradeView) -> Advice:
    return Advice(
        f"the upgrade to {view.target} was aborted: what was upgraded stays so",
        "give the UpgradeConfig another desired version to go on",
    )


STATUS = StatusPart[UpgradeView](
    reads=(UPGRADE_CONFIG,),
    look=look,
    changes=changes,
    picture=upgrading_layout.upgrade,
    absent=Advice(
        "there is no UpgradeConfig in this cluster",
        "shiplift upgrade --to VERSION begins an upgrade",
    ),
    done="the cluster is upgraded",
    unfinished=Advice("left before the cluster was upgraded", "shiplift status --until-moved waits for it"),
    given_up=given_up,
    data=upgrade_data,
    conducts=True,
)
