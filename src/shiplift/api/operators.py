"""`AppType`, `OperatorVersion` and `OperatorCatalog`: operators, from the catalog to the running version."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from shiplift.api.base import TEXTS, Column, Resource, Rule, Value, immutable
from shiplift.api.values import (
    Approval,
    Count,
    Digest,
    Duration,
    LabelMap,
    LabelSelector,
    Line,
    LocalHook,
    Message,
    Name,
    Namespace,
    Operation,
    Progress,
    RawObject,
    Reason,
    Semver,
    Sha256,
    Status,
    Time,
    Token,
    Version,
    keyed,
    ordered,
    unique,
)
from shiplift.facts import kinds

Range = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^[0-9A-Za-z .<>=!|*+-]+$")]
ApiVersion = Annotated[str, Meta(min_length=2, max_length=63, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")]
KindName = Annotated[str, Meta(min_length=1, max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9]*$")]
Package = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$")]
Channel = Annotated[
    str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$")
]


class CrdRule(StrEnum):
    """What is looked at before a CustomResourceDefinition is changed."""

    EXISTING_OBJECTS = "ExistingObjects"
    STORED_VERSION_REMOVAL = "StoredVersionRemoval"
    SERVED_VERSION_REMOVAL = "ServedVersionRemoval"
    SCOPE = "Scope"
    FIELD_REMOVAL = "FieldRemoval"
    REQUIRED = "Required"
    TYPE = "Type"
    ENUM = "Enum"
    MAXIMUM = "Maximum"
    MINIMUM = "Minimum"
    PATTERN = "Pattern"
    DEFAULT = "Default"
    NULLABLE = "Nullable"
    VALIDATION_RULE = "ValidationRule"
    UNHANDLED = "Unhandled"


class RuleAction(StrEnum):
    """What a finding of such a rule does."""

    ALLOW = "Allow"
    WARN = "Warn"
    DENY = "Deny"


class CrdRuleOverride(Value, frozen=True, kw_only=True):
    """Another action for one rule."""

    rule: CrdRule
    """The rule."""
    action: RuleAction
    """What a finding does."""


class Uninstall(StrEnum):
    """What becomes of what an operator owns when its AppType is deleted."""

    KEEP = "Keep"
    REMOVE = "Remove"


class AppTypeSpec(Value, frozen=True, kw_only=True):
    """Which operator is wanted."""

    RULES = (
        immutable("package"),
        Rule(
            "self.approval == 'Manual' || !has(self.approved)",
            "approved goes with approval Manual only",
            ".approved",
        ),
    )

    package: Package
    """The package in the catalog."""
    service_account_name: Name
    """The account that installs: what it may not do is not done."""
    catalog: Name | None = None
    """The catalog; absent means the one of the highest priority that has the package."""
    channel: Channel | None = None
    """The channel; absent means the package's default."""
    version: Semver | None = None
    """Exactly this version, older ones too; nothing newer comes until it is taken away."""
    approval: Approval = Approval.AUTOMATIC
    """Whether new versions wait for `approved`."""
    approved: Semver | None = None
    """The version that may be installed."""
    crd_safety: Annotated[tuple[CrdRuleOverride, ...], keyed("rule", most=32)] = ()
    """Other actions than the usual for changes of CustomResourceDefinitions."""
    target_namespaces: Annotated[tuple[Namespace, ...], unique(most=64)] = ()
    """The namespaces that the operator watches; none means this one."""
    uninstall: Uninstall = Uninstall.KEEP
    """What becomes of what the operator owns when this is deleted. CustomResourceDefinitions always stay."""
    paused: bool = False
    """Install and change nothing."""


class Hop(Value, frozen=True, kw_only=True):
    """One step on the way to the newest version."""

    name: Name
    """The name of the OperatorVersion."""
    version: Semver
    """Its version."""


class AppTypeStatus(Status, frozen=True, kw_only=True):
    """Which operator is there."""

    message: Message = ""
    """What it is doing or waiting for, in one line."""
    installed: Line = ""
    """The version that runs."""
    operator_version: Name | None = None
    """The OperatorVersion that runs."""
    latest: Line = ""
    """The newest version that can be reached."""
    catalog: Name | None = None
    """The catalog in use."""
    path: Annotated[tuple[Hop, ...], ordered(most=256)] = ()
    """Every version on the way to the newest."""
    blocked_by: Annotated[tuple[Message, ...], ordered(most=32)] = ()
    """What keeps the next one from being installed."""


