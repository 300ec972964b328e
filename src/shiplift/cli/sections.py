"""What the layers tell in `shiplift status`, put together: a section each, one picture, one end to wait for.

A layer that has nothing to tell has no section. One that had something and has nothing any more says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from shiplift.cli import access
from shiplift.cli.output import CommandError, GivenUpError
from shiplift.view.section import Arrival

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shiplift.face.parts import Objects, StatusPart
    from shiplift.facts.kinds import Kind
    from shiplift.kube.client import Client
    from shiplift.view.section import Advice, Section
    from shiplift.view.values import Heard

Parts = dict[str, "StatusPart[Any]"]
"""What the layers tell by, by their names."""


class Told(NamedTuple):
    """What one layer tells; no section where it had one and has none any more."""

    layer: str
    part: StatusPart[Any]
    section: Section | None


class Seen(NamedTuple):
    """What the layers tell, for how long no operator was heard of where that is long, whether the API server
    does not answer, and what speaks against an end that a layer tells of."""

    told: tuple[Told, ...]
    silent: int | None
    stale: bool
    doubt: str = ""


def parts_of_layers() -> Parts:
    """Those of all layers that bring one."""
    from shiplift.operator.layers import faces

    return {name: part for name, face in faces().items() if (part := face.status_part())}


def read(client: Client, parts: Parts) -> tuple[Parts, Objects]:
    """Those of layers whose kinds this cluster knows, and all objects of these kinds; an error where it
    knows none."""
    known: Parts = {}
    found: dict[Kind, list[Any]] = {}
    unknown = False
    for layer, part in parts.items():
        try:
            found |= {kind: access.objects(client, kind) for kind in part.reads if kind not in found}
            known[layer] = part
        except access.UnknownKindError:
            unknown = True
    if unknown and not known:
        raise access.UnknownKindError(*dict.fromkeys(kind for part in parts.values() for kind in part.reads))
    return known, found.__getitem__


def told(
    parts: Parts, objects: Objects, now: int, heard: Heard | None, begun: Collection[str] = ()
) -> tuple[Told, ...]:
    """What there is to tell; of layers that have begun also that there is nothing any more."""
    told = (Told(layer, part, part.look(objects, now, heard)) for layer, part in parts.items())
    return tuple(one for one in told if one.section is not None or one.layer in begun)


def is_over(seen: Seen) -> bool:
    """Every layer has arrived, or one will not."""
    arrivals = [_arrival(one, seen) for one in seen.told]
    return Arrival.GIVEN_UP in arrivals or Arrival.NOT_YET not in arrivals


def _arrival(one: Told, seen: Seen) -> Arrival:
    """Nobody is let go by what may be old: that all is done counts while an operator says so."""
    if one.section is None:
        conducted = any(other.part.conducts and other.section is not None for other in seen.told)
        return Arrival.MOVED if conducted and not one.part.conducts else Arrival.GIVEN_UP
    if seen.stale:
        return Arrival.NOT_YET
    unsure = seen.silent is not None or bool(seen.doubt)
    arrival = one.section.arrival
    return Arrival.NOT_YET if arrival is Arrival.MOVED and unsure else arrival


def check_moved(last: Seen) -> None:
    """Whoever waited is told by the exit code whether the old nodes may go."""
    arrivals = [(_arrival(one, last), one) for one in last.told]
    for arrival, one in arrivals:
        if arrival is Arrival.GIVEN_UP:
            raise refusal(one.part.given_up(one.section) if one.section else one.part.absent)
    for arrival, one in arrivals:
        if arrival is Arrival.NOT_YET:
            raise refusal(one.part.unfinished)


def done(seen: Seen) -> str:
    """What has come to its end, in words."""
    return "; ".join(one.part.done for one in seen.told)


def absent(parts: Parts) -> CommandError:
    """No layer has anything to tell: what there is none of, and how an upgrade of everything would begin."""
    from shiplift.view.section import Advice

    first = [part for part in parts.values() if part.conducts] or list(parts.values())
    hints = [first[0].absent.hint] if len(first) == 1 else _of_each(first)
    kinds = dict.fromkeys(str(kind) for part in parts.values() for kind in part.reads)
    return refusal(Advice(f"there is no {access.either(kinds)} in this cluster", "; ".join(hints)))


def _of_each(parts: Iterable[StatusPart[Any]]) -> list[str]:
    """How each would begin, with what it is about."""
    return [f"{part.reads[0]}: {part.absent.hint}" for part in parts]


def refusal(advice: Advice) -> CommandError:
    return GivenUpError(advice.message, advice.hint)


def picture(seen: Seen, most: int | None, lines: int | None = None) -> RenderableType:
    """All sections, below what is to be known of all of them; of each text at most so many lines."""
    from rich.console import Group
    from rich.text import Text

    from shiplift.face.layout import duration

    parts: list[RenderableType] = []
    for one in seen.told:
        parts += [
            Text(),
            one.part.picture(one.section, most, lines) if one.section else Text(one.part.absent.message),
        ]
    why = "the API server does not answer" if seen.stale else ""
    if seen.silent is not None and not seen.stale:
        why = f"no operator has been heard of for {duration(seen.silent)}"
    why = why or seen.doubt
    parts[:1] = [Text(f"{why}; this is how it was", style="bold red")] if why else []
    return Group(*parts)


def changes(before: Seen | None, seen: Seen) -> list[str]:
    """What there is to tell; with the layer's name before it where several layers tell something."""
    then = {one.layer: one.section for one in before.told} if before else {}
    lines: list[str] = []
    for one in seen.told:
        name = f"{one.layer}: " if len(seen.told) > 1 else ""
        if one.section is not None:
            lines += [f"{name}{line}" for line in one.part.changes(then.get(one.layer), one.section)]
        elif then.get(one.layer) is not None or one.layer not in then:
            lines.append(one.part.absent.message)
    if seen.stale and not (before and before.stale):
        lines.append("the API server does not answer")
    if not seen.stale:
        lines += _of_operator(before, seen)
    if seen.doubt and not (before and before.doubt == seen.doubt):
        lines.append(f"not done: {seen.doubt}")
    return lines


def _of_operator(before: Seen | None, seen: Seen) -> list[str]:
    """That it is away, or there again; where it always was there is nothing to tell."""
    was_away = before is not None and before.silent is not None
    if seen.silent is not None and not was_away:
        return ["no operator runs: nothing happens until one does"]
    return ["an operator runs again"] if was_away and seen.silent is None else []
