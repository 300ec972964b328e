"""`MachinePool` and `Machine`: the machines that a cluster should have, and each one of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from shiplift.api.base import TEXTS, Column, Resource, Rule, Value, immutable
from shiplift.api.values import (
    Count,
    DnsLabel,
    Duration,
    IntOrPercent,
    LabelMap,
    Line,
    Message,
    Name,
    Operation,
    Progress,
    Quantity,
    Reason,
    Software,
    SoftwareState,
    Status,
    Taint,
    Time,
    Url,
    Version,
    keyed,
    ordered,
    unique,
)
from shiplift.facts import kinds

Address = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[0-9A-Za-z.:-]+$")]
HostKey = Annotated[
    str, Meta(min_length=1, max_length=4096, pattern=r"^(ssh|ecdsa|sk)-[-a-z0-9@.]+ [A-Za-z0-9+/=]+$")
]
CloudName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._:/-]+$")]


class Role(StrEnum):
    """What a machine is for."""

    CONTROL_PLANE = "ControlPlane"
    WORKER = "Worker"


class Provider(StrEnum):
    """Where machines come from."""

    STATIC = "Static"
    EC2 = "EC2"
    KWOK = "Kwok"


class MachinePhase(StrEnum):
    """One word for where a machine is; derived from its conditions."""

    PENDING = "Pending"
    CREATING = "Creating"
    INITIALISING = "Initialising"
    JOINING = "Joining"
    JOINED = "Joined"
    REMOVING = "Removing"
    FAILED = "Failed"


class RemovalStep(StrEnum):
    """The steps by which a machine leaves, in this order."""

    DRAIN = "Drain"
    RESET = "Reset"
    CHECK_MEMBERS = "CheckMembers"
    DELETE_NODE = "DeleteNode"
    DESTROY = "Destroy"


class StaticHost(Value, frozen=True, kw_only=True):
    """A machine that is there already."""

    name: Name
    """Its name; the node gets it too."""
    address: Address
    """Where its SSH server answers."""
    host_key: HostKey
    """Its SSH host key, as in a known_hosts file; another one is refused."""
    port: Annotated[int, Meta(ge=1, le=65535)] = 22
    """The port of its SSH server."""


class StaticSettings(Value, frozen=True, kw_only=True):
    """Machines that are there already, reached over SSH."""

    hosts: Annotated[tuple[StaticHost, ...], keyed("name", most=500, least=1)]
    """The machines to choose from."""
    ssh_key_secret: Name
    """The Secret with the private key, of type `kubernetes.io/ssh-auth`, in the operator's namespace."""
    user: Annotated[str, Meta(min_length=1, max_length=32, pattern=r"^[a-z_][a-z0-9_-]*$")] = "root"
    """Who logs in."""


class Ec2Settings(Value, frozen=True, kw_only=True):
    """Machines that are made in EC2."""

    region: CloudName
    """The region."""
    image: CloudName
    """The id of the machine image."""
    instance_type: CloudName
    """The type of the instances."""
    subnets: Annotated[tuple[CloudName, ...], unique(most=16, least=1)]
    """The ids of the subnets, used in turn."""
    security_groups: Annotated[tuple[CloudName, ...], unique(most=16)] = ()
    """The ids of the security groups."""
    instance_profile: CloudName | None = None
    """The instance profile; the agent itself needs none."""
    root_volume_gib: Annotated[int, Meta(ge=8, le=16384)] = field(name="rootVolumeGiB", default=50)
    """The size of the root volume in GiB."""
    tags: Annotated[dict[str, Line], Meta(max_length=40)] = field(default_factory=TEXTS)

    """Tags for everything that is made."""
    endpoint: Url | None = None
    """Another address of the EC2 API."""


class KwokSettings(Value, frozen=True, kw_only=True):
    """Machines that are only simulated."""

    cpu: Quantity = "4"
    """The CPUs of each."""
    memory: Quantity = "16Gi"
    """The memory of each."""
    pods: Annotated[int, Meta(ge=1, le=1000)] = 110
    """How many pods each takes."""
    zones: Annotated[tuple[DnsLabel, ...], unique(most=16)] = ()
    """The zones they are spread over."""


class MachinePoolSpec(Value, frozen=True, kw_only=True):
    """Which machines there should be."""

    RULES = (
        immutable("role"),
        immutable("provider"),
        Rule(
            "self.role != 'ControlPlane' || self.replicas in [1, 3, 5]",
            "replicas must be 1, 3 or 5 when role is ControlPlane",
            ".replicas",
        ),
        Rule(
            "has(self.static) == (self.provider == 'Static')",
            "static must be given when provider is Static, and only then",
            ".static",
        ),
        Rule(
            "has(self.ec2) == (self.provider == 'EC2')",
            "ec2 must be given when provider is EC2, and only then",
            ".ec2",
        ),
        Rule("!has(self.kwok) || self.provider == 'Kwok'", "kwok goes with provider Kwok only", ".kwok"),
        Rule(
            "!has(self.static) || self.replicas <= size(self.static.hosts)",
            "replicas must be no more than static.hosts",
            ".replicas",
        ),
    )

    role: Role
    """What the machines are for."""
    provider: Provider
    """Where they come from."""
    replicas: Annotated[int, Meta(ge=0, le=5000)]
    """How many there should be; 1, 3 or 5 for the control plane."""
    version: Version
    """The Kubernetes version of new machines."""
    software: Annotated[tuple[Software, ...], keyed("name", most=32)] = ()
    """Other packages and their versions."""
    labels: LabelMap = field(default_factory=TEXTS)
    """Labels of the nodes."""
    taints: Annotated[tuple[Taint, ...], keyed("key", "effect", most=32)] = ()
    """Taints of the nodes."""
    surge: IntOrPercent = 1
    """How many machines more there may be while some are replaced (to come)."""
    initialise_timeout: Duration = "15m"
    """How long a new machine may take until it is initialised; a slower one is named, others go on."""
    join_timeout: Duration = "10m"
    """How long an initialised machine may take until its node is Ready."""
    paused: bool = False
    """Add and remove nothing."""
    static: StaticSettings | None = None
    """For provider Static."""
    ec2: Ec2Settings | None = None
    """For provider EC2."""
    kwok: KwokSettings | None = None
    """For provider Kwok."""


