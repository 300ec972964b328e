"""`shiplift explain machinepool/x`, `machine/x`, and `node/x` for its machine: where it is, what would help.
Nothing is written."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rich.console import RenderableType

from shiplift.api.machines import Machine, MachinePool
from shiplift.face.parts import ExplainPart, FaceError, Question, Reader
from shiplift.facts.kinds import MACHINE, MACHINE_POOL
from shiplift.machines.face import layout
from shiplift.machines.face.standing import (
    MachineStanding,
    PoolStanding,
    machine_standing,
    pool_standing,
)

_POOLS = frozenset({"machinepool", "machinepools", "mpool", "pool"})
_MACHINES = frozenset({"machine", "machines", "mach"})
_NODES = frozenset({"no", "node", "nodes"})


def explained(reader: Reader, question: Question, _now: int) -> PoolStanding | MachineStanding:
    """All about the pool or the machine that is meant."""
    pools: Sequence[MachinePool] = reader.objects(MACHINE_POOL)
    machines: Sequence[Machine] = reader.objects(MACHINE)
    if question.kind in _NODES:
        return _of_node(question.name, pools, machines)
    if question.kind in _MACHINES:
        machine = next((one for one in machines if one.metadata.name == question.name), None)
        if machine is None:
            raise _absent("Machine", "machine", question.name, [one.metadata.name for one in machines])
        return machine_standing(machine, pools)
    pool = next((one for one in pools if one.metadata.name == question.name), None)
    if pool is None:
        raise _absent("MachinePool", "machinepool", question.name, [one.metadata.name for one in pools])
    return pool_standing(pool, machines)


def _of_node(name: str, pools: Sequence[MachinePool], machines: Sequence[Machine]) -> MachineStanding:
    machine = next((one for one in machines if one.status.node == name), None)
    if machine is None:
        raise FaceError(f"no Machine has node {name}", "`kubectl get nodes` lists them")
    return machine_standing(machine, pools)


def _absent(kind: str, word: str, name: str, names: list[str]) -> FaceError:
    close = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {word}/{close[0]}?" if close else f"`kubectl get {word}s` lists them"
    return FaceError(f"there is no {kind} {name}", hint)


def picture(told: PoolStanding | MachineStanding) -> RenderableType:
    return layout.standing(told)


EXPLAIN = ExplainPart[PoolStanding | MachineStanding](
    words=_POOLS | _MACHINES | _NODES,
    forms=("machinepool/NAME", "machine/NAME"),
    subject="pool or machine",
    explained=explained,
    picture=picture,
)
