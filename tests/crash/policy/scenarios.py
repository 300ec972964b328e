"""What the provider says and what others do meanwhile, act by act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.crash import suite
from tests.crash.outside import Upstream
from tests.crash.plans import Failure, Fault, Spot
from tests.policy.views import over

Json = dict[str, Any]
NAME = "policies"
OUTSIDE = (Upstream(NAME, "POLICIES", trust="POLICIES_TRUST"),)
FIRST, SECOND, THIRD = "v1.36.1", "v1.36.2", "v1.36.3"
AT = "2030-11-20T02:00:00Z"
NONE: Json = {"policies": []}


def said(version: str, **more: Any) -> Json:
    return {"id": version, "desired": {"version": version}, **more}


def outside(version: str, **more: Any) -> Json:
    """Of an upgrade that others do."""
    return said(version, type="External", **more)


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
    notify: bool = False
    """A user names a webhook that is to be told."""
    heard: tuple[str, ...] = ()
    """What the webhook has heard, repetitions left out."""


class Scenario(suite.Scenario, frozen=True, kw_only=True):
    """One way of an UpgradeConfig."""

    acts: tuple[Act, ...]
    ocm: bool = False
    by_hand: bool = False
    """There is an UpgradeConfig at the start that somebody made."""

    @property
    def conducted(self) -> bool:
        """Whether the conductor is there, and nobody plays it."""
        return "upgrade" in self.layers


VERSION, PAUSED = "spec.desired.version", "spec.paused"
QUEUED, LOST = "status.policy.queued.desired.version", "status.policy.lost"
PHASE, HERE = "status.phase", "v1.36"
ID = "status.policy.id"
"""What is told last: a run is over when it is."""
REFRESHED = "metadata.annotations.policy.shiplift.dev/refreshed"
PROVIDER = "metadata.labels.shiplift.dev/policy-provider"
RUNNING = {"startTime": AT, "phase": "Upgrading", "targetVersion": FIRST}
_ENTRY = {"version": FIRST, "phase": "Upgraded", "startTime": AT, "completeTime": "2030-11-20T03:00:00Z"}
THROUGH = {"startTime": AT, "phase": "Upgraded", "targetVersion": None, "history": [_ENTRY]}
OVER = (("u-1", "started"), ("u-1", "completed"))

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
            Act(says=said(THIRD), until={VERSION: THIRD, QUEUED: None, ID: THIRD}),
        ),
    ),
    Scenario(
        name="about-to-start",
        outside=OUTSIDE,
        acts=(
            Act(says=said(FIRST), until={VERSION: FIRST}),
            Act(says=said(SECOND), wish="a", until={REFRESHED: "a", VERSION: SECOND}),
            Act(says=said(THIRD), wish="b", until={REFRESHED: "b", VERSION: THIRD, ID: THIRD}),
        ),
    ),
    Scenario(
        name="made-by-hand",
        outside=OUTSIDE,
        by_hand=True,
        acts=(
            Act(says=said(SECOND), until={"status.policy.provider": "HTTP", VERSION: FIRST}),
            Act(delete=True, until={VERSION: SECOND, PROVIDER: "HTTP", ID: SECOND}),
        ),
    ),
    Scenario(
        name="told",
        outside=OUTSIDE,
        layers=("policy", "journal", "notify"),
        # what a webhook refuses for good is not sent again
        meant=(Fault(Spot("policies: POST hook"), Failure.CONFLICT),),
        acts=(
            Act(says=said(FIRST), until={VERSION: FIRST}),
            Act(notify=True),
            Act(status=RUNNING, heard=("started",)),
            Act(status=THROUGH, heard=("started", "upgraded")),
        ),
    ),
    Scenario(
        name="conducted",
        outside=OUTSIDE,
        layers=("policy", "upgrade"),
        # of a minor that the cluster has, an upgrade is over when it begins; of the next, it waits for others
        acts=(
            Act(says=outside("v1.37", upgradeAt=AT), until={VERSION: "v1.37", "spec.upgradeAt": AT}),
            Act(says=outside(HERE), until={VERSION: HERE, PHASE: "Upgraded", ID: HERE}),
            Act(says=outside("v1.37"), until={VERSION: "v1.37", PHASE: "Upgrading"}),
            Act(says=outside("v1.38"), until={VERSION: "v1.37", QUEUED: "v1.38"}),
            Act(says=NONE, until={VERSION: "v1.37", LOST: True}),
            Act(spec={"abort": True}, until={VERSION: "v1.37", PHASE: "Failed", LOST: False}),
        ),
    ),
    Scenario(
        name="ocm",
        outside=OUTSIDE,
        # a report that OCM refuses for good is not sent again
        meant=(Fault(Spot("policies: PATCH api"), Failure.CONFLICT),),
        ocm=True,
        acts=(
            Act(offers=(("u-1", "4.20.1"),), until={VERSION: "4.20.1"}),
            Act(
                status={"startTime": AT, "phase": "Upgrading", "targetVersion": "4.20.1"},
                told=(("u-1", "started"),),
            ),
            Act(status=over("4.20.1"), told=OVER),
            Act(spec={"paused": True}, until={PAUSED: True}, told=OVER),
            Act(spec={"paused": False}, until={PAUSED: False}, told=OVER),
            Act(offers=(("u-2", "4.20.2"),), until={VERSION: "4.20.2", ID: "u-2"}),
        ),
    ),
)
