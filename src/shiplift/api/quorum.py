"""`QuorumService`: a service whose members must all run the same binary, and swap it together."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from shiplift.api.base import Column, Resource, Rule, Value
from shiplift.api.values import (
    Digest,
    DnsLabel,
    Line,
    Message,
    Name,
    Operation,
    Progress,
    RawObject,
    Reason,
    Sha256,
    Status,
    Time,
    Uid,
    Url,
    keyed,
    ordered,
    unique,
)
from shiplift.facts import kinds

EngineVersion = Annotated[str, Meta(min_length=1, max_length=96, pattern=r"^[0-9A-Za-z][0-9A-Za-z._:+-]*$")]
"""As the engine itself writes it; only the engine says which of two is newer."""
RegistryHost = Annotated[
    str, Meta(min_length=1, max_length=259, pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$")
]
Bucket = Annotated[str, Meta(min_length=3, max_length=63, pattern=r"^[a-z0-9][a-z0-9.-]*[a-z0-9]$")]
Image = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=512,
        pattern=r"^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$",
    ),
]


class Engine(StrEnum):
    """The kinds of service that are known."""

    MINIO = "MinIO"


class QuorumStrategy(StrEnum):
    """How the binary is swapped."""

    IN_PLACE = "InPlace"
    RECREATE_ALL = "RecreateAll"


class OnUnsupported(StrEnum):
    """What is done where it cannot be swapped in place."""

    RECREATE_ALL = "RecreateAll"
    STOP = "Stop"


class Scheme(StrEnum):
    """How the members are spoken to."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"


class QuorumStep(StrEnum):
    """The steps of a swap, in this order; derived from what the members say."""

    IDLE = "Idle"
    VALIDATE = "Validate"
    UPDATE_STATEFUL_SETS = "UpdateStatefulSets"
    STAGE = "Stage"
    SWITCH = "Switch"
    RECREATE_PODS = "RecreatePods"


class MemberState(StrEnum):
    """Where one member is."""

    OLD = "Old"
    STAGED = "Staged"
    NEW = "New"
    RECREATED = "Recreated"
    UNKNOWN = "Unknown"


class Trust(Value, frozen=True, kw_only=True):
    """Whose signatures are believed."""

    minisign_key: (
        Annotated[str, Meta(min_length=56, max_length=56, pattern=r"^RW[A-Za-z0-9+/]{54}$")] | None
    ) = None
    """The minisign public key that signs the binary; absent means the publisher's own."""
    cosign_key: (
        Annotated[str, Meta(min_length=1, max_length=4096, pattern=r"^-----BEGIN PUBLIC KEY-----\n")] | None
    ) = None
    """The cosign public key, in PEM, that signs the image; absent means that it is not checked."""
    registries: Annotated[tuple[RegistryHost, ...], unique(most=32)] = ()
    """The hosts, with their ports, that images may come from; none means the host of `image` alone."""


class Endpoint(Value, frozen=True, kw_only=True):
    """How the members are reached."""

    RULES = (
        Rule(
            "!has(self.caSecret) || self.scheme == 'HTTPS'",
            "caSecret goes with scheme HTTPS only",
            ".caSecret",
        ),
    )

    scheme: Scheme = Scheme.HTTP
    """Plain or TLS."""
    port: Annotated[int, Meta(ge=1, le=65535)] = 9000
    """The port of the service in the pod."""
    ca_secret: Name | None = None
    """The Secret whose `ca.crt` signs the members' certificates."""


