"""What a user asks for: pools and kubeadm's own documents, read from one file and checked as a whole.

What is kept true: whatever comes out of here can be begun. Every error names the document, and nothing has
been looked at or changed when it is raised. The API server's rules for pools hold here too, since there is
none yet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec
import yaml

from shiplift.api.machines import MachinePool, Provider, Role, StaticHost, StaticSettings
from shiplift.api.registry import UnfitObjectError, decode
from shiplift.api.values import duration
from shiplift.engine.versions import kubelet_fits, parse
from shiplift.facts.kinds import GROUP, MACHINE_POOL
from shiplift.machines.claims import double_claims
from shiplift.machines.endpoints import PORT, EndpointError, normal
from shiplift.machines.names import AGENT, KUBEADM_GROUP, LABEL_KEY, PACKAGES
from shiplift.machines.words import counted

Document = Mapping[str, Any]
_CLUSTER = "ClusterConfiguration"
_KUBEADM = ("InitConfiguration", _CLUSTER, "JoinConfiguration")
_COMPONENTS = ("KubeletConfiguration", "KubeProxyConfiguration")
_OURS = {
    "InitConfiguration": ("bootstrapTokens", "certificateKey"),
    "JoinConfiguration": ("discovery", "controlPlane.certificateKey"),
}
"""What bootstrap itself writes into kubeadm's documents."""
_SIZES = (1, 3, 5)
_SKEW = "a kubelet is never ahead of its API server, and at most three minors behind it"
_HOW = "docs/bootstrap.md shows a file"
_KUBEADM_SHOWS = "the documentation of kubeadm's v1beta4 shows one"
_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_WITH_PORT = re.compile(r"[^:]+:\d+")
_IN_PACKAGE = re.compile(r"(?:\d+:)?v?(\d{1,4}\.\d{1,4}(?:\.\d{1,6})?)(?![0-9.])")
_RESERVED = ("kubernetes.io", "k8s.io")
_KUBELET_MAY = ("kubelet.kubernetes.io", "node.kubernetes.io")


class PoolsError(Exception):
    """The file cannot be followed; says which part of it, and what would help."""

    def __init__(self, message: str, hint: str = _HOW) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Candidate(msgspec.Struct, frozen=True):
    """A host of a pool: a machine to be, or one to choose from."""

    host: StaticHost
    pool: MachinePool

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def role(self) -> Role:
        return self.pool.spec.role

    @property
    def control_plane(self) -> bool:
        return self.role is Role.CONTROL_PLANE

    @property
    def user(self) -> str:
        return static(self.pool).user

    @property
    def kubelet(self) -> str:
        """The version of Kubernetes in its kubelet's package; empty where that tells none."""
        found = _IN_PACKAGE.match(self.packages()["kubelet"])
        return found[1] if found else ""

    def packages(self) -> dict[str, str]:
        """Versions by package: a text that ends in `-*` stands for any revision of a package."""
        version = self.pool.spec.version.removeprefix("v")
        kubernetes = {name: f"{version}-*" for name in PACKAGES}
        return kubernetes | {one.name: one.version for one in self.pool.spec.software}


class Manifest(msgspec.Struct, frozen=True):
    """The pod network, as `kubectl apply` takes it."""

    name: str
    text: str
    digest: str


