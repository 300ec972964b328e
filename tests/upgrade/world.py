"""A cluster in memory for the conductor: nodes, one UpgradeConfig, and the objects of the layers that it
drives, on virtual time.

The API server's part applies steps with their preconditions. The layers `nodes` and `workloads` are played by
what their objects show of them: a NodeRollout changes a node at each turn, a WorkloadMigration tells whose
turn it is and is over when its nodes are of the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shiplift.api.base import ObjectMeta, Resource
from shiplift.api.marks import REFRESH_ASKED, TURN_TOLD, UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID
from shiplift.api.nodes import (
    NodeRollout,
    NodeRolloutSpec,
    NodeRolloutStatus,
    NodeState,
    NodeStatus,
    RolloutPhase,
)
from shiplift.api.operators import OperatorVersion
from shiplift.api.upgrade import Granted, UpgradeConfig, UpgradeConfigSpec, UpgradeType
from shiplift.api.values import Condition, ConditionStatus, Progress
from shiplift.api.windows import windows_of
from shiplift.api.workloads import MigrationState, WorkloadMigration, WorkloadMigrationSpec
from shiplift.engine import ledger
from shiplift.engine.step import Outcomes, Step
from shiplift.engine.versions import goal, reaches
from shiplift.facts.kinds import NODE_ROLLOUT, QUORUM_SERVICE, Kind
from shiplift.upgrade import steps
from shiplift.upgrade.act import rollouts
from shiplift.upgrade.model import ClusterVersion, ConfigPool, Later, Machine, Unreadable, View
from shiplift.upgrade.names import FINALIZER

OLD, NEW = "v1.35.4", "v1.36.3"
WORKLOADS = 2
"""So many there are; once every node that takes part is of the target they have arrived."""
START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


class Refused(Exception):  # noqa: N818 - says what the server said
    """A precondition does not hold: nothing has changed."""


@dataclass
class Host:
    kubelet: str = OLD
    api_server: str = ""
    ready: bool = True
    fails: bool = False
    left_out: bool = False
    agent: bool = True
    pool: str = ""


@dataclass
class World:
    now: datetime = START
    hosts: dict[str, Host] = field(default_factory=dict[str, Host])
    server: str = OLD
    """What the API server says that answers, where no control-plane node does."""
    servers: dict[str, str] = field(default_factory=dict[str, str])
    """What others behind the same address say."""
    upgrade: UpgradeConfig | None = None
    rollouts: dict[str, NodeRollout] = field(default_factory=dict[str, NodeRollout])
    migration: WorkloadMigration | None = None
    cluster_version: ClusterVersion | None = None
    config_pools: tuple[ConfigPool, ...] = ()
    operators: tuple[OperatorVersion, ...] = ()
    services: dict[str, Later] = field(default_factory=dict[str, Later])
    apps: dict[str, Later] = field(default_factory=dict[str, Later])
    never_allowed: tuple[str, ...] = ()
    stale: tuple[Kind, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    garbled: set[str] = field(default_factory=set[str])
    """NodeRollouts, by name, that somebody has made unreadable."""
    labelled: set[str] = field(default_factory=set[str])
    """Nodes without an API server that somebody has labelled as control plane."""
    unheard: set[str] = field(default_factory=set[str])
    """Control-plane nodes whose agents do not say which version the API server has."""
    masters: set[str] = field(default_factory=set[str])
    """Nodes that somebody has labelled `master`, and nothing else."""
    stuck: str = ""
    """What keeps every NodeRollout from going on; empty where nothing does."""
    kept_by: str = ""
    """The finalizer that keeps what is deleted from going; empty where none does."""
    gone: bool = False
    """Nobody looks at the WorkloadMigration."""
    stays: bool = False
    """Workloads do not move."""
    listeners: list[Callable[[Step], None]] = field(default_factory=list[Callable[[Step], None]])
    versions: int = 0

    @classmethod
    def of(cls, planes: int = 1, workers: int = 2, **spec: Any) -> World:
        world = cls()
        for number in range(planes):
            world.hosts[f"cp-{number}"] = Host(api_server=OLD)
        for number in range(workers):
            world.hosts[f"w-{number}"] = Host()
        world.ask(**spec)
        return world

    # --- what people do ---

    def number(self) -> int:
        self.versions += 1
        return self.versions

    def ask(self, version: str = NEW, **spec: Any) -> None:
        given = {"desired": {"version": version}} | spec
        about = ObjectMeta(name="cluster", uid=f"u-{self.number()}", generation=1)
        made = msgspec.convert(given, UpgradeConfigSpec, strict=False)
        self.upgrade = UpgradeConfig(metadata=about, spec=made)

    def change(self, **spec: Any) -> None:
        """The user writes fields of the spec."""
        one = self.config
        new = msgspec.structs.replace(one.spec, **spec)
        about = msgspec.structs.replace(one.metadata, generation=one.metadata.generation + 1)
        self.upgrade = msgspec.structs.replace(one, spec=new, metadata=about)

    def approve(self, digest: str = "", version: str = NEW) -> None:
        plan = self.config.status.plan
        found = digest or (plan.digest if plan else "")
        self.change(approved=Granted(version=version, plan_digest=found, by="ada"))

    def delete(self) -> None:
        about = msgspec.structs.replace(self.config.metadata, deletion_timestamp=self.now)
        self.upgrade = msgspec.structs.replace(self.config, metadata=about) if about.finalizers else None

    def mark(self, labels: dict[str, str] | None = None, **notes: str) -> None:
        """Marks on the UpgradeConfig, besides those that it has."""
        about = self.config.metadata
        new = msgspec.structs.replace(
            about, labels={**about.labels, **(labels or {})}, annotations={**about.annotations, **notes}
        )
        self.upgrade = msgspec.structs.replace(self.config, metadata=new)

    def migrate(self, **spec: Any) -> None:
        """A user's own WorkloadMigration."""
        about = ObjectMeta(name="cluster", uid=f"m-{self.number()}", generation=1)
        self.migration = WorkloadMigration(metadata=about, spec=WorkloadMigrationSpec(**spec))

    @property
    def config(self) -> UpgradeConfig:
        assert self.upgrade is not None
        return self.upgrade

    def later(self, kind: Kind, name: str, wants: str = "2.0", **fields: Any) -> None:
        """A quorum service, or an operator, that wants to become something else."""
        those = self.services if kind == QUORUM_SERVICE else self.apps
        those[name] = Later(kind, "shop", name, f"l-{self.number()}", wants=wants, **fields)

    # --- what the conductor sees ---

    def _is_plane(self, name: str) -> bool:
        return bool(self.hosts[name].api_server) or name in self.labelled | self.masters | self.unheard

    def view(self, outcomes: Outcomes | None = None) -> View:
        machines = tuple(
            Machine(
                name,
                one.kubelet,
                one.ready,
                self._is_plane(name),
                one.left_out,
                one.pool,
                one.agent,
                name in self.masters,
            )
            for name, one in sorted(self.hosts.items())
        )
        return View(
            upgrade=self.upgrade,
            machines=machines,
            api_servers=self._api_servers(),
            rollouts=tuple(one for name, one in self.rollouts.items() if name not in self.garbled),
            unreadable=(
                *self.unreadable,
                *(
                    Unreadable(NODE_ROLLOUT, name, "no number")
                    for name in self.rollouts
                    if name in self.garbled
                ),
            ),
            migration=self.migration,
            cluster_version=self.cluster_version,
            services=tuple(self.services.values()),
            apps=tuple(self.apps.values()),
            config_pools=self.config_pools,
            operators=self.operators,
            never_allowed=self.never_allowed,
            stale=self.stale,
            outcomes=outcomes or Outcomes(),
        )

    @property
    def _external(self) -> bool:
        return self.upgrade is not None and self.upgrade.spec.type is UpgradeType.EXTERNAL

    def _api_servers(self) -> dict[str, str]:
        if self.upgrade is not None and self.upgrade.spec.type is UpgradeType.OPENSHIFT:
            return {"version": self.cluster_version.reached if self.cluster_version else ""}
        planes = {name: one.api_server for name, one in self.hosts.items() if one.api_server}
        if not planes and not self.unheard:
            return {"kubernetes": self.server, **self.servers}
        silent = self.unheard | (set() if self._external else self.labelled)
        return {**planes, **{name: self.hosts[name].api_server for name in silent}}

    # --- the API server ---

    def take(self, step: Step) -> None:
        for one in self.listeners:
            one(step)
        match step:
            case steps.SetFinalizer() | steps.AskProvider() | steps.TellTurn() | steps.ForgetTurn():
                self._take_own(step)
            case steps.SetChannel() | steps.SetUpdate():
                self._tell_openshift(step)
            case steps.HoldLater():
                those = self.services if step.kind == QUORUM_SERVICE else self.apps
                if (found := those.get(step.name)) is None or found.uid != step.uid:
                    raise Refused("it is gone")
                those[step.name] = msgspec.structs.replace(found, held=step.why)
            case steps.MarkOurs():
                self._mark_ours(step)
            case _:
                if not self._take_rollout(step):
                    self._take_migration(step)

    def _take_rollout(self, step: Step) -> bool:
        """Whether it is a step on a NodeRollout; it is taken."""
        match step:
            case steps.MakeRollout():
                self._make(step)
            case steps.DeleteRollout():
                rollout = self._rollout(step.name, step.uid)
                self.rollouts[step.name] = self._deleted(rollout)
            case steps.HoldRollout():
                self.rollouts[step.name] = _held(self._rollout(step.name, step.uid), step.why)
            case steps.SetRollout() | steps.AimRollout():
                live = msgspec.to_builtins(self._rollout(step.name, step.uid))
                patch = rollouts.edit(live, step.settings).patch
                assert isinstance(patch, list)
                self.rollouts[step.name] = _edited(msgspec.convert(_patched(live, patch), NodeRollout))
            case _:
                return False
        return True

    def _take_own(self, step: Step) -> None:
        match step:
            case steps.AskProvider():
                self.mark(**{REFRESH_ASKED: step.wish})
            case steps.TellTurn():
                self.mark(**{TURN_TOLD: step.job})
            case steps.ForgetTurn():
                about = self.config.metadata
                notes = _without(dict(about.annotations), TURN_TOLD)
                new = msgspec.structs.replace(about, annotations=notes)
                self.upgrade = msgspec.structs.replace(self.config, metadata=new)
            case steps.SetFinalizer():
                self._finalizer(step)
            case _:
                raise TypeError(type(step))

    def _take_migration(self, step: Step) -> None:
        match step:
            case steps.MakeMigration():
                if self.migration is not None:
                    raise Refused("it is there")
                spec = msgspec.convert(step.spec, WorkloadMigrationSpec)
                marks = {UPGRADE_UID: step.upgrade}
                about = ObjectMeta(
                    name="cluster", uid=f"m-{self.number()}", generation=1, labels=marks, annotations=marks
                )
                self.migration = WorkloadMigration(metadata=about, spec=spec)
            case steps.SetTarget():
                self._patch_migration(step.uid, _retargeted(step.target))
            case steps.PutBackTarget():
                self._patch_migration(step.uid, _forgotten if step.keep else _put_back)
            case steps.HoldMigration():
                self.migration = _held(self._migration(step.uid), step.why)
            case steps.DeleteMigration():
                self.migration = self._deleted(self._migration(step.uid)) if self.kept_by else None
            case _:
                raise TypeError(type(step))

    def _deleted(self, one: Any) -> Any:
        """Marked, as the API server does it: that raises the generation, and finalizers keep it."""
        about = one.metadata
        kept = (self.kept_by,) if self.kept_by else about.finalizers
        about = msgspec.structs.replace(
            about, deletion_timestamp=self.now, generation=about.generation + 1, finalizers=kept
        )
        return msgspec.structs.replace(one, metadata=about)

    def _tell_openshift(self, step: steps.SetChannel | steps.SetUpdate) -> None:
        found = self.cluster_version
        if found is None or found.uid != step.uid:
            raise Refused("another one")
        if isinstance(step, steps.SetChannel):
            self.cluster_version = msgspec.structs.replace(
                found, channel=step.channel, channel_since=self.now
            )
        else:
            self.cluster_version = msgspec.structs.replace(found, wanted=step.version)

    def _finalizer(self, step: steps.SetFinalizer) -> None:
        one = self.upgrade
        if one is None or one.metadata.uid != step.uid:
            raise Refused("another one")
        about = msgspec.structs.replace(one.metadata, finalizers=(FINALIZER,) if step.present else ())
        gone = about.deletion_timestamp is not None and not step.present
        self.upgrade = None if gone else msgspec.structs.replace(one, metadata=about)

    def _make(self, step: steps.MakeRollout) -> None:
        if step.name in self.rollouts:
            raise Refused("it is there")
        marks = {UPGRADE_UID: step.upgrade}
        about = ObjectMeta(
            name=step.name, uid=f"r-{self.number()}", generation=1, labels=marks, annotations=marks
        )
        spec = msgspec.convert(step.spec, NodeRolloutSpec)
        self.rollouts[step.name] = NodeRollout(metadata=about, spec=spec)

    def _mark_ours(self, step: steps.MarkOurs) -> None:
        rollout = step.kind == NODE_ROLLOUT
        one: Any = self._rollout(step.name, step.uid) if rollout else self._migration(step.uid)
        marks, about = {UPGRADE_UID: step.upgrade}, one.metadata
        about = msgspec.structs.replace(
            about, labels={**about.labels, **marks}, annotations={**about.annotations, **marks}
        )
        marked = msgspec.structs.replace(one, metadata=about)
        if rollout:
            self.rollouts[step.name] = marked
        else:
            self.migration = marked

    def _rollout(self, name: str, uid: str) -> NodeRollout:
        found = self.rollouts.get(name)
        if found is None or found.metadata.uid != uid:
            raise Refused("it is gone")
        return found

    def _migration(self, uid: str) -> WorkloadMigration:
        if self.migration is None or self.migration.metadata.uid != uid:
            raise Refused("it is gone")
        return self.migration

    def _patch_migration(self, uid: str, edit: Callable[[Any], Any]) -> None:
        live = msgspec.to_builtins(self._migration(uid))
        self.migration = _edited(msgspec.convert(edit(live), WorkloadMigration))

    def publish(self, uid: str, status: Any) -> None:
        if self.upgrade is not None and self.upgrade.metadata.uid == uid:
            self.upgrade = msgspec.structs.replace(self.upgrade, status=status)

    # --- the layers, as their objects show them ---

    def turn(self) -> None:
        """A second goes by: each layer does one thing."""
        self.now += timedelta(seconds=1)
        self.rollouts = {
            name: self._rolled(one) if one.metadata.deletion_timestamp is None else one
            for name, one in self.rollouts.items()
            if one.metadata.deletion_timestamp is None or self.kept_by
        }
        goes = self.migration is not None and self.migration.metadata.deletion_timestamp is not None
        if goes and self.migration is not None and self.migration.metadata.finalizers and not self.kept_by:
            self.migration = None
        if self.migration is not None and not self.gone and not goes:
            self.migration = self._moved(self.migration)
        for those in (self.services, self.apps):
            for name, one in those.items():
                if not (one.held or one.paused or one.stalled):
                    those[name] = msgspec.structs.replace(one, ready=True, under_way=False)

    def _is_silent(self, rollout: NodeRollout) -> bool:
        """Whether a control-plane node of it does not say what its API server is."""
        planes = any(one.operator == "Exists" for one in rollout.spec.node_selector.match_expressions)
        return planes and any(not self.hosts[name].api_server for name in self.labelled)

    def _scope(self, rollout: NodeRollout) -> list[Host]:
        planes = any(one.operator == "Exists" for one in rollout.spec.node_selector.match_expressions)
        chosen = [one for name, one in self.hosts.items() if name not in self.masters]
        return [one for one in chosen if bool(one.api_server) is planes and not one.left_out]

    def _rests(self, rollout: NodeRollout) -> bool:
        held = rollout.spec.paused or UPGRADE_HOLD in rollout.metadata.annotations
        return held or not windows_of(rollout.spec.windows).open_at(self.now)

    def _rolled(self, rollout: NodeRollout) -> NodeRollout:
        version, scope = rollout.spec.version or "", self._scope(rollout)
        status = rollout.status
        if rollout.spec.abort:
            return _told(rollout, RolloutPhase.ABORTED, status.start_time)
        behind = [one for one in scope if one.kubelet != version]
        if self._is_silent(rollout) or not behind:
            phase = RolloutPhase.RUNNING if self._is_silent(rollout) else RolloutPhase.COMPLETE
            return _told(rollout, phase, status.start_time)
        if self._rests(rollout):
            return _told(rollout, RolloutPhase.PAUSED, status.start_time)
        if status.phase is RolloutPhase.STOPPED:
            return rollout
        if behind[0].fails:
            return _told(rollout, RolloutPhase.STOPPED, self.now, failed=True)
        if not self.stuck:
            behind[0].kubelet = version
            behind[0].api_server = version if behind[0].api_server else ""
        told = _told(rollout, RolloutPhase.RUNNING, status.start_time or self.now)
        return _stalled(told, self.stuck) if self.stuck else told

    def _moved(self, migration: WorkloadMigration) -> WorkloadMigration:
        spec, before = migration.spec, migration.status
        behind = [one for one in self.hosts.values() if not one.api_server and not _is_at(one, spec.target)]
        over = not behind
        held = spec.paused or UPGRADE_HOLD in migration.metadata.annotations
        starts = before.observed_generation < migration.metadata.generation
        arrived = not (starts or held or self.stays) and all(one.left_out for one in behind)
        waits = "WaitingForNodes" if arrived else "Moving"
        reason = "Starting" if starts else "Paused" if held else "Idle" if over else waits
        busy = not over or starts
        said = [_condition("Ready", reason, not busy), *([_condition("Reconciling", reason)] if busy else [])]
        status = msgspec.structs.replace(
            before,
            observed_generation=migration.metadata.generation,
            state=MigrationState.UPGRADE if busy else MigrationState.NO_UPGRADE,
            target=spec.target,
            progress=Progress.of(WORKLOADS if arrived else 0, WORKLOADS) if busy else Progress(),
            conditions=tuple(said),
        )
        return msgspec.structs.replace(migration, status=status)


