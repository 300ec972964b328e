"""Provider OCM: OpenShift Cluster Manager, by the paths, queries, header and JSON of its API.

Each time anew: the cluster by its external id, its upgrade policies page by page, and the state of each until
one counts. The pull secret is read each time too, so that a new one is used as soon as it is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from shiplift.api.upgrade import Desired, UpgradeType
from shiplift.facts.kinds import CLUSTER_VERSION
from shiplift.kube import secrets
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.kube.secrets import Hidden, SecretUnusable
from shiplift.outside.door import Call, Door, Got, door_for
from shiplift.outside.errors import OutsideError
from shiplift.policy import names
from shiplift.policy.config import Ocm, Policies, Section
from shiplift.policy.decide.reports import Report
from shiplift.policy.document import Document, Wanted, wanted

ROOT = "/api/clusters_mgmt/v1/clusters"
PATHS = {Policies.CLUSTER: "upgrade_policies", Policies.CONTROL_PLANE: "control_plane/upgrade_policies"}
IGNORED = frozenset({"pending", "completed", "cancelled"})
"""States of policies that are not to be followed."""
PAGE, MOST_PAGES = 50, 10
_REGISTRY = "cloud.openshift.com"
_SCHEME = "AccessToken"
_EUS, _STABLE = "eus", "stable"
_MINUTES = {"": 1, "minutes": 1, "hours": 60}
T = TypeVar("T")


class _Version(msgspec.Struct, frozen=True):
    channel_group: str = _STABLE


class _Period(msgspec.Struct, frozen=True):
    value: float = 0
    unit: str = ""


class Cluster(msgspec.Struct, frozen=True):
    """What is used of a cluster."""

    id: str
    version: _Version = _Version()
    node_drain_grace_period: _Period | None = None


class State(msgspec.Struct, frozen=True):
    """How far OCM thinks a policy is."""

    value: str = ""
    description: str = ""


class UpgradePolicy(msgspec.Struct, frozen=True):
    """What is used of a policy."""

    id: str
    version: str = ""
    next_run: datetime | None = None
    state: State | None = None


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a collection."""

    total: int
    """Always said: an answer without it is none, and is not taken for "there is nothing"."""
    items: tuple[T, ...] = ()