class AgentPackage(msgspec.Struct, frozen=True):
    """The agent's Debian package."""

    version: str
    content: bytes
    digest: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """All that was asked for."""

    pools: tuple[MachinePool, ...]
    kubeadm: Mapping[str, Document] = {}
    """By kind."""
    network: Manifest | None = None
    agent: AgentPackage | None = None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every host: control planes first, then in the order of the file."""
        found = [Candidate(host, pool) for pool in self.pools for host in static(pool).hosts]
        return tuple(sorted(found, key=lambda one: not one.control_plane))

    @property
    def endpoint(self) -> str:
        """Host and port of the API server, whichever control plane answers; empty without one."""
        return str(self.kubeadm.get(_CLUSTER, {}).get("controlPlaneEndpoint") or "")

    @property
    def control_planes(self) -> int:
        """How many control planes there should be."""
        return sum(one.spec.replicas for one in self.pools if one.spec.role is Role.CONTROL_PLANE)


_MOST_ALIASES = 32
"""Aliases within aliases make much of little: of so many not enough to matter."""


def static(pool: MachinePool) -> StaticSettings:
    """What a pool of hosts says of them; `read` lets no other pool through."""
    if pool.spec.static is None:
        raise PoolsError(f"MachinePool {pool.metadata.name} names no hosts", _HOW)
    return pool.spec.static


def read(text: bytes, name: str = "pools.yaml") -> Wanted:
    """What the file asks for, or `PoolsError`."""
    pools: list[MachinePool] = []
    kubeadm: dict[str, Document] = {}
    for number, one in enumerate(_documents(text, name), 1):
        where = f"document {number} of {name}"
        kind = str(one.get("kind", ""))
        if _is_pool(one):
            pools.append(_pool(one, where))
        else:
            if kind in kubeadm:
                raise PoolsError(f"{where} is a second {kind}", "merge the two")
            kubeadm[kind] = _passed_through(one, kind, where)
    wanted = Wanted(pools=tuple(pools), kubeadm=_with_endpoint(kubeadm))
    for check in _CHECKS:
        check(wanted)
    return wanted


def _documents(text: bytes, name: str) -> Iterator[dict[str, Any]]:
    """Those that are not empty. A key that stands twice in a mapping is refused: YAML would take the last one
    in silence, and drop what the first one asks for."""
    try:
        if (aliases := _aliases(text)) > _MOST_ALIASES:
            raise PoolsError(f"{name} has {aliases} aliases; {_MOST_ALIASES} at most are followed")
        found = [(one, key) for one, key in _loaded(text) if one is not None]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PoolsError(f"{name} is no YAML: {_fault(error)}") from error
    except RecursionError as error:
        raise PoolsError(f"{name} is nested too deeply, or something in it contains itself") from error
    for number, (one, key) in enumerate(found, 1):
        where = f"document {number} of {name}"
        if key is not None:
            again = f"{key.value} twice in one place: line {key.start_mark.line + 1}"
            raise PoolsError(f"{where} has {again}", "leave one of them out")
        if not isinstance(one, dict):
            raise PoolsError(f"{where} is no object")
        yield cast("dict[str, Any]", one)


def _aliases(text: bytes) -> int:
    library: Any = yaml  # of which not all has types
    return sum(isinstance(one, yaml.AliasEvent) for one in library.parse(text, Loader=yaml.SafeLoader))


def _loaded(text: bytes) -> Iterator[tuple[Any, yaml.ScalarNode | None]]:
    """Each document, and a key that stands twice in it as it is written: what a merge brings comes later."""
    loader: Any = yaml.SafeLoader(text)  # whose methods have no types
    try:
        while loader.check_node():
            node: yaml.Node = loader.get_node()
            twice = _repeated(node, set())
            yield loader.construct_document(node), twice
    finally:
        loader.dispose()


def _repeated(node: yaml.Node, seen: set[int]) -> yaml.ScalarNode | None:
    """The first key that stands a second time in its mapping, or in one within it."""
    if id(node) in seen:
        return None
    seen.add(id(node))
    pairs: list[tuple[yaml.Node, yaml.Node]] = node.value if isinstance(node, yaml.MappingNode) else []
    keys: set[tuple[str, str]] = set()
    for key in (key for key, _ in pairs if isinstance(key, yaml.ScalarNode)):
        if (key.tag, key.value) in keys:
            return key
        keys.add((key.tag, key.value))
    of_pairs = [one for pair in pairs for one in pair]
    inner: list[yaml.Node] = node.value if isinstance(node, yaml.SequenceNode) else of_pairs
    return next((found for one in inner if (found := _repeated(one, seen)) is not None), None)


def _fault(error: Exception) -> str:
    """Where it is, and what."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())


def _is_pool(document: Document) -> bool:
    group = str(document.get("apiVersion", "")).partition("/")[0]
    return group == GROUP or document.get("kind") == MACHINE_POOL.kind


