"""The parts that make up a layer's face, as the commands take them in.

Each part is named by where it is (`module:name`) and imported when it is asked for: `shiplift status` imports
nothing of what `shiplift undo` needs. What a part tells is a plain value (a section, an explanation, an act);
its picture on a terminal is made by a function of its own, so that others may show the value otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from shiplift.facts.kinds import Kind
from shiplift.view.section import Act, Advice, Section

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shiplift.face.alerts import Alert
    from shiplift.facts.nodes import Node
    from shiplift.kube.client import Client
    from shiplift.kube.store import Snapshot, Store
    from shiplift.kube.watch import Watch
    from shiplift.view.cluster import ClusterView
    from shiplift.view.values import Heard

S = TypeVar("S", bound=Section)
E = TypeVar("E")
A = TypeVar("A", bound=Act)
Objects = Callable[[Kind], Sequence[Any]]
"""All objects of one of our own kinds, decoded."""
Say = Callable[[str], None]


class FaceError(Exception):
    """What was asked for is not there, or is not one thing; says so, and what may be meant."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ReadRefusedError(FaceError):
    """What is asked about is there, and something that belongs to it may not be read; says what."""


def _by_nothing(_objects: Objects, _nodes: Iterable[Node]) -> str:
    return ""


class StatusPart(msgspec.Struct, Generic[S], frozen=True):
    """A layer's section of `shiplift status`, told from objects of our own kinds alone."""

    reads: tuple[Kind, ...]
    look: Callable[[Objects, int, Heard | None], S | None]
    """The section at that moment, since 1970; None where there is nothing to tell."""
    changes: Callable[[S | None, S], Iterable[str]]
    """A line for each thing to tell of the way from one section to the next."""
    picture: Callable[[S, int | None, int | None], RenderableType]
    """Of what is many, so much, and of each text so many lines; all where no number is given."""
    absent: Advice
    """There is nothing to tell: how would one begin?"""
    done: str
    """Somebody waited for the end, and it has come."""
    unfinished: Advice
    """Somebody waited for the end and left before."""
    given_up: Callable[[S], Advice]
    """Somebody waited for an end that will not come."""
    data: Callable[[S], dict[str, Any]]
    """What `status -o json` has of it: a documented shape, to which fields are added and nothing else."""
    contradicted: Callable[[Objects, Iterable[Node]], str] = _by_nothing
    """What nodes say against a section that tells of its end; asked before whoever waits for it is let go."""
    conducts: bool = False
    """Whether its layer makes objects of other layers, and takes them away in the end: that these have
    nothing to tell any more is then no reason to give up."""


class Reader(Protocol):
    """The cluster that a command is about."""

    @property
    def namespace(self) -> str:
        """Where names are looked for first."""
        ...

    def objects(self, kind: Kind) -> Sequence[Any]:
        """All objects of one of our own kinds, decoded, as they are now."""
        ...

    def collected(self, watches: Iterable[Watch]) -> Snapshot:
        """All of what is asked for, at one moment."""
        ...


class Question(msgspec.Struct, frozen=True):
    """What somebody wants explained: `KIND/NAME` as it was typed, in lower case; empty where not given."""

    kind: str
    name: str
    namespace: str = ""


class ExplainPart(msgspec.Struct, Generic[E], frozen=True):
    """What a layer can explain."""

    words: frozenset[str]
    """What may stand before the slash; the empty one where a name alone is understood too."""
    forms: tuple[str, ...]
    """How it is typed, such as `deploy/NAME`."""
    subject: str
    """What it explains, in words."""
    explained: Callable[[Reader, Question, int], E]
    """A `FaceError` where there is no such thing, or more than one."""
    picture: Callable[[E], RenderableType]


class Undone(msgspec.Struct, frozen=True):
    """What came of undoing a layer."""

    changes: int
    stays: int = 0
    """Things of ours that stay on purpose; each was named."""


Undo = Callable[["Client", "Store", Say], Undone]
"""Undoes all that a layer has changed, without the operator. The store watches what the layer watches."""


class DemoPart(msgspec.Struct, Generic[A], frozen=True):
    """What a layer plays in the demo."""

    reads: tuple[Kind, ...]
    begin: Callable[[Client, str], None]
    """Asks for the target."""
    act: Callable[[Snapshot, ClusterView, str, int], A]
    """What goes on, on the way of that cluster to the target, at that moment, since 1970."""
    residue: Callable[[Snapshot], Iterable[str]]
    """What of the layer is in the cluster, in words."""
    changes: Callable[[A, A], Iterable[str]]
    headline: Callable[[A], str]
    picture: Callable[[A], RenderableType] | None = None
    """None where its headline says it all."""
    shows_nodes: bool = False
    """Whether its picture has all nodes, so that nobody else has to show them."""


class Face(msgspec.Struct, frozen=True):
    """Where the parts of one layer are, as `module:name`; empty where it has none."""

    status: str = ""
    explain: str = ""
    undo: str = ""
    alerts: str = ""
    demo: str = ""

    def status_part(self) -> StatusPart[Any] | None:
        return _imported(self.status)

    def explain_part(self) -> ExplainPart[Any] | None:
        return _imported(self.explain)

    def undo_part(self) -> Undo | None:
        return _imported(self.undo)

    def alert_part(self) -> tuple[Alert, ...]:
        return _imported(self.alerts) or ()

    def demo_part(self) -> DemoPart[Any] | None:
        return _imported(self.demo)


def _imported(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name) if reference else None
