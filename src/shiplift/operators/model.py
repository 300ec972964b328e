"""What this layer sees, what it concludes, and the closed list of its reasons.

Seven loops and two helpers, each with keys of its own: a key that fails backs off alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from shiplift.api.hooks import JobState
from shiplift.api.operators import CrdFinding, RuleAction, Tombstone
from shiplift.api.values import Status
from shiplift.engine.conditions import Reason as AnyReason
from shiplift.engine.conditions import Status as Holds
from shiplift.engine.contested import Changes
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcomes, Step
from shiplift.facts.cluster import CustomResourceDefinition
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.workloads import Deployment
from shiplift.operators.catalog.model import Bundle, Catalog

Json = dict[str, Any]


class Loop(StrEnum):
    """The loops of this layer."""

    SOURCE = "source"
    """Reads catalogs; not one of the seed's."""
    APP_TYPE = "apptype"
    REQUIREMENT = "requirement"
    CRD = "crd"
    CATALOG = "catalog"
    INSTALL = "install"
    UPGRADE = "upgrade"
    COLLECT = "collect"
    USHER = "usher"
    """Wakes the others after a change that may matter to several."""


class Key(NamedTuple):
    """What a round is about."""

    loop: Loop
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.loop} {self.namespace}/{self.name}" if self.namespace else f"{self.loop} {self.name}"


class Reason(AnyReason):
    """Why something is where it is."""

    # catalogs
    READING = "Reading"
    READ = "Read"
    UNREADABLE = "Unreadable"
    """The catalog cannot be read; what was read before stays in use."""

    # which version
    NO_CATALOG = "NoCatalog"
    """No catalog that was read has the package."""
    NO_CHANNEL = "NoChannel"
    NO_VERSION = "NoVersion"
    """The version that is pinned, or any at all, is not in the catalog."""
    NOT_HERE = "NotHere"
    """No version of the channel runs on this version of Kubernetes, or can be installed at all."""
    NAME_TAKEN = "NameTaken"
    """An OperatorVersion of that name belongs to another AppType."""
    MAKING = "Making"
    MADE = "Made"
    NEEDS_APPROVAL = "NeedsApproval"
    PAUSED = "Paused"
    TURN = "Turn"
    """The cluster is being upgraded, and this operator's turn is still to come."""
    UP_TO_DATE = "UpToDate"
    PINNED = "Pinned"
    NO_WAY = "NoWay"
    """No way leads from the installed version to the head of the channel."""
    VETOED = "Vetoed"
    """The installed version says `Upgradeable: False`."""
    UPGRADING = "Upgrading"
    GOING_BACK = "GoingBack"
    UNINSTALLING = "Uninstalling"
    NOTHING_YET = "NothingYet"
    """There is no version yet."""

    # installation
    ORPHANED = "Orphaned"
    """Its AppType is gone: nobody says as whom it may be changed."""
    BEING_REPLACED = "BeingReplaced"
    NO_PAYLOAD = "NoPayload"
    """The manifests of the version cannot be had."""
    NOT_INSTALLABLE = "NotInstallable"
    NO_ACCOUNT = "NoAccount"
    """The operator may not act as the AppType's ServiceAccount."""
    NOT_ALLOWED = "NotAllowed"
    """The AppType's ServiceAccount may not do what the version takes."""
    REQUIREMENTS_NOT_MET = "RequirementsNotMet"
    OWNER_CONFLICT = "OwnerConflict"
    """Something that the version brings belongs to somebody else."""
    CHECKING_RIGHTS = "CheckingRights"
    CHECKING_CRDS = "CheckingCRDs"
    CRD_UNSAFE = "CRDUnsafe"
    """A CustomResourceDefinition would change in a way that its rules deny."""
    STORING_ANEW = "StoringAnew"
    """Objects are stored in another version before the one that they are stored in goes."""
    HOOK_RUNNING = "HookRunning"
    """The Job by which it prepares to take over has not succeeded yet."""
    HOOK_FAILED = "HookFailed"
    INSTALLING = "Installing"
    STOPPING_OLD = "StoppingOld"
    """The old operator ends before the new one begins."""
    WAITING_FOR_PODS = "WaitingForPods"
    INSTALLED = "Installed"
    REFUSED = "Refused"
    """The API server refuses what is tried."""

    # requirements
    PROVIDED = "Provided"
    PROVIDING = "Providing"
    NO_PROVIDER = "NoProvider"
    AMBIGUOUS_PROVIDER = "AmbiguousProvider"
    WRONG_CONTENT = "WrongContent"
    """The provider's definition is not the one that was pinned by its digest."""

    # taking over
    NOT_INSTALLED_YET = "NotInstalledYet"
    HANDING_OVER = "HandingOver"
    HANDED_OVER = "HandedOver"
    COLLECTING = "Collecting"
    REMOVING = "Removing"

    STALE_VIEW = "StaleView"
    """What we see may be old, so nothing is done."""


