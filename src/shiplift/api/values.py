"""The small values that several kinds share, each with the bounds that the API server checks.

Every text, list and map has an upper bound: the API server refuses CEL rules whose cost it cannot limit.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, field

from shiplift.api.base import TEXTS, Rule, Value
from shiplift.facts.meta import Labels
from shiplift.facts.selectors import Requirement, Selector

_DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUFFIX = r"([-+][0-9A-Za-z.+-]{1,40})?"
_SEMVER = rf"v?[0-9]{{1,20}}\.[0-9]{{1,20}}\.[0-9]{{1,20}}{_SUFFIX}"
_MINOR = r"v?(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})"
_PATCH = rf"\.(0|[1-9][0-9]{{0,5}}){_SUFFIX}"
_DURATION = re.compile(r"^(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?$")

Time = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Generation = Annotated[int, Meta(ge=0)]
Line = Annotated[str, Meta(max_length=256)]
Message = Annotated[str, Meta(max_length=4096)]
Token = Annotated[str, Meta(min_length=1, max_length=128)]
Uid = Annotated[str, Meta(min_length=1, max_length=64)]
Name = Annotated[str, Meta(min_length=1, max_length=253, pattern=rf"^{_DNS}(\.{_DNS})*$")]
DnsLabel = Annotated[str, Meta(min_length=1, max_length=63, pattern=rf"^{_DNS}$")]
Namespace = DnsLabel
LabelKey = Annotated[
    str,
    Meta(min_length=1, max_length=317, pattern=r"^([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"),
]
LabelValue = Annotated[str, Meta(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]
LabelMap = Annotated[dict[str, LabelValue], Meta(max_length=64)]
Reason = Annotated[
    str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
]
Version = Annotated[str, Meta(min_length=1, max_length=64, pattern=rf"^{_MINOR}{_PATCH}$")]
"""Of Kubernetes or OpenShift."""
VersionOrMinor = Annotated[str, Meta(min_length=1, max_length=64, pattern=rf"^{_MINOR}({_PATCH})?$")]
"""Of Kubernetes or OpenShift; `1.36` means any version of that minor."""
Semver = Annotated[str, Meta(min_length=1, max_length=104, pattern=rf"^{_SEMVER}$")]
"""Of an operator; some count by date."""
PackageVersion = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z][0-9A-Za-z.+:~_-]*$")]
Duration = Annotated[
    str, Meta(min_length=2, max_length=20, pattern=r"^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$")
]
Quantity = Annotated[
    str, Meta(min_length=1, max_length=20, pattern=r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$")
]
Url = Annotated[str, Meta(max_length=2048, pattern=r"^https?://[^\s/?#]+[^\s]*$")]
Sha256 = Annotated[str, Meta(min_length=64, max_length=64, pattern=r"^[0-9a-f]{64}$")]
Digest = Annotated[str, Meta(min_length=71, max_length=71, pattern=r"^sha256:[0-9a-f]{64}$")]
IntOrPercent = (
    Annotated[int, Meta(ge=0, le=10_000)]
    | Annotated[str, Meta(max_length=4, pattern=r"^(100|[1-9]?[0-9])%$")]
)
AtLeastOne = (
    Annotated[int, Meta(ge=1, le=10_000)]
    | Annotated[str, Meta(max_length=4, pattern=r"^(100|[1-9][0-9]?)%$")]
)
RawObject = dict[str, Any]
"""Any JSON object, kept as it is: a part of somebody else's API."""


def keyed(*keys: str, most: int, least: int = 0) -> Meta:
    """A list whose items are told apart by these fields, so that server-side apply merges it item by item."""
    shape = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return Meta(min_length=least or None, max_length=most, extra_json_schema=shape)


def unique(*, most: int, least: int = 0) -> Meta:
    """A list of plain values without repeats."""
    return Meta(
        min_length=least or None, max_length=most, extra_json_schema={"x-kubernetes-list-type": "set"}
    )


def ordered(*, most: int, least: int = 0) -> Meta:
    """A list that is replaced as a whole."""
    return Meta(
        min_length=least or None, max_length=most, extra_json_schema={"x-kubernetes-list-type": "atomic"}
    )


