"""The steps of a swap, each of which can say itself."""

from __future__ import annotations

from shiplift.api.marks import QUORUM_HOLD
from shiplift.engine.step import Operation, Step
from shiplift.quorum.names import FINALIZER


class Write(Step, frozen=True, kw_only=True):
    """A step that is one write; it knows whose it is, for a layer takes the steps of all its services."""

    service: str = ""
    """As `namespace/name`; stamped on what was decided."""


class Call(Operation, frozen=True, kw_only=True):
    """What takes long: a pull, a call to servers. One of each at a time, for each service."""

    service: str = ""
    """As `namespace/name`; stamped on what was decided."""

    @property
    def identity(self) -> tuple[str, str]:
        return (f"{self.service} {self.key}", self.started.id)


class ServerCall(Call, frozen=True, kw_only=True):
    """A call to servers, which pass it on to each other: one of a service at a time, or files are garbled."""

    @property
    def lane(self) -> str:
        return f"servers of {self.service}"


class Validate(Call, frozen=True):
    """Pull the image, take the binary out, check it."""

    image: str

    @property
    def key(self) -> str:
        return f"validate {self.image}"

    def describe(self) -> str:
        return f"pull {self.image} and check its binary"


class SetFinalizer(Write, frozen=True):
    """The QuorumService stays until nothing of ours is on its StatefulSets."""

    uid: str
    present: bool

    @property
    def key(self) -> str:
        return f"finalizer {self.uid} {self.present}"

    @property
    def change(self) -> str:
        return f"finalizer of quorumservice {self.uid}" if self.present else ""

    def undone_by_others(self) -> str:
        return f"somebody takes the finalizer {FINALIZER} off this QuorumService"

    def describe(self) -> str:
        verb = "put our finalizer on" if self.present else "take our finalizer off"
        return f"{verb} QuorumService {self.service}"


class Rehearse(ServerCall, frozen=True):
    """Offer every server a file that nobody signed: who can fetch and write refuses it for its signature."""

    target: str
    through: str
    members: tuple[str, ...]
    """Uids of all pods that have to answer."""

    @property
    def key(self) -> str:
        return f"rehearse {self.target}"

    def describe(self) -> str:
        return f"see whether all servers could fetch and write {self.target}, through {self.through}"


class Begin(Write, frozen=True):
    """One write: `OnDelete`, the marks of the swap, the hold, the new image."""

    pool: str
    uid: str
    target: str
    image: str
    before: str
    running: str = ""
    """The version that servers run; for people to read."""
    recreate: bool = False
    """Whether all pods are then made anew at once."""
    only_holds: bool = False
    """All else is as it was written: its pods are held once more."""

    @property
    def key(self) -> str:
        return f"begin {self.uid}"

    @property
    def change(self) -> str:
        return f"swap of statefulset/{self.pool}{' hold' if self.only_holds else ''}"

    @property
    def takes_back(self) -> str:
        return f"release of statefulset/{self.pool}"

    def undone_by_others(self) -> str:
        what = f"puts statefulset/{self.pool} back to what it was"
        if self.only_holds:
            what = f"takes the hold ({QUORUM_HOLD}) off statefulset/{self.pool}"
        return f"somebody {what}; once whoever manages it has stopped, a change of the spec tries again"

    def describe(self) -> str:
        return f"set the image of statefulset/{self.pool} to {self.image}, to be used by pods made anew"


class PutBack(Write, frozen=True):
    """One write: the StatefulSet as it was before the swap."""

    pool: str
    uid: str

    @property
    def key(self) -> str:
        return f"put back {self.uid}"

    @property
    def change(self) -> str:
        return f"release of statefulset/{self.pool}"

    @property
    def takes_back(self) -> str:
        return f"swap of statefulset/{self.pool}"

    def undone_by_others(self) -> str:
        return _marked_again(self.pool)

    def describe(self) -> str:
        return f"put statefulset/{self.pool} back to what it was"


class Stage(ServerCall, frozen=True):
    """Have every server fetch and check the binary, through one that runs the old version."""

    target: str
    through: str
    """The pod's name."""
    members: tuple[str, ...]
    """Uids of all pods that have to answer."""
    switched: tuple[str, ...] = ()
    """Uids of those that run the target already, and need not."""

    @property
    def key(self) -> str:
        return f"stage {self.target}"

    def describe(self) -> str:
        return f"have all servers fetch {self.target}, through {self.through}"


class Switch(ServerCall, frozen=True):
    """Have every server restart with the binary, through one that runs the old version."""

    target: str
    through: str

    @property
    def key(self) -> str:
        return f"switch {self.target}"

    def describe(self) -> str:
        return f"switch all servers to {self.target}, through {self.through}"


class LiftHold(Write, frozen=True):
    """Pods of the StatefulSet may be drained and moved again."""

    pool: str
    uid: str

    @property
    def key(self) -> str:
        return f"lift hold {self.uid}"

    @property
    def change(self) -> str:
        return f"release of statefulset/{self.pool} hold"

    @property
    def takes_back(self) -> str:
        return f"swap of statefulset/{self.pool} hold"

    def undone_by_others(self) -> str:
        return f"somebody puts the hold ({QUORUM_HOLD}) on statefulset/{self.pool} again"

    def describe(self) -> str:
        return f"let pods of statefulset/{self.pool} be moved again"


class DeletePod(Write, frozen=True):
    """A pod is made anew, from the new image."""

    pod: str
    uid: str
    why: str
    regardless: bool = False
    """Of whether the service is well without it; otherwise its server is asked once more."""

    @property
    def key(self) -> str:
        return f"delete {self.uid}"

    @property
    def change(self) -> str:
        return f"pod {self.pod}"

    def undone_by_others(self) -> str:
        return (
            f"pod {self.pod} comes back as it was, though it is made anew ({self.why});"
            " something changes pods when they are made, or their StatefulSet"
        )

    def describe(self) -> str:
        return f"delete pod {self.pod}, {self.why}"


class Finish(Write, frozen=True):
    """One write, the last: no marks, the update strategy of before."""

    pool: str
    uid: str

    @property
    def key(self) -> str:
        return f"finish {self.uid}"

    @property
    def change(self) -> str:
        return f"release of statefulset/{self.pool}"

    def undone_by_others(self) -> str:
        return _marked_again(self.pool)

    def describe(self) -> str:
        return f"give statefulset/{self.pool} its update strategy back"


def _marked_again(pool: str) -> str:
    return f"somebody puts the marks of a swap on statefulset/{pool} again"
