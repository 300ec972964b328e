"""`UpgradeConfig`: the one object that says which version a cluster should have, and when."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from shiplift.api.base import ONLY_ONE, TEXTS, Column, Resource, Rule, Value, immutable, same_version
from shiplift.api.nodes import NodePolicy
from shiplift.api.values import (
    Approval,
    Condition,
    Count,
    Digest,
    DnsLabel,
    Duration,
    Estimate,
    Hook,
    LabelMap,
    Line,
    Message,
    Progress,
    Reason,
    SecretKey,
    Status,
    Time,
    Url,
    Version,
    VersionOrMinor,
    Window,
    keyed,
    ordered,
)
from shiplift.api.workloads import WorkloadPolicy
from shiplift.facts import kinds


class UpgradeType(StrEnum):
    """Who changes the control plane and the nodes."""

    KUBEADM = "Kubeadm"
    OPENSHIFT = "OpenShift"
    EXTERNAL = "External"


class PolicyLost(StrEnum):
    """What a running upgrade does when its policy is gone."""

    FINISH = "Finish"
    PAUSE = "Pause"


class Verb(StrEnum):
    """What a person can ask of an upgrade."""

    PAUSE = "Pause"
    RESUME = "Resume"
    ABORT = "Abort"
    RETRY = "Retry"
    APPROVE = "Approve"


class UpgradePhase(StrEnum):
    """One word for where an upgrade is; derived from its conditions."""

    NEW = "New"
    PENDING = "Pending"
    UPGRADING = "Upgrading"
    UPGRADED = "Upgraded"
    FAILED = "Failed"


class NotifyType(StrEnum):
    """How somebody is told."""

    WEBHOOK = "Webhook"
    ALERTMANAGER = "Alertmanager"


class Severity(StrEnum):
    """How much a finding matters."""

    BLOCKER = "Blocker"
    WARNING = "Warning"
    INFO = "Info"


class Desired(Value, frozen=True, kw_only=True):
    """What the cluster should become."""

    RULES = (Rule("has(self.version) || has(self.channel)", "version or channel must be given"),)

    version: VersionOrMinor | None = None
    """The version: `v1.36.3`, for OpenShift `4.20.1`; with type External a minor will do: `1.36`."""
    channel: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9.-]+$")] | None = None
    """The update channel, OpenShift only: `stable-4.20`."""


class Granted(Value, frozen=True, kw_only=True):
    """An approval; it counts for this version and this plan only."""

    version: VersionOrMinor
    """The version that was approved."""
    plan_digest: Digest
    """The `status.plan.digest` that was approved; a plan that does something else needs a new approval."""
    by: Line
    """Who approved: the user's own name, as the API server knows it."""
    reason: Message = ""
    """Why."""
    at: Time | None = None
    """When."""


class Request(Value, frozen=True, kw_only=True):
    """Who asked for something last, and why."""

    verb: Verb
    """What was asked."""
    by: Line
    """Who asked."""
    reason: Message = ""
    """Why."""
    at: Time | None = None
    """When."""


class Notify(Value, frozen=True, kw_only=True):
    """Somebody who is told; telling never holds up an upgrade."""

    RULES = (
        Rule(
            "!has(self.token) || self.url.startsWith('https://')",
            "url must begin with https:// where a token is sent",
            ".url",
        ),
    )

    name: DnsLabel
    """Names this entry."""
    url: Url
    """Where it is sent: a webhook gets CloudEvents, an Alertmanager gets silences."""
    type: NotifyType = NotifyType.WEBHOOK
    """How it is sent."""
    token: SecretKey | None = None
    """A bearer token to send with it, over https only: in a Secret of the operator's namespace."""
    matchers: LabelMap = field(default_factory=TEXTS)
    """Type Alertmanager: labels that an alert must have to be silenced, besides the severity `warning` or
    `info`; such as the name of the cluster, where several share one Alertmanager."""


class Strategy(Value, frozen=True, kw_only=True):
    """How carefully the layers go about it; handed on to them as it is."""

    nodes: NodePolicy = NodePolicy()
    """For the rollouts of node software."""
    workloads: WorkloadPolicy = WorkloadPolicy()
    """For moving the workloads."""