def duration(text: Duration) -> timedelta:
    """The length that `1h30m` or `90s` says."""
    match = _DURATION.match(text)
    if not match or not text:
        raise ValueError(f"{text!r} is not a duration such as 90s, 15m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Value, frozen=True, kw_only=True):
    """One condition, as kstatus reads it: Ready, Reconciling, Stalled and the layer's own."""

    type: Annotated[str, Meta(min_length=1, max_length=316)]
    """What the condition is about."""
    status: ConditionStatus
    """Whether it holds."""
    reason: Reason
    """One word of the layer's closed list."""
    last_transition_time: Time
    """When the status last changed."""
    message: Annotated[str, Meta(max_length=32768)] = ""
    """The same for people: what is waited for and what would help."""
    observed_generation: Generation = 0
    """The generation of the object that this was said of."""


class Status(Value, frozen=True, kw_only=True):
    """What every status has."""

    observed_generation: Generation = 0
    """The generation of the spec that this status answers."""
    conditions: Annotated[tuple[Condition, ...], keyed("type", most=64)] = ()
    """Ready, and while they hold Reconciling and Stalled; then the layer's own."""


class Progress(Value, frozen=True, kw_only=True):
    """How far a count has come."""

    done: Count = 0
    """How many are finished."""
    total: Count = 0
    """How many there are."""
    summary: Line = ""
    """Both for a column of `kubectl get`: `12/59`."""

    @classmethod
    def of(cls, done: int, total: int) -> Progress:
        return cls(done=done, total=total, summary=f"{done}/{total}")


class Estimate(Value, frozen=True, kw_only=True):
    """When something is expected to end."""

    likely: Time
    """The middle of the estimate."""
    earliest: Time | None = None
    """If everything goes well."""
    latest: Time | None = None
    """If what has been slow so far stays slow."""


class Operation(Value, frozen=True, kw_only=True):
    """A long step, recorded before it starts so that a restarted operator finds it again."""

    id: Token
    """Names the attempt to whoever carries it out."""
    name: Line
    """What is being done."""
    start_time: Time
    """When it was recorded; time-outs count from here."""
    deadline: Time
    """After this it has failed."""
    attempt: Annotated[int, Meta(ge=1, le=1000)] = 1
    """How often it was tried, this one included."""


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(Value, frozen=True, kw_only=True):
    """A taint of a node."""

    key: LabelKey
    """The key of the taint."""
    effect: TaintEffect
    """What it does to pods that do not tolerate it."""
    value: LabelValue = ""
    """The value of the taint."""


class SelectorOperator(StrEnum):
    """How a label is compared with the values."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class SelectorRequirement(Value, frozen=True, kw_only=True):
    """One expression over a label."""

    RULES = (
        Rule(
            "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
            "values go with the operators In and NotIn, and only with them",
        ),
    )

    key: LabelKey
    """The label."""
    operator: SelectorOperator
    """How it is compared."""
    values: Annotated[tuple[LabelValue, ...], unique(most=32)] = ()
    """What it is compared with."""


class LabelSelector(Value, frozen=True, kw_only=True):
    """Which objects are meant, by their labels; an empty one means all."""

    match_labels: LabelMap = field(default_factory=TEXTS)
    """Labels that must have exactly these values."""
    match_expressions: Annotated[tuple[SelectorRequirement, ...], ordered(most=32)] = ()
    """Expressions that must all hold."""


def selector_of(selector: LabelSelector) -> Selector:
    """The selector of one of our objects as facts have it."""
    expressions = tuple(
        Requirement(one.key, one.operator.value, one.values) for one in selector.match_expressions
    )
    return Selector(Labels(selector.match_labels), expressions)


class Window(Value, frozen=True, kw_only=True):
    """A time in which changes may be made."""

    schedule: Annotated[str, Meta(min_length=9, max_length=128, pattern=r"^[^\s]+( [^\s]+){4}$")]
    """When it opens, as five cron fields: `0 22 * * 1-5`."""
    duration: Duration
    """How long it stays open."""
    time_zone: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_+/-]+$")] = "UTC"
    """Whose clock the schedule means, by its IANA name."""


class Software(Value, frozen=True, kw_only=True):
    """One package and the version that a machine should have."""

    name: Annotated[str, Meta(min_length=1, max_length=63, pattern=rf"^{_DNS}$")]
    """The name of the software, as in the annotation `<name>.shiplift.dev/desired-version`."""
    version: PackageVersion
    """The version of the package."""


class SoftwareState(Value, frozen=True, kw_only=True):
    """What one machine has and should have."""

    name: Annotated[str, Meta(min_length=1, max_length=63)]
    """The name of the software."""
    desired: Line = ""
    """What it should have."""
    current: Line = ""
    """What was last seen on it."""


class LocalHook(Value, frozen=True, kw_only=True):
    """A Job that must succeed before things go on, in the namespace of the object that names it."""

    name: DnsLabel
    """Names the hook; the Job's name begins with it."""
    service_account_name: Name
    """The account that the Job runs as, whatever its template says."""
    job: RawObject
    """The spec of the Job, as in `batch/v1`."""
    timeout: Duration = "10m"
    """How long it may take."""


class Hook(LocalHook, frozen=True, kw_only=True):
    """A Job that must succeed before things go on."""

    namespace: Namespace
    """Where the Job and its account are; only who may create Jobs there may write the hook."""


class SecretKey(Value, frozen=True, kw_only=True):
    """One value of a Secret in the operator's namespace, or for an object that is in a namespace, in that."""

    name: Name
    """The name of the Secret."""
    key: Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[-._A-Za-z0-9]+$")]
    """Which of its values."""


class Approval(StrEnum):
    """Whether somebody must agree first."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"
