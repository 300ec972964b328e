"""All pools at one moment, from their statuses: what they ask for, what there is, what keeps it. Pure.

Every text that others wrote is one line of printable characters here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from shiplift.api.machines import MachinePool
from shiplift.api.values import Condition, ConditionStatus
from shiplift.engine.conditions import READY, STALLED
from shiplift.machines.in_cluster.model import Reason
from shiplift.view.section import Arrival
from shiplift.view.values import Heard, plain

RUN_ONE = "`shiplift operator` runs one (with `--layers machines` where no other layer is installed)"
_AT_REST = (
    Reason.COMPLETE,
    Reason.LAPTOP_LEADS,
    Reason.PAUSED,
    Reason.REMOVAL_NOT_DONE,
    Reason.PROVIDER_TO_COME,
)
"""Nobody need wait for it: all is there, or it stays as it is."""
_WORDS: dict[str, str] = {
    Reason.COMPLETE: "complete",
    Reason.LAPTOP_LEADS: "led by laptop",
    Reason.PAUSED: "paused",
    Reason.REMOVAL_NOT_DONE: "too many",
    Reason.DELETED: "being deleted",
    Reason.JOINING: "not ready",
}


class PoolLine(msgspec.Struct, frozen=True):
    """One pool."""

    name: str
    role: str
    provider: str
    version: str
    wanted: int
    machines: int
    ready: int
    state: str
    """One word or two."""
    message: str
    stalled: bool = False
    at_rest: bool = False


class FleetView(msgspec.Struct, frozen=True):
    """All of them."""

    pools: tuple[PoolLine, ...]
    arrival: Arrival
    stalled: str
    hints: tuple[str, ...] = ()


def fleet_view(pools: Sequence[MachinePool], now: int, heard: Heard | None) -> FleetView | None:
    """What there is to tell; None without a pool."""
    if not pools:
        return None
    lines = sorted((pool_line(one) for one in pools), key=lambda one: one.name)
    stuck = [one for one in lines if one.stalled]
    return FleetView(
        pools=tuple(lines),
        arrival=Arrival.MOVED if all(one.at_rest for one in lines) else Arrival.NOT_YET,
        stalled=f"{stuck[0].name}: {stuck[0].message}" if stuck else "",
        hints=tuple(_hints(pools, now, heard)),
    )


def said(conditions: Iterable[Condition], about: str) -> Condition | None:
    return next((one for one in conditions if one.type == about), None)


def is_stalled(conditions: Iterable[Condition]) -> bool:
    found = said(conditions, STALLED)
    return found is not None and found.status is ConditionStatus.TRUE


def pool_line(one: MachinePool) -> PoolLine:
    spec, status = one.spec, one.status
    reason = _reason(one)
    return PoolLine(
        name=one.metadata.name,
        role=spec.role.value,
        provider=spec.provider.value,
        version=spec.version,
        wanted=spec.replicas,
        machines=status.replicas,
        ready=status.ready.done,
        state=_state(one, reason),
        message=plain(status.message),
        stalled=is_stalled(status.conditions),
        at_rest=reason in _AT_REST,
    )


def _reason(one: MachinePool) -> str:
    """Why it is where it is; empty before anybody has looked at it as it is now."""
    ready = said(one.status.conditions, READY)
    seen = one.status.observed_generation == one.metadata.generation
    return ready.reason if ready is not None and seen else ""


def _state(one: MachinePool, reason: str) -> str:
    if not reason:
        return "not seen"
    word = _WORDS.get(reason) or ("stalled" if is_stalled(one.status.conditions) else "growing")
    return f"{word}, paused" if one.spec.paused and reason == Reason.COMPLETE else word


def _hints(pools: Sequence[MachinePool], now: int, heard: Heard | None) -> Iterable[str]:
    if heard is not None and heard.silent(now) is not None:
        yield f"nothing happens until an operator runs again; {RUN_ONE}"
    elif not any(one.status.observed_generation for one in pools):
        yield f"no operator with the layer machines has looked at them yet; {RUN_ONE}"


def changes(before: FleetView | None, now: FleetView) -> list[str]:
    """A line for each pool of which there is something new to tell."""
    then = {one.name: one for one in before.pools} if before is not None else {}
    new = [one for one in now.pools if then.get(one.name) != one]
    return [f"{one.name}: {one.state}, {one.ready} of {one.wanted} ready" for one in new]


def fleet_data(view: FleetView) -> dict[str, object]:
    """As programs read it: a shape that only grows."""
    return {
        "arrival": view.arrival.name.title().replace("_", ""),
        "stalled": view.stalled,
        "pools": [_pool_data(one) for one in view.pools],
        "hints": list(view.hints),
    }


def _pool_data(one: PoolLine) -> dict[str, object]:
    return {
        "name": one.name,
        "role": one.role,
        "provider": one.provider,
        "version": one.version,
        "wanted": one.wanted,
        "machines": one.machines,
        "ready": one.ready,
        "state": one.state,
        "message": one.message,
        "stalled": one.stalled,
    }
