"""What the conductor asks to be done: one write each, of an object of another layer or of its own."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from shiplift.api.marks import REFRESH_ASKED, TURN_TOLD, UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID
from shiplift.engine.step import Step
from shiplift.facts.kinds import Kind

_MADE_MIGRATION, _DELETED_MIGRATION = "make migration", "delete migration"


def _held(uid: str, why: str) -> str:
    """What a hold changes, by name; and, where `why` is empty, its end."""
    return f"hold {uid} {why}" if why else f"let go {uid}"


def _let_go(uid: str, why: str) -> str:
    return f"let go {uid}" if why else f"hold {uid}"


def _deleted(rollout: str) -> str:
    return f"delete rollout {rollout}"


def _fought(named: str, why: str) -> str:
    does = "takes our mark off" if why else "puts our mark back on"
    return f"somebody else {does} {named} ({UPGRADE_HOLD}); keep them from it while the upgrade runs"


class SetFinalizer(Step, frozen=True):
    """Our finalizer on the UpgradeConfig."""

    uid: str
    present: bool

    @property
    def key(self) -> str:
        return f"finalizer {self.uid}"

    @property
    def change(self) -> str:
        return self.key if self.present else f"no {self.key}"

    @property
    def takes_back(self) -> str:
        return f"no {self.key}" if self.present else self.key

    def undone_by_others(self) -> str:
        if not self.present:
            return "somebody else puts our finalizer on the UpgradeConfig, where nothing is left to be undone"
        return (
            "somebody else takes our finalizer off the UpgradeConfig; without it, deleting the UpgradeConfig"
            " while no operator runs would leave what was made for the upgrade"
        )

    def describe(self) -> str:
        return f"{'put our finalizer on' if self.present else 'take our finalizer off'} the UpgradeConfig"


class AskProvider(Step, frozen=True):
    """The layer policy is asked to ask the provider once more."""

    uid: str
    wish: str
    """When that was asked: another wish each time."""
    anew: bool = False
    """Whether there is no wish of before, not even an old one."""

    @property
    def key(self) -> str:
        return f"ask provider {self.uid}"

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        if not self.anew:
            return ""
        return (
            f"somebody else takes the annotation {REFRESH_ASKED} off the UpgradeConfig, by which the provider"
            " is asked; keep them from it"
        )

    def describe(self) -> str:
        return f"ask for the policy once more ({self.wish}), by a mark on the UpgradeConfig"


class TellTurn(Step, frozen=True):
    """A hook tells somebody else that it is their turn."""

    uid: str
    generation: int
    """Of the UpgradeConfig that asks for it: it is not called back."""
    namespace: str
    job: str
    of: str
    target: str
    pools: tuple[str, ...] = ()
    told: bool = False
    """Whether they were told, as far as this operator knows, and only the note of it is gone."""

    @property
    def key(self) -> str:
        return f"tell turn {self.namespace}/{self.job}"

    @property
    def change(self) -> str:
        return self.key

    @property
    def takes_back(self) -> str:
        return f"forget turn {self.uid}"

    def undone_by_others(self) -> str:
        return (
            f"somebody else takes the annotation {TURN_TOLD} off the UpgradeConfig, by which we know whose"
            " turn was told; keep them from it while the upgrade runs"
        )

    def describe(self) -> str:
        return f"tell that it is the turn of {self.of} (Job {self.namespace}/{self.job})"


class ForgetTurn(Step, frozen=True):
    """The note goes that says which turn was told."""

    uid: str

    @property
    def key(self) -> str:
        return f"forget turn {self.uid}"

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        return (
            f"somebody else puts the annotation {TURN_TOLD} on the UpgradeConfig, where nobody's turn is told"
            " any more; keep them from it"
        )

    def describe(self) -> str:
        return "take the note of the last turn off the UpgradeConfig"


class SetChannel(Step, frozen=True):
    """The cluster-version operator is told where to look for releases."""

    uid: str
    channel: str

    @property
    def key(self) -> str:
        return f"set channel {self.uid}"

    @property
    def change(self) -> str:
        return f"{self.key} {self.channel}"

    def undone_by_others(self) -> str:
        return (
            f"somebody else sets another channel of ClusterVersion version than {self.channel};"
            " keep them from it while the upgrade runs"
        )

    def describe(self) -> str:
        return f"set the channel of ClusterVersion version to {self.channel}"


class SetUpdate(Step, frozen=True):
    """The cluster-version operator is told to go to a release."""

    uid: str
    version: str
    upgrade: str
    """The uid of the UpgradeConfig that asks for it."""
    generation: int
    """Of that: it is not called back."""

    @property
    def key(self) -> str:
        return f"set update {self.uid}"

    @property
    def change(self) -> str:
        return f"{self.key} {self.version}"

    def undone_by_others(self) -> str:
        return (
            f"somebody else sets another desired update of ClusterVersion version than {self.version};"
            " keep them from it while the upgrade runs"
        )

    def describe(self) -> str:
        return f"set the desired update of ClusterVersion version to {self.version}"


class MakeRollout(Step, frozen=True):
    """A NodeRollout for one part of the cluster."""

    name: str
    upgrade: str
    """The uid of the UpgradeConfig."""
    spec: dict[str, Any]

    @property
    def key(self) -> str:
        return f"make rollout {self.name}"

    @property
    def change(self) -> str:
        return self.key

    @property
    def takes_back(self) -> str:
        return _deleted(self.name)

    def undone_by_others(self) -> str:
        return (
            f"somebody else deletes NodeRollout {self.name}; keep them from it while the upgrade runs,"
            " or abort the upgrade"
        )

    def describe(self) -> str:
        return f"make NodeRollout {self.name}: nodes to {self.spec.get('version')}"


class DeleteRollout(Step, frozen=True):
    """A NodeRollout of ours goes, once it has given its nodes back."""

    name: str
    uid: str
    version: str
    """The resourceVersion that was seen."""

    @property
    def key(self) -> str:
        return f"delete rollout {self.uid}"

    @property
    def change(self) -> str:
        return _deleted(self.name)

    @property
    def takes_back(self) -> str:
        return f"make rollout {self.name}"

    def undone_by_others(self) -> str:
        return f"somebody else makes NodeRollout {self.name} again, with our mark on it; keep them from it"

    def describe(self) -> str:
        return f"delete NodeRollout {self.name}"


class SetRollout(Step, frozen=True):
    """A NodeRollout of ours gets the windows and the strategy that the UpgradeConfig has by now."""

    name: str
    uid: str
    settings: dict[str, Any]
    """Fields of its spec; None where one is to be absent."""

    @property
    def key(self) -> str:
        return f"set rollout {self.uid}"

    @property
    def change(self) -> str:
        said = msgspec.json.encode(self.settings, order="deterministic")
        return f"{self.key} {hashlib.sha256(said).hexdigest()[:16]}"

    @property
    def takes_back(self) -> str:
        """Whoever changes their mind undoes nothing of somebody else's."""
        return self.key

    def undone_by_others(self) -> str:
        return (
            f"somebody else changes windows or strategy of NodeRollout {self.name}; change those of"
            " UpgradeConfig cluster, which it follows"
        )

    def describe(self) -> str:
        return f"give NodeRollout {self.name} the windows and the strategy of the UpgradeConfig"


