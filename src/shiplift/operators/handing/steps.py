"""The hand-over, one write a step: each says itself, and is harmless when it comes late or twice. Pure."""

from __future__ import annotations

from typing import Any

from shiplift.engine.step import Step
from shiplift.facts.kinds import Kind
from shiplift.operators.handing.ownership import Owner, Write, next_write

Json = dict[str, Any]


class HandOver(Step, frozen=True):
    """One write on one object, on its way from the old version to the new."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    write: Write
    old: Owner
    new: Owner

    @property
    def key(self) -> str:
        return f"{self.write} {self.uid}"

    def describe(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        match self.write:
            case Write.ADOPT:
                return f"{self.kind} {where}: {self.new.name} takes control beside {self.old.name}"
            case Write.LET_GO:
                return f"{self.kind} {where}: {self.old.name} lets go, {self.new.name} keeps it"
            case Write.RELABEL:
                return f"{self.kind} {where}: from {self.old.name} to {self.new.name}"


def step(kind: Kind, live: Json, old: Owner, new: Owner) -> HandOver | None:
    """The next step for this object; none where it is handed over, or not the old one's."""
    meta = live["metadata"]
    write = next_write(meta, old, new)
    if write is None:
        return None
    return HandOver(kind, meta.get("namespace", ""), meta["name"], meta["uid"], write, old, new)