def _pool(document: Document, where: str) -> MachinePool:
    if document.get("kind") != MACHINE_POOL.kind:
        kind = document.get("kind") or "document without a kind"
        raise PoolsError(f"{where} is a {kind}", f"of {GROUP} only kind {MACHINE_POOL.kind} is read from it")
    if document.get("apiVersion") != MACHINE_POOL.api_version:
        raise PoolsError(
            f"{where}: apiVersion of a MachinePool is {document.get('apiVersion')!r}",
            f"it has to be {MACHINE_POOL.api_version}",
        )
    _known_provider(document, where)
    for field in document.keys() - _FIELDS:
        raise PoolsError(f"{where}: a MachinePool has no field {field}", f"it has {', '.join(_FIELDS)}")
    try:
        pool = decode(MACHINE_POOL, _encoded(document, where))
    except UnfitObjectError as error:
        raise PoolsError(f"{where}: {error}", "docs/reference/crds.md tells what may stand there") from error
    assert isinstance(pool, MachinePool)  # noqa: S101 - decode of that kind
    if not pool.metadata.name:
        raise PoolsError(f"{where}: a MachinePool has no name", "give it metadata.name")
    if not _NAME.fullmatch(pool.metadata.name):
        raise PoolsError(
            f"{where}: {pool.metadata.name!r} cannot be the name of a MachinePool",
            "lower-case letters, digits and hyphens",
        )
    for path in unknown_fields(document.get("spec", {}), pool.spec):
        raise PoolsError(f"{where}: MachinePool {pool.metadata.name} has no field spec{path}")
    return pool


def _encoded(document: Document, where: str) -> bytes:
    try:
        return msgspec.json.encode(document)
    except RecursionError as error:
        raise PoolsError(f"{where} contains itself") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise PoolsError(f"{where} has what no object can have: {error}") from error


def _known_provider(document: Document, where: str) -> None:
    """An unknown provider is named as such, and so is one that is not made from a laptop."""
    spec = document.get("spec")
    given = cast("Document", spec).get("provider") if isinstance(spec, dict) else None
    known = [one.value for one in Provider]
    if isinstance(given, str) and given not in known:
        raise PoolsError(f"{where}: there is no provider {given!r}", f"one of {', '.join(known)}")
    if given in (Provider.EC2, Provider.KWOK):
        raise PoolsError(
            f"{where}: provider {given} makes its machines from within a cluster",
            "bootstrap begins with hosts that are there: provider Static",
        )


def unknown_fields(given: object, read: object, path: str = "") -> Iterator[str]:
    """Fields that somebody wrote and nobody reads: a slip that must not pass in silence."""
    if isinstance(read, msgspec.Struct) and isinstance(given, dict):
        names = {one.encode_name: one.name for one in msgspec.structs.fields(read)}
        for key, value in cast("dict[str, object]", given).items():
            if key not in names:
                yield f"{path}.{key}"
            else:
                yield from unknown_fields(value, getattr(read, names[key]), f"{path}.{key}")
    elif isinstance(read, tuple) and isinstance(given, list):
        pairs = zip(cast("list[object]", given), cast("tuple[object, ...]", read), strict=False)
        for number, (one, other) in enumerate(pairs):
            yield from unknown_fields(one, other, f"{path}[{number}]")


def _passed_through(document: Document, kind: str, where: str) -> Document:
    """One of kubeadm's own documents; what is in it is kubeadm's to judge."""
    _encoded(document, where)
    version = str(document.get("apiVersion", ""))
    if kind in _COMPONENTS and version.partition("/")[0].endswith(".config.k8s.io"):
        return document
    if kind not in _KUBEADM:
        raise PoolsError(
            f"{where} is of kind {kind!r}" if kind else f"{where} has no kind",
            f"it takes MachinePool, {', '.join((*_KUBEADM, *_COMPONENTS))}",
        )
    if version != KUBEADM_GROUP:
        raise PoolsError(f"{where}: apiVersion of {kind} is {version!r}", f"it has to be {KUBEADM_GROUP}")
    for path in _OURS.get(kind, ()):
        if _at(document, path) is not None:
            raise PoolsError(f"{where}: {kind} has {path}", f"leave {path} out: bootstrap writes it itself")
    _well_formed(document, kind, where)
    if _at(document, "nodeRegistration.name") is not None:
        raise PoolsError(
            f"{where}: {kind} has nodeRegistration.name", "leave it out: nodes get the hosts' names"
        )
    return document


