"""What this layer sees of a service, what it concludes, and the closed list of its reasons.

Where a swap is stands in two places and nowhere else: in what is written on the StatefulSets (`Swap`), and in
what each server says of itself. What was staged is only remembered: who leads next stages once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any

import msgspec

from shiplift.api.quorum import OnUnsupported, QuorumStep, QuorumStrategy
from shiplift.engine.conditions import Reason as AnyReason
from shiplift.engine.contested import Changes
from shiplift.engine.decision import Decision
from shiplift.engine.probes import Truth
from shiplift.engine.step import Outcomes, Started
from shiplift.quorum.engines.protocol import Told


class Reason(AnyReason):
    """Why a service is where it is."""

    AT_TARGET = "AtTarget"
    """Every server runs the version of the image."""
    PAUSED = "Paused"
    VALIDATING = "Validating"
    """The image is being pulled and checked."""
    UPDATING_STATEFUL_SETS = "UpdatingStatefulSets"
    STAGING = "Staging"
    SWITCHING = "Switching"
    RECREATING = "RecreatingPods"
    FINISHING = "Finishing"
    PUTTING_BACK = "PuttingBack"
    """Nothing was switched, and the StatefulSets become what they were."""
    WAITS_FOR_SERVERS = "WaitsForServers"
    """A server does not say its version, or does not serve yet."""
    WAITS_FOR_CANARY = "WaitsForCanary"
    """Objects cannot be written, read and deleted through every server."""
    MAY_NOT_STOP = "MayNotStop"
    """The service would lose its quorum without the next server."""
    REPLACING_RESTARTED = "ReplacingRestarted"
    """A container restarted with the old binary among new ones; its pod is made anew."""

    WAITS_FOR_UPGRADE = "WaitsForUpgrade"
    """The cluster is being upgraded; its turn comes after."""

    # refused: nothing is changed
    NO_STATEFUL_SET = "StatefulSetMissing"
    NO_CONTAINER = "ContainerMissing"
    MANAGED_ELSEWHERE = "ManagedElsewhere"
    SWAPPED_BY_ANOTHER = "SwappedByAnother"
    """Another QuorumService has marked a StatefulSet."""
    NAMED_TWICE = "NamedTwice"
    """An older QuorumService names one of its StatefulSets too."""
    IMAGE_REFUSED = "ImageRefused"
    """From a host that is not allowed, without signature, tampered with, broken."""
    RIGHTS_MISSING = "RightsMissing"
    """An administrator has not granted what a swap takes in this namespace."""
    SECRET_UNUSABLE = "SecretUnusable"  # noqa: S105 - a reason
    PLATFORMS_DIFFER = "PlatformsDiffer"
    """The pods run on nodes of different architectures: there is no one binary for all."""
    REHEARSING = "Rehearsing"
    """Servers are offered a file that nobody signed: they must be able to take one, and refuse this one."""
    REHEARSAL_FAILED = "RehearsalFailed"
    """A server cannot fetch from the operator, or cannot write beside its binary, or takes any file."""
    STEP_FAILED = "StepFailed"
    """What has to be done next is refused."""
    VERIFIED = "Verified"
    """Of the image: all that is checked holds."""
    PARTLY_VERIFIED = "PartlyVerified"
    """Of the image: what is checked holds, and something is not checked."""
    DOWNGRADE_REFUSED = "DowngradeRefused"
    BELOW_MINIMUM = "BelowMinimum"
    CANNOT_STAGE = "CannotStage"
    """What runs knows no dry run: it would take staging for switching."""
    UPDATES_OFF = "UpdatesSwitchedOff"
    ONE_PROCESSOR = "OneProcessor"
    """A server that uses one processor alone falls over when it is told to update."""
    HOSTS_DIFFER = "HostsDiffer"
    """The servers that the service names are not just the pods of its StatefulSets."""
    VERSIONS_DIFFER = "VersionsDiffer"
    """Before a swap, servers run different versions, and none was begun."""
    NOT_READY = "NotReady"
    PROXY_IN_THE_WAY = "ProxyInTheWay"
    """The pods would fetch the binary through a proxy, which does not know us."""
    KEY_DIFFERS = "KeyDiffers"
    """The pods trust another minisign key than the one that signed."""
    SAME_VERSION = "SameVersion"
    """Servers run that version already, and nothing proves that it is the same build."""
    STAGING_FAILED = "StagingFailed"
    SWITCH_FAILED = "SwitchFailed"
    """Servers were told to switch again and again, and all came back with the old binary."""


class Swap(msgspec.Struct, frozen=True):
    """What is written on a StatefulSet while it is swapped."""

    service: str
    target: str
    """The version that is swapped to."""
    image: str
    """With its digest."""
    before: str
    """The image of before."""
    held: bool
    """Whether its pods are held."""
    recreate: bool = False
    """Whether all pods are made anew at once: as it was decided when the swap began."""
    marked: bool = True
    """Whether that is written there; it is known from elsewhere where somebody took it off."""
    recorded: bool = False
    """Whether the status of the service has it, too."""
    container: str = ""
    """Whose image is swapped."""
    strategy: Mapping[str, Any] = {}
    """The update strategy of before."""


class Pool(msgspec.Struct, frozen=True):
    """A StatefulSet of the service."""

    name: str
    uid: str
    image: str
    """Of the container in its template."""
    on_delete: bool
    swap: Swap | None = None
    owner: str = ""
    """Who else manages it; empty where nobody does."""
    replicas: int = 0
    revision: str = ""
    """Of its template, as pods made from it carry it; empty where its controller has not seen it yet."""
    hold: str = ""
    """Which QuorumService its hold names."""


class Member(msgspec.Struct, frozen=True):
    """A pod of the service, and what its server says."""

    name: str
    uid: str
    pool: str
    image: str
    """Of its own container: what it starts with when it is made, not what it runs after a switch."""
    ready: bool
    leaving: bool
    told: Told | None = None
    """None where it is not known, or was told too long ago."""
    why_silent: str = ""
    sings: Truth = Truth.UNKNOWN
    may_stop: Truth = Truth.UNKNOWN
    minisign_key: str = ""
    """That its pod is started with; empty is the publisher's."""
    proxied: bool = False
    """Whether its pod would fetch the binary through a proxy."""
    trouble: str = ""
    """Why objects cannot be written through it, or why it may not stop."""
    revision: str = ""
    """Of the template that it was made from."""
    digest: str = ""
    """Of the image that its container was made from, as its kubelet says: it runs that until it switches."""
    misnamed: bool = False
    """It answers, and knows itself by another name than that of its pod."""