class AppType(Resource, frozen=True, kw_only=True):
    """An operator that should be in this namespace, kept up to date from a catalog."""

    KIND = kinds.APP_TYPE
    SHORT_NAMES = ("apt",)
    COLUMNS = (
        Column("Package", ".spec.package"),
        Column("Channel", ".spec.channel"),
        Column("Installed", ".status.installed"),
        Column("Latest", ".status.latest"),
        Column("Pin", ".spec.version", wide=True),
        Column("Message", ".status.message", wide=True),
    )

    spec: AppTypeSpec
    """Which operator is wanted."""
    status: AppTypeStatus = AppTypeStatus()
    """Which is there."""


class StrategyType(StrEnum):
    """How an operator is installed."""

    DEPLOYMENT = "Deployment"


class RequirementKind(StrEnum):
    """What a version can require."""

    CRD = "CustomResourceDefinition"
    SERVICE_ACCOUNT = "ServiceAccount"
    PERMISSION = "Permission"
    PACKAGE = "Package"
    KUBERNETES = "Kubernetes"


class RequirementState(StrEnum):
    """What became of a requirement."""

    MET = "Met"
    MISSING = "Missing"
    NOT_SATISFIED = "NotSatisfied"
    UNKNOWN = "Unknown"


class OperatorPhase(StrEnum):
    """One word for where a version is; derived from its conditions."""

    PENDING = "Pending"
    INSTALLING = "Installing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    REPLACING = "Replacing"
    DELETING = "Deleting"


class CrdRef(Value, frozen=True, kw_only=True):
    """One version of a CustomResourceDefinition."""

    name: Name
    """Its name: `<plural>.<group>`."""
    version: ApiVersion
    """The version that is meant."""
    kind: KindName
    """The kind that it defines."""
    sha256: Sha256 | None = None
    """The content that it must have."""


class RequiredCrd(CrdRef, frozen=True, kw_only=True):
    """A CustomResourceDefinition that somebody else owns and this version needs."""

    optional: bool = False
    """Its absence does not hold up the installation."""


class Dependency(Value, frozen=True, kw_only=True):
    """Another package that must be there."""

    package: Package
    """The package."""
    range: Range
    """The versions of it that will do: `>=1.2.0 <2.0.0`."""
    optional: bool = False
    """Its absence does not hold up the installation."""


class OperatorDeployment(Value, frozen=True, kw_only=True):
    """One Deployment of the operator."""

    name: Name
    """Its name."""
    spec: RawObject
    """Its spec, as in `apps/v1`."""
    labels: LabelMap = field(default_factory=TEXTS)
    """Its labels."""


class ResourceRule(Value, frozen=True, kw_only=True):
    """One rule of a Role, as in `rbac.authorization.k8s.io/v1`."""

    verbs: Annotated[tuple[Token, ...], ordered(most=32, least=1)]
    """What may be done."""
    api_groups: Annotated[tuple[Line, ...], ordered(most=64, least=1)]
    """The API groups."""
    resources: Annotated[tuple[Line, ...], ordered(most=256, least=1)]
    """The resources."""
    resource_names: Annotated[tuple[Line, ...], ordered(most=256)] = ()
    """The names; none means all."""


class ClusterRule(Value, frozen=True, kw_only=True):
    """One rule of a ClusterRole, as in `rbac.authorization.k8s.io/v1`."""

    RULES = (
        Rule(
            "has(self.nonResourceURLs) != has(self.resources)",
            "a rule names resources or nonResourceURLs, and not both",
        ),
    )

    verbs: Annotated[tuple[Token, ...], ordered(most=32, least=1)]
    """What may be done."""
    api_groups: Annotated[tuple[Line, ...], ordered(most=64)] = ()
    """The API groups."""
    resources: Annotated[tuple[Line, ...], ordered(most=256)] = ()
    """The resources."""
    resource_names: Annotated[tuple[Line, ...], ordered(most=256)] = ()
    """The names; none means all."""
    non_resource_urls: Annotated[tuple[Line, ...], ordered(most=64)] = field(
        name="nonResourceURLs", default=()
    )
    """Paths that are no resources."""


class Permission(Value, frozen=True, kw_only=True):
    """What one account of the operator may do in the namespace."""

    service_account_name: Name
    """The account."""
    rules: Annotated[tuple[ResourceRule, ...], ordered(most=256, least=1)]
    """What it may do."""


class ClusterPermission(Value, frozen=True, kw_only=True):
    """What one account of the operator may do everywhere."""

    service_account_name: Name
    """The account."""
    rules: Annotated[tuple[ClusterRule, ...], ordered(most=256, least=1)]
    """What it may do."""