class OcmProvider:
    """Asked, and told, on any thread."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._namespace = client, namespace

    def ask(self, config: Section) -> Wanted | None:
        """The first policy that is to be followed, or None."""
        session = self._session(config)
        cluster = session.cluster()
        for policy in session.policies(cluster):
            if policy.version and session.state(cluster, policy) not in IGNORED:
                return translated(policy, cluster, config.ocm)
        return None

    def tell(self, config: Section, report: Report) -> Got:
        """Report the state of a policy; the answer, whatever its status."""
        session = self._session(config)
        return session.tell(session.cluster(), report)

    def _session(self, config: Section) -> Session:
        external = config.ocm.cluster_id or self._cluster_id()
        return Session(config.ocm, door_for(config.reach), external, self._token(config.ocm, external))

    def _cluster_id(self) -> str:
        try:
            found = self._client.get(CLUSTER_VERSION, names.CLUSTER_VERSION)
        except NotFound:
            raise KubeError(
                "there is no ClusterVersion that names the cluster", hint="set ocm.clusterId"
            ) from None
        spec: dict[str, Any] = found.get("spec") or {}
        if not spec.get("clusterID"):
            raise KubeError("there is no spec.clusterID of ClusterVersion version", hint="set ocm.clusterId")
        return str(spec["clusterID"])

    def _token(self, ocm: Ocm, external: str) -> Hidden:
        space = self._namespace if ocm.pull_secret else names.PULL_SECRET_SPACE
        name = ocm.pull_secret or names.PULL_SECRET
        held = secrets.read(self._client, space, name, names.PULL_SECRET_KEY)
        return Hidden(f"{external}:{login(held, f'Secret {space}/{name}')}".encode())


class _Login(msgspec.Struct, frozen=True):
    auth: str = ""


class _Logins(msgspec.Struct, frozen=True):
    auths: dict[str, _Login] = msgspec.field(default_factory=dict[str, _Login])


def login(held: Hidden, about: str) -> str:
    """What a pull secret has for OCM; errors say what is missing, and nothing of what is there."""
    try:
        found = msgspec.json.decode(held.reveal(), type=_Logins).auths.get(_REGISTRY)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise SecretUnusable(f"{about} holds no pull secret") from None
    if found is None or not found.auth:
        raise SecretUnusable(f"{about} has no login for {_REGISTRY}")
    return found.auth


class Session:
    """One refresh: the same door, cluster and token for all its calls."""

    def __init__(self, ocm: Ocm, through: Door, external: str, token: Hidden) -> None:
        self._ocm, self._door, self._external, self._token = ocm, through, external, token

    def cluster(self) -> Cluster:
        """The one that has our external id."""
        search = quote(f"external_id = '{self._external}'")
        got = self._get(f"?search={search}&size=1")
        page = _decoded(got, Page[Cluster])
        if page.total != 1 or len(page.items) != 1:
            raise got.failure(
                f"it knows {page.total} clusters with the external id {self._external}, not one"
                " (hint: the pull secret may be of another account, or its owner disabled)"
            )
        return page.items[0]

    def policies(self, cluster: Cluster) -> Iterator[UpgradePolicy]:
        """All, page by page, in OCM's order."""
        seen = 0
        for number in range(1, MOST_PAGES + 1):
            got = self._get(f"/{_part(cluster.id)}/{self._path}?page={number}&size={PAGE}")
            page = _decoded(got, Page[UpgradePolicy])
            yield from page.items
            seen += len(page.items)
            if seen >= page.total:
                return
            if not page.items:
                raise got.failure(f"it says that there are {page.total} upgrade policies, and shows {seen}")
        raise OutsideError(f"there are more than {MOST_PAGES * PAGE} upgrade policies")

    def state(self, cluster: Cluster, policy: UpgradePolicy) -> str:
        """Of a control plane's policies it is told with them."""
        if policy.state is not None:
            return policy.state.value.lower()
        if self._ocm.policies is Policies.CONTROL_PLANE:
            return "pending"
        got = self._get(f"/{_part(cluster.id)}/{self._path}/{_part(policy.id)}/state")
        return _decoded(got, State).value.lower()

    def tell(self, cluster: Cluster, report: Report) -> Got:
        said: dict[str, Any] = {"value": report.value.value, "description": report.description}
        apart = self._ocm.policies is Policies.CLUSTER
        path = f"/{_part(cluster.id)}/{self._path}/{_part(report.policy)}{'/state' if apart else ''}"
        return self._send("PATCH", path, msgspec.json.encode(said if apart else {"state": said}))

    @property
    def _path(self) -> str:
        return PATHS[self._ocm.policies]

    def _get(self, path: str) -> Got:
        return self._send("GET", path).good()

    def _send(self, method: str, path: str, body: bytes = b"") -> Got:
        headers = (("Accept", "application/json"), *((("Content-Type", "application/json"),) if body else ()))
        url = f"{self._ocm.base_url.rstrip('/')}{ROOT}{path}"
        return self._door.send(Call(method, url, headers, body, self._token, _SCHEME))


def _part(name: str) -> str:
    """An id of OCM's as a part of an address; it cannot lead elsewhere."""
    if not name or name in (".", ".."):
        raise OutsideError("OCM names something by no id")
    return quote(name, safe="")


def _decoded(got: Got, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(got.body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise got.failure(f"the answer cannot be read: {got.hidden(str(error))[:200]}") from None


def translated(policy: UpgradePolicy, cluster: Cluster, ocm: Ocm) -> Wanted:
    """The policy as an UpgradeConfig says it."""
    kind = ocm.upgrade_type
    channel = (
        channel_of(policy.version, cluster.version.channel_group) if kind is UpgradeType.OPENSHIFT else None
    )
    grace = cluster.node_drain_grace_period
    desired = {"version": policy.version, **({"channel": channel} if channel else {})}
    document = Document(
        id=policy.id,
        desired=msgspec.convert(desired, Desired),
        type=kind,
        upgrade_at=UNSET if policy.next_run is None else policy.next_run,
        pdb_force_drain_timeout=UNSET if grace is None else minutes(grace),
    )
    return wanted(document)


def minutes(period: _Period) -> int:
    """OCM says the unit, and it counts."""
    if period.unit.lower() not in _MINUTES:
        raise OutsideError(f"OCM gives the drain grace period in {period.unit[:20]!r}")
    return round(period.value * _MINUTES[period.unit.lower()])


def channel_of(version: str, group: str) -> str:
    """`stable-4.20`; of extended support there are channels for even minors only."""
    numbers = version.split(".")
    if len(numbers) < 3 or not (numbers[0].isdigit() and numbers[1].isdigit()):
        raise OutsideError(f"OCM asks for version {version[:40]!r}")
    minor = int(numbers[1])
    even = minor + minor % 2 if group == _EUS else minor
    return f"{group or _STABLE}-{numbers[0]}.{even}"