class AimRollout(Step, frozen=True):
    """A NodeRollout of ours goes again where the upgrade goes, for the nodes of its part."""

    name: str
    uid: str
    settings: dict[str, Any]
    """Fields of its spec; None where one is to be absent."""

    @property
    def key(self) -> str:
        return f"aim rollout {self.uid}"

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        said = ", ".join(f"spec.{one}" for one in self.settings)
        return (
            f"somebody else sends NodeRollout {self.name} elsewhere ({said}); keep them from it while the"
            " upgrade runs, or abort the upgrade"
        )

    def describe(self) -> str:
        return f"give NodeRollout {self.name} the version and the nodes of the upgrade again"


class MarkOurs(Step, frozen=True):
    """The marks by which we know what was made for the upgrade are on it, both of them."""

    kind: Kind
    name: str
    uid: str
    upgrade: str

    @property
    def key(self) -> str:
        return f"mark {self.kind} {self.uid}"

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        return (
            f"somebody else takes our mark {UPGRADE_UID} off {self.kind} {self.name}; keep them from it:"
            " without it nobody would know that it goes with the upgrade"
        )

    def describe(self) -> str:
        return f"put our mark on {self.kind} {self.name} again"


class HoldRollout(Step, frozen=True):
    """A NodeRollout of ours begins nothing; `why` is empty where it may again."""

    name: str
    uid: str
    why: str

    @property
    def key(self) -> str:
        return f"hold rollout {self.uid}"

    @property
    def change(self) -> str:
        return _held(self.uid, self.why)

    @property
    def takes_back(self) -> str:
        return _let_go(self.uid, self.why)

    def undone_by_others(self) -> str:
        return _fought(f"NodeRollout {self.name}", self.why)

    def describe(self) -> str:
        return (
            f"hold NodeRollout {self.name}: {self.why}" if self.why else f"let NodeRollout {self.name} go on"
        )