def _is_at(host: Host, target: str | None) -> bool:
    return not target or reaches(host.kubelet, goal(target))


def _condition(name: str, reason: str, holds: bool = True) -> Condition:
    status = ConditionStatus.TRUE if holds else ConditionStatus.FALSE
    return Condition(type=name, status=status, reason=reason, last_transition_time=START)


def _told(
    rollout: NodeRollout, phase: RolloutPhase, started: datetime | None, *, failed: bool = False
) -> NodeRollout:
    nodes = (NodeStatus(name="n", uid="n", state=NodeState.FAILED),) if failed else ()
    status = NodeRolloutStatus(
        observed_generation=rollout.metadata.generation,
        phase=phase,
        start_time=started,
        nodes=nodes,
        message=phase.value.lower(),
        progress=Progress(),
    )
    return msgspec.structs.replace(rollout, status=status)


def _stalled(rollout: NodeRollout, why: str) -> NodeRollout:
    said = (_condition("Stalled", "DrainBlocked"),)
    status = msgspec.structs.replace(rollout.status, message=why, conditions=said)
    return msgspec.structs.replace(rollout, status=status)


def _edited(one: Any) -> Any:
    """A change of the spec raises the generation."""
    about = msgspec.structs.replace(one.metadata, generation=one.metadata.generation + 1)
    return msgspec.structs.replace(one, metadata=about)


