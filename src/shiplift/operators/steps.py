"""What this layer does, one change at a time. What is not ours is changed as the AppType's account."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

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

    @property
    def change(self) -> str:
        return self.key if self.present else ""

    def undone_by_others(self) -> str:
        named = _named(self.kind, self.namespace, self.name)
        return f"somebody takes our finalizer off {named}; keep them from it"

    def describe(self) -> str:
        done = "put our finalizer on" if self.present else "take our finalizer off"
        return f"{done} {_named(self.kind, self.namespace, self.name)}"


class Begin(Step, frozen=True):
    """Note that objects of a version are about to come."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"begin {self.uid}"

    def describe(self) -> str:
        return f"begin to install OperatorVersion {self.namespace}/{self.name}"


class NoteOrder(Step, frozen=True):
    """Note, where that was lost, which version of its AppType comes after which."""

    namespace: str
    name: str
    uid: str
    order: int

    @property
    def key(self) -> str:
        return f"order {self.uid}"

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        named = f"OperatorVersion {self.namespace}/{self.name}"
        return f"somebody takes our annotations off {named}; keep them from it"

    def describe(self) -> str:
        return f"note that OperatorVersion {self.namespace}/{self.name} is number {self.order} of its AppType"


class NoteKinds(Step, frozen=True):
    """Note that a version may own objects of these kinds: what it takes over is none of its own manifests."""

    namespace: str
    name: str
    uid: str
    kinds: tuple[Kind, ...]

    @property
    def key(self) -> str:
        return f"kinds {self.uid}"

    def describe(self) -> str:
        listed = ", ".join(str(one) for one in self.kinds)
        return f"note that OperatorVersion {self.namespace}/{self.name} may own objects of kind {listed}"


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

    @property
    def change(self) -> str:
        return f"make version {self.namespace} {self.bundle}"

    def undone_by_others(self) -> str:
        return f"somebody deletes OperatorVersion {self.namespace}/{self.bundle}; keep them from it"

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

    @property
    def takes_back(self) -> str:
        """What is not wanted any more may be wanted again."""
        return f"make version {self.namespace} {self.name}"

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

    @property
    def change(self) -> str:
        return self.key

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

    @property
    def change(self) -> str:
        """Whichever version of its provider has it."""
        return f"make crd {self.crd}"

    def undone_by_others(self) -> str:
        return f"somebody deletes CustomResourceDefinition {self.crd}; keep them from it"

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


class RunHook(Account, frozen=True):
    """The Job by which a version prepares to take over from another."""

    app_type: str
    app_uid: str
    version: str
    """The OperatorVersion."""
    replaces: str
    job: str
    hook: Json

    @property
    def key(self) -> str:
        return f"hook {self.namespace} {self.job}"

    def describe(self) -> str:
        return f"run hook {self.hook['name']} of {self.version} as Job {self.namespace}/{self.job}"


class HookDone(Step, frozen=True):
    """Note that the Job of a version's hook has succeeded."""

    namespace: str
    name: str
    uid: str
    job: str

    @property
    def key(self) -> str:
        return f"hook done {self.uid}"

    def describe(self) -> str:
        return f"note that Job {self.namespace}/{self.job} of {self.name} has succeeded"


class StoreAnew(Account, frozen=True):
    """Have every object of a definition stored in its present version, so that older ones may go."""

    aside: ClassVar[bool] = True
    crd: str
    uid: str
    storage: str
    """The version in which objects are stored from now on."""
    old: tuple[str, ...]
    """The versions in which some may still be stored."""

    @property
    def key(self) -> str:
        return f"store anew {self.uid} {self.storage}"

    def describe(self) -> str:
        return f"store objects of {self.crd} as {self.storage}, not {' or '.join(self.old)} any more"


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
    seen_generation: int = 0
    """Of what it said when it was looked at: another version may have stopped it since."""
    content_stays: bool = False
    """Only whose it is changes."""

    @property
    def key(self) -> str:
        return f"put {self.kind} {self.where} {self.name} {self.owner.uid} {self.digest}"

    @property
    def change(self) -> str:
        return f"{self.takes_back} {self.owner.uid} {self.digest}"

    @property
    def takes_back(self) -> str:
        """What another version had made of it."""
        return f"put {self.kind} {self.where} {self.name}"

    def undone_by_others(self) -> str:
        named = _named(self.kind, self.where, self.name)
        return f"somebody deletes {named}, changes it, or takes our marks off it; keep them from it"

    def describe(self) -> str:
        verb = "change" if self.uid else "make"
        return f"{verb} {_named(self.kind, self.where, self.name)} of {self.owner.name}"


class Right(NamedTuple):
    """What an account has to be allowed; in all namespaces where none is named."""

    verb: str
    kind: Kind
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.kind.plural}" + (f".{self.kind.group}" if self.kind.group else "")


class TryOut(Account, frozen=True):
    """Ask the API server about every object of a version before the first comes; nothing is written."""

    aside: ClassVar[bool] = True
    name: str
    """Of the OperatorVersion."""
    uid: str
    token: str
    """What is tried, and as whom."""
    puts: tuple[PutPiece, ...]
    rights: tuple[Right, ...] = ()
    """What more it takes to take over from the version before."""

    @property
    def key(self) -> str:
        return f"try out {self.uid} {self.token}"

    def describe(self) -> str:
        return f"ask whether {self.account} may install the {len(self.puts)} objects of {self.name}"


class StopDeployment(Account, frozen=True):
    """A Deployment of the old version ends before the new one begins."""

    name: str
    uid: str
    version: str
    """The version of the operator that it is of."""
    owner: Owner
    """The same: it is marked as its own again where somebody has taken our marks off it."""

    @property
    def key(self) -> str:
        return f"stop {self.uid}"

    @property
    def change(self) -> str:
        """Whoever replaces it whole undoes it just as well."""
        return f"stop {self.namespace} {self.name}"

    def undone_by_others(self) -> str:
        return (
            f"somebody scales Deployment {self.namespace}/{self.name} of {self.version} up again, or takes"
            " our marks off it, though another version takes over from it; keep them from it until that is"
            " through"
        )

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

    @property
    def change(self) -> str:
        return f"{self.takes_back} removed"

    @property
    def takes_back(self) -> str:
        """What a version had made."""
        return f"put {self.kind} {self.where} {self.name}"

    def undone_by_others(self) -> str:
        named = _named(self.kind, self.where, self.name)
        return f"somebody makes {named} again, of which {self.owner.name} is to be rid; keep them from it"

    def describe(self) -> str:
        return f"delete {_named(self.kind, self.where, self.name)} of {self.owner.name}"


class ReleasePiece(Account, frozen=True):
    """An object stays and belongs to nobody any more."""

    kind: Kind
    where: str
    name: str
    uid: str
    owner: Owner
    package: str = ""
    """What is uninstalled: a definition brings it back no more."""

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

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        named = _named(self.write.kind, self.write.namespace, self.write.name)
        return f"somebody takes back whose {named} is; keep them from it"

    def describe(self) -> str:
        return self.write.describe()
