"""The section of `shiplift status` on policies, from the UpgradeConfig."""

from __future__ import annotations

from shiplift.face.parts import Objects, StatusPart
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.policy.face import syncing_layout
from shiplift.policy.face.syncing import PolicyView, changes, policy_data, policy_view
from shiplift.view.section import Advice
from shiplift.view.values import Heard


def look(objects: Objects, now: int, _heard: Heard | None) -> PolicyView | None:
    return policy_view(objects(UPGRADE_CONFIG), now)


STATUS = StatusPart[PolicyView](
    reads=(UPGRADE_CONFIG,),
    look=look,
    changes=changes,
    picture=syncing_layout.policy,
    absent=Advice(
        "no policy has brought an UpgradeConfig",
        "docs/policy.md shows how a provider brings one; where one is set, ConfigMap shiplift-policy in the"
        " operator's namespace says what is wrong",
    ),
    done="it is what its policy says",
    unfinished=Advice("left before the policy was followed", "shiplift status --until-moved waits for it"),
    given_up=lambda view: Advice(f"policy {view.id} is gone", "docs/policy.md says when that happens"),
    data=policy_data,
)