class UpgradeConfigSpec(Value, frozen=True, kw_only=True):
    """What is wanted, and when."""

    RULES = (
        immutable("type"),
        Rule(
            "self.type == 'OpenShift' || has(self.desired.version)",
            "desired.version must be given unless type is OpenShift",
            ".desired",
        ),
        Rule(
            "self.type == 'OpenShift' || !has(self.desired.channel)",
            "desired.channel goes with type OpenShift only",
            ".desired",
        ),
        Rule(
            "self.type == 'External' || !has(self.desired.version)"
            r" || self.desired.version.matches('^v?[0-9]+\\.[0-9]+\\.')",
            "desired.version must be whole, such as v1.36.3: a minor goes with type External only",
            ".desired",
        ),
        Rule(
            "!has(self.PDBForceDrainTimeout)"
            " || !(has(self.strategy.nodes.drainTimeout) || has(self.strategy.nodes.onBlocked))",
            "PDBForceDrainTimeout sets drainTimeout and onBlocked of strategy.nodes: give it or those",
            ".PDBForceDrainTimeout",
        ),
        Rule(
            "!has(self.startDeadline) || has(self.upgradeAt)",
            "startDeadline counts from upgradeAt, which is not given",
            ".startDeadline",
        ),
        Rule(
            f"!oldSelf.abort || self.abort || !{same_version('desired.version')}",
            "abort cannot be withdrawn; give a new desired version instead",
            ".abort",
        ),
        Rule("self.retry >= oldSelf.retry", "retry can only be raised", ".retry"),
    )

    desired: Desired
    """What the cluster should become."""
    type: UpgradeType = UpgradeType.KUBEADM
    """`Kubeadm` drives shiplift's own layers; `OpenShift` asks the cluster-version operator; with `External`
    somebody else changes control plane and nodes, and shiplift moves what runs on them."""
    upgrade_at: Time | None = None
    """Not before this time; absent means at once."""
    start_deadline: Duration | None = None
    """How long after `upgradeAt` it may still start."""
    pdb_force_drain_timeout: Annotated[int, Meta(ge=0, le=10080)] | None = field(
        name="PDBForceDrainTimeout", default=None
    )
    """Minutes after which a drain stops respecting PodDisruptionBudgets; absent means never. The same as
    `drainTimeout` with `onBlocked: Force` in `strategy.nodes`, so only one of the two can be given."""
    capacity_reservation: bool = False
    """A machine more in each worker pool for the time of the upgrade. No pool of this release grows: it is
    told (`CAPACITY`) and passed over."""
    windows: Annotated[tuple[Window, ...], ordered(most=32)] = ()
    """When changes may be made; none means always."""
    approval: Approval = Approval.AUTOMATIC
    """`Manual` waits for `approved` after the plan was made."""
    approved: Granted | None = None
    """The approval, bound to a version and a plan."""
    paused: bool = False
    """Finish what is in flight and start nothing."""
    abort: bool = False
    """Stop at the next safe point and clean up."""
    retry: Annotated[int, Meta(ge=0, le=10000)] = 0
    """Raise it to try again after a failure."""
    requests: Annotated[tuple[Request, ...], keyed("verb", most=5)] = ()
    """Who last paused, resumed, aborted, retried or approved, and why."""
    strategy: Strategy = Strategy()
    """How carefully the layers go about it."""
    on_policy_lost: PolicyLost = PolicyLost.FINISH
    """What a running upgrade does when the provider has no policy any more."""
    notify: Annotated[tuple[Notify, ...], keyed("name", most=16)] = ()
    """Who is told."""
    turn_hook: Hook | None = None
    """Type External: a Job that tells whoever changes control plane or nodes that it is their turn, once for
    each turn; nothing waits for it."""


class Plan(Value, frozen=True, kw_only=True):
    """What is going to happen; an approval is given to this."""

    digest: Digest
    """Of what it would do: path, steps, settings, images, operator targets; never of how many nodes or pods
    there are. So an approval, a pause or a retry leaves it as it is."""
    version: VersionOrMinor
    """Where it ends."""
    path: Annotated[tuple[VersionOrMinor, ...], ordered(most=32)] = ()
    """Every version of the control plane on the way."""
    creation_time: Time | None = None
    """When it was made."""
    summary: Message = ""
    """The plan in one line."""


class Finding(Value, frozen=True, kw_only=True):
    """What one preflight check found."""

    code: Annotated[str, Meta(min_length=1, max_length=32, pattern=r"^[A-Z0-9]+$")]
    """The stable code of the check."""
    severity: Severity
    """How much it matters."""
    message: Message
    """What is wrong."""
    evidence: Message = ""
    """What was seen: the answer, the number, the field."""
    owner: Line = ""
    """Who can mend it: the manager of the field, or whose object it is."""
    hint: Message = ""
    """What would help."""
    objects: Annotated[tuple[Line, ...], ordered(most=32)] = ()
    """The first of the objects concerned."""


