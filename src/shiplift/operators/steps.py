"""What this layer does, one change at a time. What is not ours is changed as the AppType's account."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from shiplift.engine.step import Step
from shiplift.facts.kinds import Kind
from shiplift.operators.handing.ownership import Owner
from shiplift.operators.handing.steps import HandOver

Json = dict[str, Any]


def _named(kind: object, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


class Account(Step, frozen=True):
    """A step that is taken as a ServiceAccount."""

    namespace: str
    """Of the AppType, and so of the account."""
    account: str


class ReadCatalog(Step, frozen=True):
    """Read a catalog; what it says comes later, by itself."""

    name: str
    attempt: int

    @property
    def key(self) -> str:
        return f"read {self.name} {self.attempt}"

    def describe(self) -> str:
        return f"read OperatorCatalog {self.name}"


class SetFinalizer(Step, frozen=True):
    """Our finalizer on one of our objects."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    present: bool

    @property
    def key(self) -> str:
        return f"finalizer {self.uid}"

    def describe(self) -> str:
        done = "put our finalizer on" if self.present else "take our finalizer off"
        return f"{done} {_named(self.kind, self.namespace, self.name)}"


class MakeVersion(Step, frozen=True):
    """The OperatorVersion of a bundle."""

    namespace: str
    app_type: str
    app_uid: str
    catalog: str
    package: str
    bundle: str
    version: str
    order: int
    replaces: str = ""

    @property
    def key(self) -> str:
        return f"make version {self.app_uid} {self.bundle} {self.order}"

    def describe(self) -> str:
        over = f", which takes over from {self.replaces}" if self.replaces else ""
        return f"make OperatorVersion {self.namespace}/{self.bundle} from catalog {self.catalog}{over}"


class DeleteVersion(Step, frozen=True):
    """An OperatorVersion goes; what refers to it is not deleted with it."""

    namespace: str
    name: str
    uid: str
    version: str
    """The resourceVersion that was seen."""
    why: str

    @property
    def key(self) -> str:
        return f"delete version {self.uid}"

    def describe(self) -> str:
        return f"delete OperatorVersion {self.namespace}/{self.name}: {self.why}"


class MakeAppType(Step, frozen=True):
    """The AppType of a package that provides a definition somebody requires."""

    namespace: str
    name: str
    package: str
    catalog: str
    account: str
    crd: str

    @property
    def key(self) -> str:
        return f"make apptype {self.namespace} {self.name}"

    def describe(self) -> str:
        return f"make AppType {self.namespace}/{self.name}: package {self.package} provides {self.crd}"


class Bury(Step, frozen=True):
    """Note that somebody deleted an AppType, so that it is not brought back."""

    catalog: str
    uid: str
    namespace: str
    package: str
    at: str

    @property
    def key(self) -> str:
        return f"bury {self.catalog} {self.namespace} {self.package}"

    def describe(self) -> str:
        return (
            f"note in OperatorCatalog {self.catalog} that {self.package} was uninstalled in {self.namespace}"
        )


class MakeCrd(Account, frozen=True):
    """A definition that a pending version requires."""

    crd: str
    bundle: str
    payload: str
    sha256: str = ""

    @property
    def key(self) -> str:
        return f"make crd {self.crd} {self.payload}"

    def describe(self) -> str:
        return f"make CustomResourceDefinition {self.crd} as {self.bundle} brings it"


class CheckCrd(Account, frozen=True):
    """Have the API server look whether the objects that exist would stay valid."""

    aside: ClassVar[bool] = True
    crd: str
    token: str
    """What is compared with what: the definition as it is, and as it would be."""
    manifest: Json
    actions: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Other actions than the usual, by rule."""

    @property
    def key(self) -> str:
        return f"check crd {self.crd} {self.token}"

    def describe(self) -> str:
        return f"check what a change of CustomResourceDefinition {self.crd} does to the objects that exist"


class PutPiece(Account, frozen=True):
    """An object of a version, made or changed; what an earlier version owned is taken over in that write."""

    kind: Kind
    where: str
    name: str
    manifest: Json
    digest: str
    owner: Owner
    before: tuple[Owner, ...] = ()
    uid: str = ""
    """Of the object that is there; empty where there is none."""
    seen_owner: str = ""
    """The uid of the version that it belonged to when it was looked at."""

    @property
    def key(self) -> str:
        return f"put {self.kind} {self.where} {self.name} {self.owner.uid} {self.digest}"

    def describe(self) -> str:
        verb = "change" if self.uid else "make"
        return f"{verb} {_named(self.kind, self.where, self.name)} of {self.owner.name}"


class StopDeployment(Account, frozen=True):
    """A Deployment of the old version ends before the new one begins."""

    name: str
    uid: str
    version: str
    """The version of the operator that it is of."""

    @property
    def key(self) -> str:
        return f"stop {self.uid}"

    def describe(self) -> str:
        return f"stop Deployment {self.namespace}/{self.name} of {self.version}"


class RemovePiece(Account, frozen=True):
    """An object that no version needs any more."""

    kind: Kind
    where: str
    name: str
    uid: str
    version: str
    """The resourceVersion that was seen."""
    owner: Owner

    @property
    def key(self) -> str:
        return f"remove {self.uid}"

    def describe(self) -> str:
        return f"delete {_named(self.kind, self.where, self.name)} of {self.owner.name}"


class ReleasePiece(Account, frozen=True):
    """An object stays and belongs to nobody any more."""

    kind: Kind
    where: str
    name: str
    uid: str
    owner: Owner

    @property
    def key(self) -> str:
        return f"release {self.uid}"

    def describe(self) -> str:
        return f"leave {_named(self.kind, self.where, self.name)} alone: {self.owner.name} is uninstalled"


class Hand(Account, frozen=True):
    """One write of a hand-over."""

    write: HandOver

    @property
    def key(self) -> str:
        return self.write.key

    def describe(self) -> str:
        return self.write.describe()