def _well_formed(document: Document, kind: str, where: str) -> None:
    """What bootstrap adds to has to have the form that kubeadm gives it."""
    if "controlPlaneEndpoint" in document and not isinstance(document["controlPlaneEndpoint"], str):
        raise PoolsError(f"{where}: controlPlaneEndpoint of {kind} is no text", "leave it out, or name one")
    if not isinstance(document.get("controlPlane") or {}, dict):
        raise PoolsError(f"{where}: controlPlane of {kind} is no object", _KUBEADM_SHOWS)
    registered = document.get("nodeRegistration", {})
    if not isinstance(registered, dict):
        raise PoolsError(f"{where}: nodeRegistration of {kind} is no object", _KUBEADM_SHOWS)
    for path in ("kubeletExtraArgs", "taints", "ignorePreflightErrors"):
        given = cast("Document", registered).get(path, [])
        if not isinstance(given, list):
            raise PoolsError(f"{where}: nodeRegistration.{path} of {kind} is no list", _KUBEADM_SHOWS)
        of = str if path == "ignorePreflightErrors" else dict
        if not all(isinstance(one, of) for one in cast("list[object]", given)):
            kinds = "texts" if of is str else "objects"
            raise PoolsError(
                f"{where}: nodeRegistration.{path} of {kind} is no list of {kinds}", _KUBEADM_SHOWS
            )


def _with_endpoint(kubeadm: Mapping[str, Document]) -> Mapping[str, Document]:
    """The controlPlaneEndpoint in the one form in which init, join and the cluster's answer agree: without a
    port, or with IPv6 in no brackets, kubeadm takes it for an init alone."""
    cluster = kubeadm.get(_CLUSTER, {})
    given = cluster.get("controlPlaneEndpoint")
    if not given:
        return kubeadm
    try:
        found = normal(str(given), _bind_port(kubeadm))
    except EndpointError as error:
        raise PoolsError(
            f"controlPlaneEndpoint of {_CLUSTER}: {error}", "write it like api.example.com:6443"
        ) from error
    return {**kubeadm, _CLUSTER: {**cluster, "controlPlaneEndpoint": found}}


def _bind_port(kubeadm: Mapping[str, Document]) -> int:
    """Where the API server of the first machine listens."""
    found = _at(kubeadm.get("InitConfiguration", {}), "localAPIEndpoint.bindPort")
    return found if isinstance(found, int) and 1 <= found <= 65535 else PORT


def _at(document: Document, path: str) -> object:
    found: object = document
    for part in path.split("."):
        found = cast("Document", found).get(part) if isinstance(found, dict) else None
    return found


# --- what has to hold of all together ---


def _some_control_plane(wanted: Wanted) -> None:
    roles = [one.spec.role for one in wanted.pools]
    if Role.CONTROL_PLANE not in roles:
        raise PoolsError("no MachinePool has the role ControlPlane", "a cluster begins with one")
    if not wanted.control_planes:
        raise PoolsError(
            "no control plane is asked for", "give a pool with role ControlPlane replicas of 1, 3 or 5"
        )


def _own_rules(wanted: Wanted) -> None:
    """The rules of the API server for a pool, and for all control planes together."""
    for one in wanted.pools:
        name, spec = one.metadata.name, one.spec
        if spec.provider is Provider.STATIC and spec.static is None:
            raise PoolsError(
                f"MachinePool {name} names no hosts", "static must be given when provider is Static"
            )
        if spec.replicas > (hosts := len(static(one).hosts)):
            raise PoolsError(
                f"MachinePool {name} asks for {counted(spec.replicas, 'machine')}"
                f" and names {counted(hosts, 'host')}",
                "add hosts, or lower its replicas",
            )
        if spec.role is Role.CONTROL_PLANE and spec.replicas not in _SIZES:
            raise PoolsError(
                f"MachinePool {name} asks for {spec.replicas} control planes", "replicas must be 1, 3 or 5"
            )
    if wanted.control_planes not in _SIZES:
        raise PoolsError(f"the pools ask for {wanted.control_planes} control planes in all", "1, 3 or 5")


