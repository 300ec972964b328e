"""What the conductor asks to be done: one write each, of an object of another layer or of its own."""

from __future__ import annotations

from typing import Any

from shiplift.engine.step import Step


class SetFinalizer(Step, frozen=True):
    """Our finalizer on the UpgradeConfig."""

    uid: str
    present: bool

    @property
    def key(self) -> str:
        return f"finalizer {self.uid}"

    def describe(self) -> str:
        return f"{'put our finalizer on' if self.present else 'take our finalizer off'} the UpgradeConfig"


class AskProvider(Step, frozen=True):
    """The layer policy is asked to ask the provider once more."""

    uid: str
    wish: str
    """When that was asked: another wish each time."""

    @property
    def key(self) -> str:
        return f"ask provider {self.uid}"

    def describe(self) -> str:
        return f"ask for the policy once more ({self.wish}), by a mark on the UpgradeConfig"


class SetChannel(Step, frozen=True):
    """The cluster-version operator is told where to look for releases."""

    uid: str
    channel: str

    @property
    def key(self) -> str:
        return f"set channel {self.uid}"

    def describe(self) -> str:
        return f"set the channel of ClusterVersion version to {self.channel}"


class SetUpdate(Step, frozen=True):
    """The cluster-version operator is told to go to a release."""

    uid: str
    version: str

    @property
    def key(self) -> str:
        return f"set update {self.uid}"

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

    def describe(self) -> str:
        return f"delete NodeRollout {self.name}"


class HoldRollout(Step, frozen=True):
    """A NodeRollout of ours begins nothing; `why` is empty where it may again."""

    name: str
    uid: str
    why: str

    @property
    def key(self) -> str:
        return f"hold rollout {self.uid}"

    def describe(self) -> str:
        return (
            f"hold NodeRollout {self.name}: {self.why}" if self.why else f"let NodeRollout {self.name} go on"
        )


class MakeMigration(Step, frozen=True):
    """The WorkloadMigration, where there is none."""

    upgrade: str
    spec: dict[str, Any]

    @property
    def key(self) -> str:
        return "make migration"

    def describe(self) -> str:
        return f"make WorkloadMigration cluster: workloads to nodes of {self.spec.get('target')}"


class SetTarget(Step, frozen=True):
    """The user's WorkloadMigration gets our target, and nothing else."""

    uid: str
    target: str

    @property
    def key(self) -> str:
        return f"set target {self.uid}"

    def describe(self) -> str:
        return f"set the target of WorkloadMigration cluster to {self.target}"


class PutBackTarget(Step, frozen=True):
    """The user's WorkloadMigration is as it was before; or keeps our target, and the record goes."""

    uid: str
    keep: bool = False

    @property
    def key(self) -> str:
        return f"put back target {self.uid}"

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

    def describe(self) -> str:
        return "delete WorkloadMigration cluster, which was made for the upgrade"
