"""What people see of the toy layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from shiplift.face.alerts import Alert, Severity
from shiplift.face.parts import (
    DemoPart,
    ExplainPart,
    Face,
    FaceError,
    Objects,
    Question,
    Reader,
    StatusPart,
    Undone,
)
from shiplift.facts.kinds import NODE_ROLLOUT
from shiplift.kube.client import Client
from shiplift.kube.store import Store
from shiplift.view.section import Advice, Arrival
from shiplift.view.values import Heard


class Rollouts(msgspec.Struct, frozen=True):
    """How many there are."""

    number: int
    arrival: Arrival = Arrival.MOVED
    stalled: str = ""

    def __str__(self) -> str:
        return f"{self.number} rollouts"


def look(objects: Objects, _now: int, _heard: Heard | None) -> Rollouts | None:
    number = len(objects(NODE_ROLLOUT))
    return Rollouts(number) if number else None


def changes(before: Rollouts | None, now: Rollouts) -> list[str]:
    return [str(now)] if now != before else []


def picture(one: Any, _most: int | None = None, _lines: int | None = None) -> RenderableType:
    return Text(f"Toy  {one}")


def explained(reader: Reader, question: Question, _now: int) -> str:
    there = [one.metadata.name for one in reader.objects(NODE_ROLLOUT)]
    if question.kind == "rollout" and question.name not in there:
        raise FaceError(f"there is no rollout {question.name}", "there are others")
    return f"{question.kind} {question.name} of {len(there)} rollouts"


def undo(client: Client, store: Store, say: Callable[[str], None]) -> Undone:
    rows = list(store.snapshot().customs(NODE_ROLLOUT))
    for row in rows:
        client.delete(NODE_ROLLOUT, row.name, uid=row.uid)
        say(f"delete rollout {row.name}")
    return Undone(len(rows))


class Juggling(msgspec.Struct, frozen=True):
    """What it plays in the demo."""

    moved: bool = True
    settled: bool = True
    half_way: bool = False


STATUS = StatusPart[Rollouts](
    reads=(NODE_ROLLOUT,),
    look=look,
    changes=changes,
    picture=picture,
    absent=Advice("there is no NodeRollout", "make one"),
    done="all are rolled out",
    unfinished=Advice("left before it was rolled out", "wait"),
    given_up=lambda one: Advice("it is given up", str(one)),
    data=lambda one: {"rollouts": one.number},
)
EXPLAIN = ExplainPart[str](
    words=frozenset({"rollout", "deploy"}),
    forms=("rollout/NAME",),
    subject="toy",
    explained=explained,
    picture=picture,
)
ALERTS = (Alert("ToyBroken", "absent(up)", "1m", Severity.CRITICAL, "The toy is broken.", "Buy another."),)
DEMO = DemoPart[Juggling](
    reads=(NODE_ROLLOUT,),
    begin=lambda _client, _target: None,
    act=lambda *_: Juggling(),
    residue=lambda _: ("a ball",),
    changes=lambda *_: (),
    headline=lambda _: "it juggles",
    picture=picture,
)
FACE = Face(
    status="tests.toy.face:STATUS",
    explain="tests.toy.face:EXPLAIN",
    undo="tests.toy.face:undo",
    alerts="tests.toy.face:ALERTS",
    demo="tests.toy.face:DEMO",
)
