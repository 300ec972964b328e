"""What the provider says and what others do meanwhile, act by act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.crash import suite
from tests.crash.outside import Upstream
from tests.policy.views import over

Json = dict[str, Any]
NAME = "policies"
OUTSIDE = (Upstream(NAME, "POLICIES", trust="POLICIES_TRUST"),)
FIRST, SECOND, THIRD = "v1.36.1", "v1.36.2", "v1.36.3"
AT = "2030-11-20T02:00:00Z"
NONE: Json = {"policies": []}


def said(version: str, **more: Any) -> Json:
    return {"id": version, "desired": {"version": version}, **more}


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """What is done at its beginning, and what is true at its end."""

    says: Json | None = None
    """The document that the provider has from now on."""
    offers: tuple[tuple[str, str], ...] | None = None
    """The policies of OCM from now on: id and version."""
    wish: str = ""
    """Somebody is about to start: the provider is to be asked once more."""
    status: Json = {}
    """What the conductor writes."""
    spec: Json = {}
    """What a user writes."""
    delete: bool = False
    """A user deletes the UpgradeConfig."""
    until: Mapping[str, Any] = {}
    """Fields of the UpgradeConfig, by path with dots; `gone` where there must be none."""
    told: tuple[tuple[str, str], ...] = ()
    """What OCM has heard, repetitions left out."""


class Scenario(suite.Scenario, frozen=True, kw_only=True):
    """One way of an UpgradeConfig."""

    acts: tuple[Act, ...]
    ocm: bool = False
    by_hand: bool = False
    """There is an UpgradeConfig at the start that somebody made."""


VERSION, PAUSED = "spec.desired.version", "spec.paused"
QUEUED, LOST = "status.policy.queued.desired.version", "status.policy.lost"
REFRESHED = "metadata.annotations.policy.shiplift.dev/refreshed"
PROVIDER = "metadata.labels.shiplift.dev/policy-provider"
RUNNING = {"startTime": AT, "phase": "Upgrading", "targetVersion": FIRST}

ALL: tuple[Scenario, ...] = (
    Scenario(
        name="comes-and-goes",
        outside=OUTSIDE,
        acts=(
            Act(says=said(FIRST, upgradeAt=AT), until={VERSION: FIRST, "spec.upgradeAt": AT}),
            Act(spec={"paused": True}, says=said(FIRST), until={PAUSED: True, "spec.upgradeAt": None}),
            Act(says=said(SECOND), until={VERSION: SECOND, PAUSED: True}),
            Act(says=NONE, until={"gone": True}),
        ),
    ),
    Scenario(
        name="while-it-runs",
        outside=OUTSIDE,
        acts=(
            Act(says=said(FIRST), until={VERSION: FIRST}),
            Act(status=RUNNING, says=said(SECOND), until={QUEUED: SECOND, VERSION: FIRST}),
            Act(says=NONE, until={LOST: True, VERSION: FIRST}),
            Act(status=over(FIRST), until={LOST: False, VERSION: FIRST}),
            Act(says=said(THIRD), until={VERSION: THIRD, QUEUED: None}),
        ),
    ),
    Scenario(
        name="about-to-start",
        outside=OUTSIDE,
        acts=(
            Act(says=said(FIRST), until={VERSION: FIRST}),
            Act(says=said(SECOND), wish="a", until={REFRESHED: "a", VERSION: SECOND}),
            Act(says=said(THIRD), wish="b", until={REFRESHED: "b", VERSION: THIRD}),
        ),
    ),
    Scenario(
        name="made-by-hand",
        outside=OUTSIDE,
        by_hand=True,
        acts=(
            Act(says=said(SECOND), until={"status.policy.provider": "HTTP", VERSION: FIRST}),
            Act(delete=True, until={VERSION: SECOND, PROVIDER: "HTTP"}),
        ),
    ),
    Scenario(
        name="ocm",
        outside=OUTSIDE,
        ocm=True,
        acts=(
            Act(offers=(("u-1", "4.20.1"),), until={VERSION: "4.20.1"}),
            Act(
                status={"startTime": AT, "phase": "Upgrading", "targetVersion": "4.20.1"},
                told=(("u-1", "started"),),
            ),
            Act(status=over("4.20.1"), told=(("u-1", "started"), ("u-1", "completed"))),
            Act(offers=(("u-2", "4.20.2"),), until={VERSION: "4.20.2"}),
        ),
    ),
)