class InstallStrategy(Value, frozen=True, kw_only=True):
    """How the operator is installed."""

    deployments: Annotated[tuple[OperatorDeployment, ...], keyed("name", most=32, least=1)]
    """Its Deployments."""
    type: StrategyType = StrategyType.DEPLOYMENT
    """The kind of strategy."""
    permissions: Annotated[tuple[Permission, ...], ordered(most=32)] = ()
    """What its accounts may do in the namespace."""
    cluster_permissions: Annotated[tuple[ClusterPermission, ...], ordered(most=32)] = ()
    """What its accounts may do everywhere."""


class OperatorVersionSpec(Value, frozen=True, kw_only=True):
    """What this version is made of."""

    RULES = (
        Rule("self == oldSelf", "spec cannot be changed; make another OperatorVersion"),
        Rule(
            "!has(self.replaces) || !has(self.skips) || !self.skips.exists(name, name == self.replaces)",
            "replaces cannot be in skips as well",
            ".skips",
        ),
    )

    app_type: Name
    """The AppType that it belongs to."""
    package: Package
    """The package in the catalog."""
    version: Semver
    """The version of the operator."""
    install_strategy: InstallStrategy
    """How it is installed."""
    replaces: Name | None = None
    """The OperatorVersion that it takes over from, by name."""
    skips: Annotated[tuple[Name, ...], unique(most=256)] = ()
    """OperatorVersions that it can take over from as well."""
    skip_range: Range | None = None
    """Versions that it can take over from as well: `>=1.0.0 <1.4.2`."""
    min_kubernetes_version: Version | None = None
    """The oldest Kubernetes that it runs on."""
    max_kubernetes_version: Version | None = None
    """The newest Kubernetes that it runs on; a cluster does not go past it."""
    owned_crds: Annotated[tuple[CrdRef, ...], keyed("name", "version", most=256)] = field(
        name="ownedCRDs", default=()
    )
    """The CustomResourceDefinitions that it brings."""
    required_crds: Annotated[tuple[RequiredCrd, ...], keyed("name", "version", most=256)] = field(
        name="requiredCRDs", default=()
    )
    """The CustomResourceDefinitions of others that it needs."""
    dependencies: Annotated[tuple[Dependency, ...], keyed("package", most=64)] = ()
    """The packages that it needs."""
    labels: LabelMap = field(default_factory=TEXTS)
    """Labels on everything that the operator makes; by them it is found again."""
    selector: LabelSelector = LabelSelector()
    """What belongs to the operator; it is deleted only when this finds nothing."""
    hand_over: LocalHook | None = None
    """A Job that runs before what the old version owns is taken over."""
    bundle: Digest | None = None
    """The payload in the catalog that this was made from."""


class RequirementStatus(Value, frozen=True, kw_only=True):
    """What became of one requirement."""

    kind: RequirementKind
    """What is required."""
    name: Line
    """Its name."""
    state: RequirementState
    """Whether it is there."""
    optional: bool = False
    """Its absence does not hold up the installation."""
    message: Message = ""
    """What is missing, and what would help."""


class CrdFinding(Value, frozen=True, kw_only=True):
    """What one rule found in a change of a CustomResourceDefinition."""

    crd: Name
    """The CustomResourceDefinition."""
    rule: CrdRule
    """The rule."""
    action: RuleAction
    """What the finding does."""
    path: Annotated[str, Meta(max_length=1024)] = ""
    """The field."""
    message: Message = ""
    """What would change."""


class OperatorVersionStatus(Status, frozen=True, kw_only=True):
    """Where this version is."""

    phase: OperatorPhase | None = None
    """One word, derived from the conditions."""
    reason: Reason | None = None
    """Why it is there, in one word."""
    message: Message = ""
    """What it is doing or waiting for, in one line."""
    requirements: Annotated[tuple[RequirementStatus, ...], keyed("kind", "name", most=512)] = ()
    """What it requires."""
    crd_findings: Annotated[tuple[CrdFinding, ...], ordered(most=256)] = ()
    """What would change in CustomResourceDefinitions."""
    deployments: Progress = Progress()
    """Deployments that are available."""
    adopted: Progress = Progress()
    """Objects of the old version that were taken over."""
    owned: Count = 0
    """Objects that belong to it."""
    leftovers: Annotated[tuple[Line, ...], ordered(most=64)] = ()
    """Objects that nobody took over; they are left alone."""
    replaced_by: Name | None = None
    """The OperatorVersion that takes over from it."""
    first_run_time: Time | None = None
    """When it was first seen to run; that it did stays true, whatever becomes of it."""
    operation: Operation | None = None
    """What is being done now."""