class Queued(Value, frozen=True, kw_only=True):
    """A later policy, which waits for the running upgrade."""

    desired: Desired
    """What the cluster should become then."""
    upgrade_at: Time | None = None
    """When it wants to start."""


class Policy(Value, frozen=True, kw_only=True):
    """Where the spec came from."""

    provider: Line
    """The provider: OCM, HTTP or Local."""
    id: Line = ""
    """The policy's id with its provider."""
    last_sync_time: Time | None = None
    """When the provider was last asked with success."""
    message: Message = ""
    """Why it cannot be asked now."""
    queued: Queued | None = None
    """A later policy, which waits for the running upgrade."""
    lost: bool = False
    """The provider has no policy any more, and the upgrade runs: `onPolicyLost` says what it does then."""


class TurnOf(StrEnum):
    """Whose move it is in an upgrade of type External."""

    CONTROL_PLANE = "ControlPlane"
    NODES = "Nodes"
    OURS = "Ours"

    @property
    def words(self) -> str:
        """As people say it."""
        return _TURNS[self]


_TURNS = {
    TurnOf.CONTROL_PLANE: "the turn of whoever upgrades the control plane",
    TurnOf.NODES: "the turn of whoever adds nodes",
    TurnOf.OURS: "our turn",
}


class UpgradeTurn(Value, frozen=True, kw_only=True):
    """Whose move it is: with `ControlPlane` and `Nodes` somebody else's."""

    of: TurnOf
    """Whose."""
    since: Time
    """Since when."""
    pools: Annotated[tuple[Line, ...], ordered(most=64)] = ()
    """The pools that have nodes of an older version, by name."""


class HistoryEntry(Value, frozen=True, kw_only=True):
    """One upgrade, running or over."""

    version: VersionOrMinor
    """Where it went."""
    phase: UpgradePhase
    """How it went."""
    preceding_version: Version | None = None
    """Where it came from."""
    start_time: Time | None = None
    """When it started."""
    complete_time: Time | None = None
    """When it was over."""
    worker_start_time: Time | None = None
    """When the first worker node was begun."""
    worker_complete_time: Time | None = None
    """When the last worker node was done."""
    conditions: Annotated[tuple[Condition, ...], keyed("type", most=64)] = ()
    """Its conditions as they were at its end."""


class UpgradeConfigStatus(Status, frozen=True, kw_only=True):
    """Where the upgrade is."""

    phase: UpgradePhase | None = None
    """One word, derived from the conditions."""
    reason: Reason | None = None
    """The reason of the condition that matters most now."""
    message: Message = ""
    """What it is doing or waiting for, in one line."""
    current_version: Version | None = None
    """What the cluster runs now."""
    target_version: VersionOrMinor | None = None
    """Where the running upgrade goes; frozen once it has started."""
    start_time: Time | None = None
    """When the upgrade that runs, or the last one, started; absent while a new one waits for its start."""
    retried: Count = 0
    """The last `spec.retry` that was acted upon."""
    plan: Plan | None = None
    """What is going to happen."""
    findings: Annotated[tuple[Finding, ...], keyed("code", most=100)] = ()
    """What preflight found, worst first."""
    nodes: Progress = Progress()
    """Nodes that run the target version."""
    workloads: Progress = Progress()
    """Workloads that were moved."""
    eta: Estimate | None = None
    """When it is expected to end."""
    turn: UpgradeTurn | None = None
    """Whose move it is, while an upgrade of type External runs."""
    policy: Policy | None = None
    """Where the spec came from."""
    history: Annotated[tuple[HistoryEntry, ...], ordered(most=32)] = ()
    """Upgrades, the newest first."""


class UpgradeConfig(Resource, frozen=True, kw_only=True):
    """The upgrade of this cluster: which version, when and how. There is one, named `cluster`."""

    KIND = kinds.UPGRADE_CONFIG
    SHORT_NAMES = ("uc",)
    COLUMNS = (
        Column("From", ".status.currentVersion"),
        Column("To", ".spec.desired.version"),
        Column("Phase", ".status.phase"),
        Column("Nodes", ".status.nodes.summary"),
        Column("Workloads", ".status.workloads.summary"),
        Column("Paused", ".spec.paused", "boolean"),
        Column("ETA", ".status.eta.likely", wide=True),
        Column("Message", ".status.message", wide=True),
    )
    RULES = (ONLY_ONE,)

    spec: UpgradeConfigSpec
    """What is wanted, and when."""
    status: UpgradeConfigStatus = UpgradeConfigStatus()
    """Where the upgrade is."""