class HoldLater(Step, frozen=True):
    """A quorum service or an operator begins nothing; `why` is empty where it may again."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    why: str

    @property
    def key(self) -> str:
        return f"hold {self.kind} {self.uid}"

    @property
    def change(self) -> str:
        return _held(self.uid, self.why)

    @property
    def takes_back(self) -> str:
        return _let_go(self.uid, self.why)

    def undone_by_others(self) -> str:
        return _fought(f"{self.kind} {self.namespace}/{self.name}", self.why)

    def describe(self) -> str:
        named = f"{self.kind} {self.namespace}/{self.name}"
        return f"hold {named}: {self.why}" if self.why else f"let {named} go on"


class MakeMigration(Step, frozen=True):
    """The WorkloadMigration, where there is none."""

    upgrade: str
    spec: dict[str, Any]

    @property
    def key(self) -> str:
        return _MADE_MIGRATION

    @property
    def change(self) -> str:
        return _MADE_MIGRATION

    @property
    def takes_back(self) -> str:
        return _DELETED_MIGRATION

    def undone_by_others(self) -> str:
        return (
            "somebody else deletes WorkloadMigration cluster; keep them from it while the upgrade runs,"
            " or abort the upgrade"
        )

    def describe(self) -> str:
        return f"make WorkloadMigration cluster: workloads to nodes of {self.spec.get('target')}"


class SetTarget(Step, frozen=True):
    """The user's WorkloadMigration gets our target, and nothing else."""

    uid: str
    target: str

    @property
    def key(self) -> str:
        return f"set target {self.uid}"

    @property
    def change(self) -> str:
        return f"{self.key} {self.target}"

    @property
    def takes_back(self) -> str:
        return f"put back target {self.uid}"

    def undone_by_others(self) -> str:
        return (
            "somebody else sets the target of WorkloadMigration cluster back; set it to"
            f" {self.target} where it is managed, or abort the upgrade"
        )

    def describe(self) -> str:
        return f"set the target of WorkloadMigration cluster to {self.target}"


class PutBackTarget(Step, frozen=True):
    """The user's WorkloadMigration is as it was before; or keeps our target, and the record goes."""

    uid: str
    keep: bool = False

    @property
    def key(self) -> str:
        return f"put back target {self.uid}"

    @property
    def change(self) -> str:
        return self.key

    @property
    def takes_back(self) -> str:
        return f"set target {self.uid}"

    def undone_by_others(self) -> str:
        return (
            "somebody else puts our target, and the record of it, back on WorkloadMigration cluster; take"
            f" {UPGRADE_LEDGER} out where it is managed"
        )

    def describe(self) -> str:
        if self.keep:
            return "leave the target of WorkloadMigration cluster as it is, and forget the one from before"
        return "put back the target of WorkloadMigration cluster"


class HoldMigration(Step, frozen=True):
    """The WorkloadMigration begins nothing; `why` is empty where it may again."""

    uid: str
    why: str

    @property
    def key(self) -> str:
        return f"hold migration {self.uid}"

    @property
    def change(self) -> str:
        return _held(self.uid, self.why)

    @property
    def takes_back(self) -> str:
        return _let_go(self.uid, self.why)

    def undone_by_others(self) -> str:
        return _fought("WorkloadMigration cluster", self.why)

    def describe(self) -> str:
        held = f"hold WorkloadMigration cluster: {self.why}"
        return held if self.why else "let WorkloadMigration cluster go on"


class DeleteMigration(Step, frozen=True):
    """The WorkloadMigration that we made."""

    uid: str
    version: str
    """The resourceVersion that was seen."""

    @property
    def key(self) -> str:
        return f"delete migration {self.uid}"

    @property
    def change(self) -> str:
        return _DELETED_MIGRATION

    @property
    def takes_back(self) -> str:
        return _MADE_MIGRATION

    def undone_by_others(self) -> str:
        return "somebody else makes WorkloadMigration cluster again, with our mark on it; keep them from it"

    def describe(self) -> str:
        return "delete WorkloadMigration cluster, which was made for the upgrade"