class OperatorVersion(Resource, frozen=True, kw_only=True):
    """One version of an operator, installed or about to be."""

    KIND = kinds.OPERATOR_VERSION
    SHORT_NAMES = ("opv",)
    COLUMNS = (
        Column("Package", ".spec.package"),
        Column("Version", ".spec.version"),
        Column("Replaces", ".spec.replaces"),
        Column("Phase", ".status.phase"),
        Column("Reason", ".status.reason"),
        Column("Message", ".status.message", wide=True),
    )

    spec: OperatorVersionSpec
    """What this version is made of."""
    status: OperatorVersionStatus = OperatorVersionStatus()
    """Where it is."""


class CatalogFormat(StrEnum):
    """How a catalog is written."""

    INDEX = "Index"
    BUNDLES = "Bundles"
    FILE_BASED = "FileBased"


class ConfigMapSource(Value, frozen=True, kw_only=True):
    """A catalog in ConfigMaps."""

    namespace: Namespace
    """Where they are."""
    selector: LabelSelector
    """Which they are; their keys are put together in order of name."""


class FolderSource(Value, frozen=True, kw_only=True):
    """A catalog in a folder that the operator can read."""

    path: Annotated[str, Meta(min_length=2, max_length=1024, pattern=r"^/[^\s]+$")]
    """The folder."""


class CatalogSource(Value, frozen=True, kw_only=True):
    """Where a catalog is."""

    RULES = (
        Rule(
            "has(self.configMaps) != has(self.folder)", "exactly one of configMaps and folder must be given"
        ),
    )

    config_maps: ConfigMapSource | None = None
    """In ConfigMaps."""
    folder: FolderSource | None = None
    """In a folder."""


class OperatorCatalogSpec(Value, frozen=True, kw_only=True):
    """Where the catalog is, and what of it counts."""

    RULES = (
        Rule(
            "!has(self.include) || !has(self.exclude)",
            "include and exclude cannot both be given",
            ".exclude",
        ),
    )

    source: CatalogSource
    """Where it is."""
    format: CatalogFormat = CatalogFormat.INDEX
    """How it is written: our own index, OLM bundles, or an OLM file-based catalog."""
    priority: Annotated[int, Meta(ge=-1000, le=1000)] = 0
    """Which catalog counts where several have a package: the highest."""
    poll_interval: Duration = "15m"
    """How often it is read again."""
    include: Annotated[tuple[Package, ...], unique(most=1000)] = ()
    """Only these packages; none means all."""
    exclude: Annotated[tuple[Package, ...], unique(most=1000)] = ()
    """All packages but these."""
    paused: bool = False
    """Create nothing from it."""


class BrokenPackage(Value, frozen=True, kw_only=True):
    """A package that was left out."""

    package: Line
    """The package."""
    message: Message
    """What is wrong with it."""


class Tombstone(Value, frozen=True, kw_only=True):
    """An AppType that somebody deleted; it is not brought back for the sake of a CustomResourceDefinition."""

    namespace: Namespace
    """Where it was."""
    package: Package
    """Its package."""
    deletion_time: Time
    """When it was deleted."""


class OperatorCatalogStatus(Status, frozen=True, kw_only=True):
    """What was read."""

    message: Message = ""
    """What it is doing or waiting for, in one line."""
    packages: Count = 0
    """How many packages it has."""
    bundles: Count = 0
    """How many versions they have together."""
    digest: Digest | None = None
    """What was read last."""
    last_sync_time: Time | None = None
    """When it was last read with success."""
    broken: Annotated[tuple[BrokenPackage, ...], keyed("package", most=500)] = ()
    """Packages that were left out."""
    tombstones: Annotated[tuple[Tombstone, ...], keyed("namespace", "package", most=1000)] = ()
    """AppTypes that somebody deleted."""


class OperatorCatalog(Resource, frozen=True, kw_only=True):
    """A catalog of operators."""

    KIND = kinds.OPERATOR_CATALOG
    SHORT_NAMES = ("opcat",)
    COLUMNS = (
        Column("Format", ".spec.format"),
        Column("Priority", ".spec.priority", "integer"),
        Column("Packages", ".status.packages", "integer"),
        Column("Bundles", ".status.bundles", "integer"),
        Column("Synced", ".status.lastSyncTime", "date"),
        Column("Message", ".status.message", wide=True),
    )

    spec: OperatorCatalogSpec
    """Where the catalog is, and what of it counts."""
    status: OperatorCatalogStatus = OperatorCatalogStatus()
    """What was read."""
