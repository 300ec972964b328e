"""The steps of a swap, each of which can say itself."""

from __future__ import annotations

from shiplift.engine.step import Operation, Step


class Validate(Operation, frozen=True):
    """Pull the image, take the binary out, check it."""

    image: str

    @property
    def key(self) -> str:
        return f"validate {self.image}"

    def describe(self) -> str:
        return f"pull {self.image} and check its binary"


class Begin(Step, frozen=True):
    """One write: `OnDelete`, the marks of the swap, the hold, the new image."""

    pool: str
    uid: str
    target: str
    image: str
    before: str
    running: str = ""
    """The version that servers run; for people to read."""

    @property
    def key(self) -> str:
        return f"begin {self.uid}"

    @property
    def change(self) -> str:
        return f"image of statefulset/{self.pool}"

    def describe(self) -> str:
        return f"set the image of statefulset/{self.pool} to {self.image}, to be used by pods made anew"


class PutBack(Step, frozen=True):
    """One write: the StatefulSet as it was before the swap."""

    pool: str
    uid: str

    @property
    def key(self) -> str:
        return f"put back {self.uid}"

    @property
    def takes_back(self) -> str:
        return f"image of statefulset/{self.pool}"

    def describe(self) -> str:
        return f"put statefulset/{self.pool} back to what it was"


class Stage(Operation, frozen=True):
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


class Switch(Operation, frozen=True):
    """Have every server restart with the binary, through one that runs the old version."""

    target: str
    through: str

    @property
    def key(self) -> str:
        return f"switch {self.target}"

    def describe(self) -> str:
        return f"switch all servers to {self.target}, through {self.through}"


class LiftHold(Step, frozen=True):
    """Pods of the StatefulSet may be drained and moved again."""

    pool: str
    uid: str

    @property
    def key(self) -> str:
        return f"lift hold {self.uid}"

    def describe(self) -> str:
        return f"let pods of statefulset/{self.pool} be moved again"


class DeletePod(Step, frozen=True):
    """A pod is made anew, from the new image."""

    pod: str
    uid: str
    why: str

    @property
    def key(self) -> str:
        return f"delete {self.uid}"

    def describe(self) -> str:
        return f"delete pod {self.pod}, {self.why}"


class Finish(Step, frozen=True):
    """One write, the last: no marks, the update strategy of before."""

    pool: str
    uid: str

    @property
    def key(self) -> str:
        return f"finish {self.uid}"

    def describe(self) -> str:
        return f"give statefulset/{self.pool} its update strategy back"