class Validity(Enum):
    """What is known of the image that is wanted."""

    UNKNOWN = "unknown"
    GOOD = "good"
    REFUSED = "refused"


class Candidate(msgspec.Struct, frozen=True):
    """The image that is being swapped to, or, where no swap is under way, the one that is wanted."""

    validity: Validity
    version: str = ""
    image: str = ""
    """With its digest."""
    message: str = ""
    """Why it is refused."""
    digest: str = ""
    """Of the image."""
    sha256: str = ""
    """Of the binary."""
    notes: tuple[str, ...] = ()
    """What was not checked, in words."""
    verified: datetime | None = None
    recalled: bool = False
    """A leader of before checked it, and only what the status has is known: enough for a service at rest."""


class Wanted(msgspec.Struct, frozen=True):
    """What the service's spec says."""

    image: str
    strategy: QuorumStrategy = QuorumStrategy.IN_PLACE
    on_unsupported: OnUnsupported = OnUnsupported.STOP
    allow_downgrade: bool = False
    minimum: str = ""
    minisign_key: str = ""
    paused: bool = False
    container: str = ""


class Order(msgspec.Struct, frozen=True):
    """How versions compare: all that a decision may ask an engine, asked beforehand."""

    ranks: Mapping[str, int]
    """Of every version in the view that is one; what is newer has more, and the same are equal."""
    can_stage: frozenset[str]
    """Versions whose servers can be given a binary without switching to it."""
    publisher: str = ""
    """The key that servers trust where none is named."""

    def newer(self, version: str, than: str) -> bool:
        return self.ranks[version] > self.ranks[than]

    def same(self, one: str, other: str) -> bool:
        known = one in self.ranks and other in self.ranks
        return self.ranks[one] == self.ranks[other] if known else one == other

    def stages(self, version: str) -> bool:
        return version in self.can_stage


class Line(msgspec.Struct, frozen=True):
    """A reason, in words."""

    reason: Reason
    message: str
    stalled: bool = False
    """Waiting will not help: a person has to act."""


class View(msgspec.Struct, frozen=True):
    """All that a decision depends on."""

    service: str
    wanted: Wanted
    pools: tuple[Pool, ...]
    missing: tuple[str, ...]
    """StatefulSets that are named and not there."""
    members: tuple[Member, ...]
    """All pods that there should be; one that is not there yet has no uid."""
    candidate: Candidate
    order: Order
    operation: Started | None = None
    """The record of what is under way, as it stands in the status."""
    staged: frozenset[str] = frozenset()
    """Uids of pods, all of which answered in this term that the binary of the swap is staged."""
    given_up: str = ""
    """Why this very spec was given up, as it stands in the status."""
    deleting: bool = False
    outcomes: Outcomes = Outcomes()
    rehearsed: frozenset[str] = frozenset()
    """Uids of pods, all of which showed in this term that they could take a binary of the candidate."""
    obstacle: Line | None = None
    """What keeps us from asking servers, or from doing what a swap takes."""
    uid: str = ""
    """Of the service."""
    kept: bool = True
    """Whether it has our finalizer: nothing is begun without."""
    upgrading: str = ""
    """Why the upgrade of the cluster comes first; empty where it does not."""
    switch_time: datetime | None = None
    """When servers were last told to switch, or were about to be, as it stands in the status."""
    switches: int | None = None
    """How often servers were told to switch in this swap, as the status has it; None where it does not."""
    changes: Changes = {}
    """What we changed under this spec in this term, and how often."""
    elder: str = ""
    """An older QuorumService that names one of the StatefulSets too."""
    others: frozenset[str] | None = None
    """The QuorumServices that there are beside it; None where nobody looked."""


class QuorumDecision(Decision, frozen=True, kw_only=True):
    """What follows from a view."""

    step: QuorumStep
    line: Line
    record: Started | None = None
    """What the status has to hold before the operation of the next round."""
    give_up: str = ""
    """What the status has to remember against this spec."""
    ends: bool = False
    """Whether the marks go next: what the status has of the StatefulSets goes before them."""