NEED_SOMEBODY = frozenset(
    {
        Reason.UNREADABLE,
        Reason.NO_CHANNEL,
        Reason.NO_VERSION,
        Reason.NOT_HERE,
        Reason.NAME_TAKEN,
        Reason.NEEDS_APPROVAL,
        Reason.NO_WAY,
        Reason.VETOED,
        Reason.ORPHANED,
        Reason.NOT_INSTALLABLE,
        Reason.NO_ACCOUNT,
        Reason.NOT_ALLOWED,
        Reason.OWNER_CONFLICT,
        Reason.CRD_UNSAFE,
        Reason.HOOK_FAILED,
        Reason.REFUSED,
        Reason.NO_PROVIDER,
        Reason.AMBIGUOUS_PROVIDER,
        Reason.WRONG_CONTENT,
    }
)
"""Reasons that time alone does not end."""


class About(StrEnum):
    """The conditions of our own, each stated by one loop."""

    RESOLVED = "Resolved"
    """Of an AppType: a version of it was found and made."""
    INSTALLED = "Installed"
    """Of an OperatorVersion: it runs. Of an AppType: its version does."""
    UP_TO_DATE = "UpToDate"
    PROVIDED = "RequirementsProvided"
    HANDED_OVER = "HandedOver"
    """Of an OperatorVersion: all that the one before it owned is its own."""
    COLLECTED = "Collected"
    """Of an OperatorVersion that is to go: what still keeps it."""


class Line(NamedTuple):
    """What one loop concludes."""

    reason: Reason
    message: str = ""
    holds: Holds = Holds.FALSE
    """Whether the loop's own condition holds."""
    steps: tuple[Step, ...] = ()
    due: timedelta | None = None
    """When to look again though nothing has happened."""


class Told(NamedTuple):
    """What the status of one object should become."""

    row: Custom
    status: Status


class Decided(Decision, frozen=True):
    """What follows: steps, what to tell, whom to wake."""

    told: tuple[Told, ...] = ()
    wake: tuple[Key, ...] = ()
    news: int = 0
    """Those of a catalog that are spread once all of this was told."""


# --- what is seen ---


ANSWERS_WITHIN = timedelta(minutes=2)
"""A catalog that is still being read after that cannot be read: whoever waits for it goes on without."""


MOST_GRAVES = 1000
"""So many AppTypes that somebody deleted a catalog remembers."""


class Held(msgspec.Struct, frozen=True):
    """A catalog that was read."""

    name: str
    priority: int
    catalog: Catalog
    paused: bool = False


class Reading(msgspec.Struct, frozen=True):
    """How far reading a catalog has come."""

    generation: int = 0
    """Of the spec that was read last."""
    taken: datetime | None = None
    ended: datetime | None = None
    pending: bool = False
    since: datetime | None = None
    """When what is pending began."""
    trouble: str = ""
    attempts: int = 0
    failures: int = 0
    """Attempts in a row that got nothing."""
    digest: str = ""
    catalog: Catalog | None = None
    news: int = 0
    """The attempt that read something other than before, until whoever goes by it was woken; else none."""