def _each_once(wanted: Wanted) -> None:
    if twice := _twice(one.metadata.name for one in wanted.pools):
        raise PoolsError(f"there are two MachinePools {twice}", "give each a name of its own")
    planes_first = sorted(wanted.pools, key=lambda one: one.spec.role is not Role.CONTROL_PLANE)
    for claim in double_claims(planes_first):
        raise PoolsError(str(claim), "leave it to one of them")
    for pool in wanted.pools:
        hosts = static(pool).hosts
        if ported := next((one for one in hosts if _WITH_PORT.fullmatch(one.address)), None):
            raise PoolsError(
                f"MachinePool {pool.metadata.name}: address {ported.address} of {ported.name} has a port",
                "write the port as port",
            )
        if twice := _twice(one.name for one in hosts) or _twice(
            f"{one.address} port {one.port}" for one in hosts
        ):
            raise PoolsError(f"MachinePool {pool.metadata.name} names {twice} twice", "leave one of them out")


def _twice(names: Iterable[str]) -> str:
    return next((name for name, count in Counter(names).items() if count > 1), "")


def _one_endpoint(wanted: Wanted) -> None:
    if wanted.control_planes > 1 and not wanted.endpoint:
        raise PoolsError(
            f"{wanted.control_planes} control planes need a controlPlaneEndpoint",
            "add a ClusterConfiguration with controlPlaneEndpoint: an address that leads to all of them",
        )


def _versions(wanted: Wanted) -> None:
    planes = {
        one.spec.version.removeprefix("v") for one in wanted.pools if one.spec.role is Role.CONTROL_PLANE
    }
    if len(planes) > 1:
        raise PoolsError(
            f"the control planes have versions {' and '.join(sorted(planes))}", "give all the same"
        )
    given = str(wanted.kubeadm.get(_CLUSTER, {}).get("kubernetesVersion", ""))
    version = planes.pop()
    if given and given.removeprefix("v") != version:
        raise PoolsError(
            f"ClusterConfiguration has kubernetesVersion {given}, the control planes {version}",
            "leave it out: it follows from the pool",
        )
    for one in wanted.pools:
        if not kubelet_fits(parse(one.spec.version), parse(version)):
            raise PoolsError(
                f"MachinePool {one.metadata.name} has version {one.spec.version},"
                f" the control planes {version}",
                _SKEW,
            )
        _kubelet(one, version)


def _kubelet(pool: MachinePool, planes: str) -> None:
    """Its software may name another one than its version."""
    name, found = pool.metadata.name, Candidate(static(pool).hosts[0], pool).kubelet
    if not found:
        raise PoolsError(f"MachinePool {name}: the kubelet of its software has no version", "write it whole")
    if not kubelet_fits(parse(found), parse(planes)):
        raise PoolsError(f"MachinePool {name} has kubelet {found}, the control planes {planes}", _SKEW)


def _software(wanted: Wanted) -> None:
    """Two versions of the agent would be installed back and forth."""
    for pool in wanted.pools:
        if any(one.name == AGENT for one in pool.spec.software):
            raise PoolsError(
                f"MachinePool {pool.metadata.name}: its software names {AGENT}",
                "leave it out: machines get the agent of this shiplift, and a NodeRollout changes it",
            )


def _labels(wanted: Wanted) -> None:
    """A kubelet does not start when it is to give itself a label that Kubernetes keeps for others."""
    for pool in wanted.pools:
        for key in pool.spec.labels:
            if not LABEL_KEY.fullmatch(key):
                raise PoolsError(
                    f"MachinePool {pool.metadata.name}: no node can have the label {key!r}",
                    "a key is a name, with a domain and a slash before it where it has one",
                )
            prefix = key.rpartition("/")[0]
            kept = any(prefix == one or prefix.endswith(f".{one}") for one in _RESERVED)
            if kept and not any(prefix == one or prefix.endswith(f".{one}") for one in _KUBELET_MAY):
                raise PoolsError(
                    f"MachinePool {pool.metadata.name}: a node may not give itself the label {key}",
                    "put it on with kubectl label when the node is there",
                )


def _times(wanted: Wanted) -> None:
    for pool in wanted.pools:
        given = {"initialiseTimeout": pool.spec.initialise_timeout, "joinTimeout": pool.spec.join_timeout}
        for name, text in given.items():
            if not duration(text):
                raise PoolsError(
                    f"MachinePool {pool.metadata.name}: with a {name} of {text} nothing comes to its end",
                    "leave it out, or give it minutes",
                )


_CHECKS = (_some_control_plane, _each_once, _own_rules, _one_endpoint, _versions, _software, _labels, _times)
"""In this order: what comes first is told."""