class Infrastructure(Value, frozen=True, kw_only=True):
    """What the provider has for the pool besides machines."""

    networks: Annotated[tuple[Line, ...], ordered(most=32)] = ()
    """The networks."""
    addresses: Annotated[tuple[Address, ...], ordered(most=64)] = ()
    """The addresses."""
    endpoint: Line = ""
    """Where the API server is reached."""


class MachinePoolStatus(Status, frozen=True, kw_only=True):
    """Which machines there are."""

    message: Message = ""
    """What it is doing or waiting for, in one line."""
    replicas: Count = 0
    """How many machines there are."""
    initialised: Count = 0
    """How many are initialised."""
    joined: Count = 0
    """How many have joined the cluster."""
    ready: Progress = Progress()
    """How many have a node that is Ready."""
    infrastructure: Infrastructure = Infrastructure()
    """What the provider has for the pool besides machines (to come)."""
    failed: Annotated[tuple[Name, ...], unique(most=500)] = ()
    """Machines that did not get ready in time."""


class MachinePool(Resource, frozen=True, kw_only=True):
    """A number of machines that are alike."""

    KIND = kinds.MACHINE_POOL
    SHORT_NAMES = ("mpool",)
    SCALE = True
    COLUMNS = (
        Column("Role", ".spec.role"),
        Column("Provider", ".spec.provider"),
        Column("Version", ".spec.version"),
        Column("Desired", ".spec.replicas", "integer"),
        Column("Machines", ".status.replicas", "integer"),
        Column("Nodes", ".status.ready.summary"),
        Column("Message", ".status.message", wide=True),
    )

    spec: MachinePoolSpec
    """Which machines there should be."""
    status: MachinePoolStatus = MachinePoolStatus()
    """Which there are."""


class MachineSpec(Value, frozen=True, kw_only=True):
    """What the machine is."""

    RULES = (
        immutable("pool"),
        immutable("role"),
        immutable("provider"),
        Rule(
            "!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)",
            "providerID cannot be changed once it is known",
            ".providerID",
        ),
        Rule("!oldSelf.replace || self.replace", "replace cannot be withdrawn", ".replace"),
    )

    pool: Name
    """The pool that it belongs to."""
    role: Role
    """What it is for."""
    provider: Provider
    """Where it comes from."""
    provider_id: CloudName | None = field(name="providerID", default=None)
    """Its id with the provider, once there is one."""
    replace: bool = False
    """Bring up another one, then remove this one."""


class Agent(Value, frozen=True, kw_only=True):
    """The agent on the machine."""

    version: Line = ""
    """Its version."""
    protocol: Count = 0
    """The protocol that it speaks."""
    heartbeat: Annotated[int, Meta(ge=0)] = 0
    """A counter that rises while it lives."""


class MachineStatus(Status, frozen=True, kw_only=True):
    """Where the machine is."""

    phase: MachinePhase | None = None
    """One word, derived from the conditions."""
    reason: Reason | None = None
    """Why it is there, in one word."""
    message: Message = ""
    """What it is doing or waiting for, in one line."""
    addresses: Annotated[tuple[Address, ...], ordered(most=16)] = ()
    """Its addresses."""
    host_key: HostKey | None = None
    """Its SSH host key."""
    machine_id: Line = field(name="machineID", default="")
    """Its `/etc/machine-id`; a node of that name with another one is not this machine's."""
    node: Name | None = None
    """The name of its node."""
    etcd_member_id: Annotated[str, Meta(min_length=1, max_length=16, pattern=r"^[0-9a-f]+$")] | None = field(
        name="etcdMemberID", default=None
    )
    """The member of etcd that runs on it, as etcd writes it: hexadecimal."""
    initialised: bool = False
    """The agent has installed the software and restarted the machine."""
    software: Annotated[tuple[SoftwareState, ...], keyed("name", most=32)] = ()
    """What it has and should have."""
    agent: Agent = Agent()
    """The agent on it."""
    operation: Operation | None = None
    """What is being done to it now."""
    removal: RemovalStep | None = None
    """How far it has left."""
    creation_time: Time | None = None
    """When the provider made it."""


class Machine(Resource, frozen=True, kw_only=True):
    """One machine, owned by its pool."""

    KIND = kinds.MACHINE
    SHORT_NAMES = ("mach",)
    COLUMNS = (
        Column("Pool", ".spec.pool"),
        Column("Phase", ".status.phase"),
        Column("Node", ".status.node"),
        Column("Address", ".status.addresses[0]"),
        Column("ID", ".spec.providerID", wide=True),
        Column("Message", ".status.message", wide=True),
    )

    spec: MachineSpec
    """What the machine is."""
    status: MachineStatus = MachineStatus()
    """Where it is."""