class SourceView(msgspec.Struct, frozen=True, kw_only=True):
    """One catalog."""

    row: Custom
    reading: Reading
    app_types: frozenset[tuple[str, str]] = frozenset()
    """Namespace and package of every AppType that nobody deletes."""
    buried: tuple[Tombstone, ...] = ()
    """What the other catalogs know of AppTypes that somebody deleted."""
    outcomes: Outcomes = Outcomes()


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """An AppType with all of its versions."""

    app: Custom | None = None
    versions: tuple[Custom, ...] = ()
    """In the order in which they were made."""
    going: bool = False
    """The namespace is being deleted."""
    stale: tuple[Kind, ...] = ()


class AppView(msgspec.Struct, frozen=True, kw_only=True):
    """What the loops of AppTypes and of catalogs look at."""

    site: Site
    held: tuple[Held, ...] = ()
    """The catalogs, that which counts first."""
    taken: frozenset[str] = frozenset()
    """Names of OperatorVersions of the namespace that belong to other AppTypes."""
    kubernetes: str = ""
    turn: str = ""
    """Why nothing new is begun while the cluster is upgraded; empty where it may be."""
    catalogs: tuple[Custom, ...] = ()
    reading: bool = False
    """Some catalog is being read for the first time in this term."""
    outcomes: Outcomes = Outcomes()
    changes: Changes = {}
    """What was changed of what somebody else may write too."""


class Live(msgspec.Struct, frozen=True):
    """An object as it is there now."""

    uid: str
    version: str
    owner_uid: str = ""
    """The OperatorVersion that it belongs to."""
    labelled: bool = True
    """It has the label by which it is found."""
    manifest: str = ""
    bundle: str = ""
    leaving: bool = False
    generation: int = 0
    other_selector: bool = False
    """Of a Deployment: it selects other pods, which cannot be changed."""
    storage: str = ""
    """Of a definition: the version in which objects are stored from now on."""
    stored: tuple[str, ...] = ()
    """Of a definition: the versions in which some may be stored."""
    served: tuple[str, ...] = ()
    """Of a definition: the versions that it serves."""
    altered: bool = False
    """Of a definition: somebody has changed what was made of its manifest."""


class Piece(msgspec.Struct, frozen=True):
    """An object that a version brings, and what is there of it."""

    kind: Kind
    namespace: str
    name: str
    manifest: Json
    digest: str
    live: Live | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Trouble(NamedTuple):
    """Why something cannot be looked at."""

    reason: Reason
    message: str


class Checked(NamedTuple):
    """What became of looking at the change of a definition; `trouble` where it could not be looked at."""

    findings: tuple[CrdFinding, ...] = ()
    trouble: str = ""
    old: bool = False
    """It was some time ago: objects may have come or changed since."""

    @property
    def denied(self) -> tuple[CrdFinding, ...]:
        return tuple(one for one in self.findings if one.action is RuleAction.DENY)


class Refused(NamedTuple):
    """An object that the API server would not take."""

    what: str
    why: str
    forbidden: bool = True
    """The account lacks a right; else nobody could make it so."""


class Tried(NamedTuple):
    """What became of trying out whether a version can be installed."""

    refused: tuple[Refused, ...] = ()
    old: bool = False
    """It was some time ago: rights may have come since."""


class Unasked(NamedTuple):
    """Why the AppType of who provides a definition could not be made; empty where it was."""

    why: str = ""
    old: bool = False
    """It was some time ago: nobody tries any more."""


class Job(NamedTuple):
    """The Job of a hook."""

    state: JobState
    message: str = ""


class Needed(NamedTuple):
    """A version of a definition that a running operator of another AppType requires."""

    version: str
    by: str