def _held(one: Any, why: str) -> Any:
    assert isinstance(one, Resource)
    notes = {key: value for key, value in one.metadata.annotations.items() if key != UPGRADE_HOLD}
    notes |= {UPGRADE_HOLD: why} if why else {}
    about = msgspec.structs.replace(one.metadata, annotations=notes)
    return msgspec.structs.replace(one, metadata=about)


def _retargeted(target: str) -> Callable[[Any], Any]:
    def edit(live: Any) -> Any:
        wanted = [ledger.Change("/spec/target", target)]
        return _patched(live, ledger.change_in_place(live, UPGRADE_LEDGER, wanted).patch)

    return edit


def _put_back(live: Any) -> Any:
    return _patched(live, ledger.undo_in_place(live, UPGRADE_LEDGER).patch)


def _forgotten(live: Any) -> Any:
    notes = live["metadata"]["annotations"]
    return {**live, "metadata": {**live["metadata"], "annotations": _without(notes, UPGRADE_LEDGER)}}


def _without(notes: dict[str, str], key: str) -> dict[str, str]:
    return {one: value for one, value in notes.items() if one != key}


def _patched(live: Any, patch: list[dict[str, Any]]) -> Any:
    """The JSON patch that an API server would be sent."""
    made = msgspec.json.decode(msgspec.json.encode(live))
    for one in patch:
        *above, last = [part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:]]
        place = made
        for part in above:
            place = place[part]
        if one["op"] == "remove":
            del place[last]
        elif one["op"] in {"add", "replace"}:
            place[last] = one["value"]
    return made