class QuorumServiceSpec(Value, frozen=True, kw_only=True):
    """What the service should run."""

    RULES = (
        Rule(
            "self.image.contains('@sha256:') || self.image.matches(':[A-Za-z0-9_][A-Za-z0-9_.-]*$')",
            "image must have a tag or a digest",
            ".image",
        ),
    )

    stateful_sets: Annotated[tuple[Name, ...], unique(most=32, least=1)]
    """The StatefulSets that make up the service: all of its pools."""
    image: Image
    """The image that they should run."""
    credentials_secret: Name
    """The Secret with `accessKey` and `secretKey` of an administrator."""
    engine: Engine = Engine.MINIO
    """The kind of service."""
    container: DnsLabel = "minio"
    """The container in the pods."""
    endpoint: Endpoint = Endpoint()
    """How the members are reached."""
    trust: Trust = Trust()
    """Whose signatures are believed."""
    strategy: QuorumStrategy = QuorumStrategy.IN_PLACE
    """How the binary is swapped."""
    on_unsupported: OnUnsupported = OnUnsupported.STOP
    """What is done where it cannot be swapped in place."""
    allow_downgrade: bool = False
    """Accept an older version; all pods are then made anew at once."""
    minimum_version: EngineVersion | None = None
    """Refuse anything older than this, in the engine's own words: `RELEASE.2025-09-07T16-13-09Z`."""
    serving_url: Url | None = field(name="servingURL", default=None)
    """Where the pods reach the operator to fetch the binary; absent means the leader's own address."""
    canary_bucket: Bucket | None = None
    """The bucket in which an object is written, read and deleted to see that the service works; absent means
    one that is made for it and taken away."""
    paused: bool = False
    """Start nothing."""


class Member(Value, frozen=True, kw_only=True):
    """One pod of the service."""

    pod: Name
    """The name of the pod."""
    state: MemberState
    """Where it is."""
    uid: Uid | None = None
    """Its uid."""
    version: Line = ""
    """The version that it says it runs."""
    message: Message = ""
    """What it answered last."""


class Artifact(Value, frozen=True, kw_only=True):
    """The binary that was taken out of the image and checked."""

    image_digest: Digest
    """The image."""
    sha256: Sha256
    """The binary."""
    version: EngineVersion
    """Its version."""
    verify_time: Time | None = None
    """When its signature and checksum were checked."""


class Swapping(Value, frozen=True, kw_only=True):
    """A StatefulSet that is being swapped, and what it was before: written on it too, where anybody may take
    it off."""

    stateful_set: Name
    """Its name."""
    uid: Uid
    """Its uid: of another of that name nothing is said."""
    target: Line
    """The version that is swapped to."""
    image: Message
    """The image that is swapped to, with its digest."""
    container: DnsLabel
    """The container that has it."""
    image_before: Message
    """The image of before."""
    strategy_before: RawObject
    """The `updateStrategy` of before."""
    recreate: bool = False
    """Whether all pods are made anew at once."""


class QuorumServiceStatus(Status, frozen=True, kw_only=True):
    """What the service runs."""

    step: QuorumStep = QuorumStep.IDLE
    """Where a swap is."""
    reason: Reason | None = None
    """Why it is there, in one word."""
    message: Message = ""
    """What it is doing or waiting for, in one line."""
    current_version: Line = ""
    """What all members run, or the oldest that one of them runs."""
    target_version: Line = ""
    """What they should run."""
    artifact: Artifact | None = None
    """The binary that was checked."""
    progress: Progress = Progress()
    """Members that run the target version."""
    members: Annotated[tuple[Member, ...], keyed("pod", most=512)] = ()
    """The pods."""
    operation: Operation | None = None
    """The call that is running."""
    switch_time: Time | None = None
    """When the members were last switched."""
    switches: Annotated[int, Meta(ge=0, le=1000000)] | None = None
    """How often the members were told to switch in the swap that is under way; absent where it is unknown."""
    swapping: Annotated[tuple[Swapping, ...], ordered(most=64)] = ()
    """The StatefulSets that are being swapped, and what they were before."""
    refused: Annotated[tuple[Line, ...], ordered(most=16)] = ()
    """Why the image cannot be used."""


class QuorumService(Resource, frozen=True, kw_only=True):
    """A service whose members must all run the same binary, swapped everywhere at once."""

    KIND = kinds.QUORUM_SERVICE
    SHORT_NAMES = ("qs",)
    COLUMNS = (
        Column("Engine", ".spec.engine"),
        Column("Current", ".status.currentVersion"),
        Column("Target", ".status.targetVersion"),
        Column("Step", ".status.step"),
        Column("Members", ".status.progress.summary"),
        Column("Image", ".spec.image", wide=True),
        Column("Message", ".status.message", wide=True),
    )

    spec: QuorumServiceSpec
    """What the service should run."""
    status: QuorumServiceStatus = QuorumServiceStatus()
    """What it runs."""