class InstallView(msgspec.Struct, frozen=True, kw_only=True):
    """What the installation of one version is decided from."""

    site: Site
    version: Custom
    bundle: Bundle | None = None
    pieces: tuple[Piece, ...] = ()
    trouble: Trouble | None = None
    kubernetes: str = ""
    deployments: Mapping[str, Deployment] = {}
    """Those of the namespace, by name."""
    ending: frozenset[str] = frozenset()
    """Names of Deployments of versions before it that are scaled to zero, and of which pods have not ended:
    nobody counts those as replicas."""
    unseen: Mapping[str, str] = {}
    """By name, those of versions before it that are there and that `deployments` lacks, with their version: a
    watch may be late."""
    crds: Mapping[str, CustomResourceDefinition] = {}
    altered: frozenset[str] = frozenset()
    """Names of definitions that are required with a certain content, and that somebody has changed."""
    packages: Mapping[str, tuple[str, ...]] = {}
    """The versions of each package that run somewhere."""
    alive: frozenset[str] = frozenset()
    """The uids of all OperatorVersions."""
    checked: Mapping[str, Checked] = {}
    """By name: definitions whose change was looked at, as they are now."""
    tried: Tried | None = None
    """None where nobody has tried yet to write what there is to write now."""
    inherits: frozenset[Kind] = frozenset()
    """The kinds of which the versions before it may own objects."""
    job: Job | None = None
    """Of the hook that has to succeed first, where there is one."""
    needed: Mapping[str, tuple[Needed, ...]] = {}
    """By name of a definition: what others go by."""
    outcomes: Outcomes = Outcomes()
    changes: Changes = {}
    """What was changed of what somebody else may write too."""


class Provider(NamedTuple):
    """A package whose newest version owns a definition."""

    catalog: str
    package: str
    bundle: str
    payload: str


class RequirementView(msgspec.Struct, frozen=True, kw_only=True):
    """What a pending version misses, and who has it."""

    site: Site
    version: Custom
    crds: Mapping[str, CustomResourceDefinition] = {}
    providers: Mapping[str, tuple[Provider, ...]] = {}
    """By name of a definition that is missing."""
    unasked: Mapping[str, Unasked] = {}
    """By name of a definition that was made: of those whose provider was asked for."""
    outcomes: Outcomes = Outcomes()
    changes: Changes = {}
    """What was changed of what somebody else may write too."""


class CrdView(msgspec.Struct, frozen=True, kw_only=True):
    """A definition that was made because somebody requires it."""

    name: str
    row: CustomResourceDefinition | None = None
    needed_by: tuple[Site, ...] = ()
    """The AppTypes of which a version requires it."""
    providers: tuple[Provider, ...] = ()
    app_types: frozenset[tuple[str, str]] = frozenset()
    """Namespace and package of every AppType."""
    names: frozenset[tuple[str, str]] = frozenset()
    """Namespace and name of every AppType."""
    buried: frozenset[tuple[str, str]] = frozenset()
    """Namespace and package of AppTypes that somebody deleted."""
    outcomes: Outcomes = Outcomes()
    changes: Changes = {}
    """What was changed of what somebody else may write too."""


class Owned(msgspec.Struct, frozen=True):
    """An object that says that it belongs to a version."""

    kind: Kind
    meta: Json
    bundle: str = ""

    @property
    def leaving(self) -> bool:
        return "deletionTimestamp" in self.meta

    @property
    def about(self) -> str:
        name, where = self.meta["name"], self.meta.get("namespace", "")
        return f"{self.kind} {where}/{name}" if where else f"{self.kind} {name}"


class OwnedView(msgspec.Struct, frozen=True, kw_only=True):
    """What the loops of upgrade and collection look at."""

    site: Site
    version: Custom
    owned: Mapping[str, tuple[Owned, ...]] = {}
    """By uid of the version that it belongs to, or is referred to by."""
    brings: frozenset[tuple[str, str, str]] = frozenset()
    """Kind, namespace and name of what the version itself is made of."""
    kinds: frozenset[Kind] | None = None
    """The kinds by which what it owns is looked for; None where nobody has looked."""
    trouble: Trouble | None = None
    outcomes: Outcomes = Outcomes()
    changes: Changes = {}
    """What was changed of what somebody else may write too."""


class UsherView(msgspec.Struct, frozen=True):
    """Whom to wake."""

    keys: tuple[Key, ...] = ()


class NothingView(msgspec.Struct, frozen=True):
    """What the key was about is gone."""


View = SourceView | AppView | InstallView | RequirementView | CrdView | OwnedView | UsherView | NothingView
