"""Gathers what there is to know of one service: its object from the store, its StatefulSets and pods live
(what a swap depends on has no row), and what its servers said when they were last asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from shiplift.api.marks import UPGRADE_HOLD
from shiplift.api.quorum import QuorumService
from shiplift.api.upgrade import UpgradeConfig, UpgradePhase
from shiplift.api.values import ConditionStatus
from shiplift.engine import clock
from shiplift.engine.layer import Retry
from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import NODE, POD, QUORUM_SERVICE, STATEFUL_SET, UPGRADE_CONFIG
from shiplift.facts.nodes import Node
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import uid_of
from shiplift.kube.store import Snapshot, Store
from shiplift.quorum.artifacts import serving_host
from shiplift.quorum.engines.making import comparing
from shiplift.quorum.images.registry import Platform
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import Line, QuorumDecision, Reason, Validity, View
from shiplift.quorum.names import FINALIZER, Record
from shiplift.quorum.observe.asking import Asking, Target
from shiplift.quorum.observe.gathering import Read, Recorded, view_of
from shiplift.quorum.observe.members import Json, Place, servers
from shiplift.quorum.records import in_status, known
from shiplift.quorum.tell.report import given_up, on_record, recalled
from shiplift.quorum.validating import trust_of

_ARCHITECTURE = "kubernetes.io/arch"
BUSY, STALLED, RESTING = timedelta(seconds=2), timedelta(seconds=10), timedelta(seconds=30)
"""How often servers are asked."""
_UPGRADING = (UpgradePhase.UPGRADING,)
_MOVED = "WorkloadsMoved"
"""The step of an upgrade after which quorum services have their turn."""
_WHILE_CALLING = timedelta(minutes=5)
_NOTHING: Mapping[str, Record] = {}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_AT_REST = (
    Reason.AT_TARGET,
    Reason.PAUSED,
    Reason.WAITS_FOR_UPGRADE,
    Reason.SWAPPED_BY_ANOTHER,
    Reason.NAMED_TWICE,
)


class Sight(msgspec.Struct, frozen=True):
    """A service, and all that its next decision depends on."""

    service: QuorumService
    view: View
    every: timedelta
    """How often its servers are asked: nothing announces what they say."""


class Watched:
    """One service for one term: what is remembered of it, and who asks its servers."""

    def __init__(self, memory: Memory, asking: Asking) -> None:
        self.memory, self.asking = memory, asking
        self.decided: tuple[int, QuorumDecision] | None = None
        """What was decided last, of which generation."""

    def every(self, generation: int) -> timedelta:
        if self.decided is None or self.decided[0] != generation:
            return BUSY
        line = self.decided[1].line
        if line.reason in _AT_REST:
            return RESTING
        return STALLED if line.stalled else BUSY


class Observer:
    """Looks; reads only."""

    def __init__(self, client: Client, store: Store) -> None:
        self._client, self._store = client, store

    def observe(self, namespace: str, name: str, watched: Watched, outcomes: Outcomes) -> Sight | None:
        """None where there is no such service."""
        snapshot = self._store.snapshot(QUORUM_SERVICE, UPGRADE_CONFIG, NODE)
        row = snapshot.custom(QUORUM_SERVICE, name, namespace)
        if row is None:
            return None
        if snapshot.stale(QUORUM_SERVICE) or any(one.kind == QUORUM_SERVICE for one in outcomes.unsettled):
            raise Retry(f"what is known of QuorumService {namespace}/{name} may be old")
        service: QuorumService = row.object
        try:
            read = self._read(service, watched.memory)
        except KubeError as error:
            raise Retry(f"StatefulSets and pods of QuorumService {namespace}/{name}: {error}") from None
        return self._seen(service, read, snapshot, watched, outcomes)

    def _seen(
        self, service: QuorumService, read: Read, snapshot: Snapshot, watched: Watched, outcomes: Outcomes
    ) -> Sight:
        memory, spec, now = watched.memory, service.spec, clock.now()
        place = _place(service, read, memory)
        memory.servers = dict(servers(read.sets, read.pods, place))
        memory.pull_secrets = tuple(dict.fromkeys(_pull_secrets(read.pods.values())))
        every = watched.every(service.metadata.generation)
        thorough = is_thorough(service, read.sets, memory, every)
        target = Target(service.metadata.namespace, spec, memory.servers, thorough, rights=every < RESTING)
        if not memory.calling:
            watched.asking.want(target, every, now, memory.acted)
        # while a call is under way nothing else is begun, and what was said before it still says where we are
        most = _WHILE_CALLING if memory.calling else 3 * every + timedelta(seconds=10)
        answers = watched.asking.answers(now, most, memory.acted)
        obstacle = answers.obstacle if answers else _unasked(watched.asking.trouble)
        found = platforms(read.pods.values(), snapshot)
        if len(found) == 1:
            memory.platform = Platform(architecture=found[0])
        elif found:
            obstacle = obstacle or _differ(found)
        view = view_of(
            _recorded(service, _upgrading(snapshot), _beside(service, snapshot)),
            read,
            answers.heard if answers else {},
            memory,
            comparing(spec.engine),
            place,
            outcomes,
            obstacle,
        )
        return Sight(service, view, every)

    def _read(self, service: QuorumService, memory: Memory) -> Read:
        namespace = service.metadata.namespace
        # listed, not read one by one: that is granted everywhere, so that a missing right can be named
        sets = of_service(service, self._client.list(STATEFUL_SET, namespace), memory.records)
        pods = {pod["metadata"]["name"]: pod for live in sets for pod in self._pods(live, namespace)}
        return Read(sets, pods)

    def _pods(self, live: Json, namespace: str) -> Iterable[Json]:
        """Those that the StatefulSet controls."""
        labels: dict[str, str] = live["spec"]["selector"].get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        for pod in self._client.list(POD, namespace, label_selector=selector):
            owners: list[Json] = pod["metadata"].get("ownerReferences") or []
            if any(one.get("controller") and one["uid"] == uid_of(live) for one in owners):
                yield pod


def of_service(
    service: QuorumService, every: Iterable[Json], remembered: Mapping[str, Record] = _NOTHING
) -> list[Json]:
    """Those that it names, in that order; and those that it is swapping though it names them no more: a swap
    ends with the StatefulSets that it began with."""
    there = {live["metadata"]["name"]: live for live in every}
    named = [name for name in service.spec.stateful_sets if name in there]
    begun = [name for name, live in there.items() if _record(service, live, remembered) is not None]
    return [there[name] for name in dict.fromkeys((*named, *begun))]


def _record(service: QuorumService, live: Json, remembered: Mapping[str, Record]) -> Record | None:
    name = service.metadata.name
    return known(name, live, in_status(name, service.status.swapping), remembered)


def is_thorough(service: QuorumService, sets: Iterable[Json], memory: Memory, every: timedelta) -> bool:
    """Whether a swap is under way, or may begin: the image is good. Also while it is refused: what is not
    asked any more would be unknown, and hide why."""
    if any(_record(service, live, memory.records) is not None for live in sets):
        return True
    candidate = memory.candidate(service.spec.image, trust_of(service.spec))
    return every < RESTING and candidate.validity is Validity.GOOD


def _beside(service: QuorumService, snapshot: Snapshot) -> list[QuorumService]:
    """The other services of its namespace."""
    about = service.metadata
    found: list[QuorumService] = [row.object for row in snapshot.customs(QUORUM_SERVICE)]
    return [
        one for one in found if one.metadata.namespace == about.namespace and one.metadata.uid != about.uid
    ]


def elder_of(service: QuorumService, others: Iterable[QuorumService]) -> str:
    """Who named one of its StatefulSets before it did, going by the age of the services."""
    mine = set(service.spec.stateful_sets)
    rivals = [one for one in others if mine & set(one.spec.stateful_sets) and _age(one) < _age(service)]
    return min(rivals, key=_age).metadata.name if rivals else ""


def _age(service: QuorumService) -> tuple[datetime, str]:
    about = service.metadata
    return about.creation_timestamp or _LONG_AGO, about.name


def _upgrading(snapshot: Snapshot) -> str:
    """Where the cluster goes whose upgrade comes first; empty where none does."""
    configs = (row.object for row in snapshot.customs(UPGRADE_CONFIG))
    running = (one for one in configs if isinstance(one, UpgradeConfig) and comes_first(one))
    return next((one.spec.desired.version or "another version" for one in running), "")


def comes_first(upgrade: UpgradeConfig) -> bool:
    """Until its workloads have moved: then it is the turn of quorum services."""
    status = upgrade.status
    moved = any(one.type == _MOVED and one.status is ConditionStatus.TRUE for one in status.conditions)
    return status.phase in _UPGRADING and not moved


def _recorded(service: QuorumService, upgrading: str, others: Sequence[QuorumService]) -> Recorded:
    about = service.metadata
    return Recorded(
        about.name,
        service.spec,
        on_record(service),
        given_up(service),
        about.deletion_timestamp is not None,
        about.uid,
        FINALIZER in about.finalizers,
        about.annotations.get(UPGRADE_HOLD, ""),
        service.status.switch_time,
        upgrading,
        service.status.switches,
        recalled(service),
        in_status(about.name, service.status.swapping),
        about.generation,
        elder_of(service, others),
        frozenset(one.metadata.name for one in others),
    )


def _place(service: QuorumService, read: Read, memory: Memory) -> Place:
    spec = service.spec
    statuses: list[Json] = [pod.get("status") or {} for pod in read.pods.values()]
    towards: str = next((one["podIP"] for one in statuses if one.get("podIP")), "")
    host = serving_host(spec.serving_url, towards) if towards or spec.serving_url else ""
    records = (_record(service, live, memory.records) for live in read.sets)
    begun = tuple(dict.fromkeys(record.container for record in records if record is not None))
    return Place(service.metadata.namespace, spec.container, spec.endpoint.port, host, begun)


def _pull_secrets(pods: Iterable[Json]) -> Iterable[str]:
    for pod in pods:
        named: list[Json] = pod["spec"].get("imagePullSecrets") or []
        yield from (one["name"] for one in named if one.get("name"))


def platforms(pods: Iterable[Json], snapshot: Snapshot) -> list[str]:
    """The architectures of the nodes that the pods are on, as far as they are known."""
    names = {pod["spec"].get("nodeName", "") for pod in pods} - {""}
    nodes = (snapshot.find(Node, name) for name in names)
    return sorted({found for node in nodes if node and (found := node.labels.get(_ARCHITECTURE, ""))})


def _unasked(trouble: str) -> Line | None:
    return Line(Reason.WAITS_FOR_SERVERS, f"servers cannot be asked: {trouble}") if trouble else None


def _differ(found: list[str]) -> Line:
    said = ", ".join(found)
    return Line(Reason.PLATFORMS_DIFFER, f"its pods run on nodes of {said}: no one binary is for all", True)
