"""From the read models to what a terminal shows. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from shiplift.face.layout import facts, table
from shiplift.face.wrapping import Sentence
from shiplift.machines.face.fleet import FleetView, PoolLine
from shiplift.machines.face.standing import MachineLine, MachineStanding, PoolStanding

_STYLES = {"complete": "green", "stalled": "red", "paused": "yellow", "too many": "yellow", "not seen": "dim"}
_MOST_MACHINES = 20


def fleet(view: FleetView, most: int | None, lines: int | None = None) -> RenderableType:
    shown = view.pools if most is None else view.pools[:most]
    wanted, ready = (sum(getattr(one, what) for one in view.pools) for what in ("wanted", "ready"))
    pools = "1 pool" if len(view.pools) == 1 else f"{len(view.pools)} pools"
    told = f"{ready} of {wanted} ready, in {pools}"
    parts: list[RenderableType] = [facts([("Machines", Sentence(told))]), Text(), _pools(shown, lines)]
    if len(shown) < len(view.pools):
        parts.append(Text(f"and {len(view.pools) - len(shown)} more", style="dim"))
    return Group(*parts, *_hints(view.hints))


def _pools(pools: Iterable[PoolLine], lines: int | None) -> RenderableType:
    made = table("POOL", "PROVIDER", "READY", "STATE", "NOW", wraps=("NOW",))
    for one in pools:
        made.add_row(
            Text(one.name),
            Text(one.provider),
            Text(f"{one.ready}/{one.wanted}"),
            Text(one.state, style=_STYLES.get(one.state, "bold")),
            Sentence(one.message or "-", lines=lines),
        )
    return made


def standing(view: PoolStanding | MachineStanding) -> RenderableType:
    return _of_pool(view) if isinstance(view, PoolStanding) else _of_machine(view)


def _of_pool(view: PoolStanding) -> RenderableType:
    line = view.line
    told: list[tuple[str, RenderableType]] = [
        ("MachinePool", Sentence(f"{line.name}, {line.state}")),
        (
            "Asks for",
            Sentence(f"{line.wanted} of role {line.role}, version {line.version}, by {line.provider}"),
        ),
        ("Machines", Sentence(_counted(line))),
    ]
    told += [("Now", Sentence(line.message))] if line.message else []
    parts: list[RenderableType] = [facts(told)]
    if view.machines:
        parts += [Text(), _machines(view.machines)]
    return Group(*parts, *_hints(view.helps))


def _counted(line: PoolLine) -> str:
    """Of those that are too many nobody asks whether they are ready."""
    ready = f"{line.ready} of {line.wanted} that are asked for with a node that is Ready"
    return ready if line.machines == line.wanted else f"{line.machines}; {ready}"


def _machines(machines: tuple[MachineLine, ...]) -> RenderableType:
    made = table("MACHINE", "PHASE", "NODE", "NOW", wraps=("NOW",))
    for one in machines[:_MOST_MACHINES]:
        made.add_row(Text(one.name), Text(one.phase), Text(one.node or "-"), Sentence(one.message or "-"))
    if (more := len(machines) - _MOST_MACHINES) > 0:
        made.add_row(Text(f"and {more} more", style="dim"))
    return made


def _of_machine(view: MachineStanding) -> RenderableType:
    line, pool = view.line, view.pool
    of = f"{pool.name}, {pool.state}" if pool is not None else f"{view.pool_name}, which is not there"
    told: list[tuple[str, RenderableType]] = [
        ("Machine", Sentence(f"{line.name}, {line.phase}")),
        ("Pool", Sentence(of)),
        ("Provider", Sentence(view.provider)),
        ("Node", Sentence(line.node or "none")),
    ]
    told += [("Now", Sentence(line.message))] if line.message else []
    return facts(told)


def _hints(hints: Iterable[str]) -> list[RenderableType]:
    told = [Sentence(f"hint: {hint}", style="dim") for hint in hints]
    return [Text(), *told] if told else []
