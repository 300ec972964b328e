"""One pool, or one machine, at one moment: where it is, and what would help. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shiplift.api.machines import Machine, MachinePhase, MachinePool
from shiplift.machines.face.fleet import PoolLine, pool_line, said
from shiplift.machines.in_cluster.model import Reason
from shiplift.view.values import plain

_HELP: dict[str, str] = {
    Reason.PAUSED: "set spec.paused of the MachinePool to false",
    Reason.CLAIMED_TWICE: "leave the host out of one of the two, or make one of them under another name",
    Reason.NAME_TAKEN: "delete what has the name, or make a pool of another name",
    Reason.NAME_TOO_LONG: "make a pool with a shorter name",
    Reason.TOO_LARGE: "lower what is named in the spec of the MachinePool",
    Reason.LABEL_REFUSED: "take what is named out of the spec of the MachinePool",
    Reason.NOT_READY_IN_TIME: "`kubectl describe node` of one that is named says more; kwok has to run",
    Reason.LEAVING: "`kubectl get node,machine` of what is named with `-o yaml` shows its finalizers",
    Reason.DELETED_BY_OTHERS: "who deletes them? the audit log of the API server tells",
    Reason.REFUSED: "apply what installed shiplift, of this version (docs/install.md): it grants the rights",
    Reason.UNREADABLE: "`shiplift crds | kubectl apply -f -` brings the definitions of this version",
    Reason.LAPTOP_LEADS: "`shiplift bootstrap -f pools.yaml --ssh-key KEY` adds machines",
}


class MachineLine(msgspec.Struct, frozen=True):
    """One machine."""

    name: str
    phase: str
    node: str
    message: str


class PoolStanding(msgspec.Struct, frozen=True):
    """One pool with its machines: those that are not as they should be first."""

    line: PoolLine
    reason: str
    machines: tuple[MachineLine, ...]
    helps: tuple[str, ...]


class MachineStanding(msgspec.Struct, frozen=True):
    """One machine with its pool."""

    line: MachineLine
    provider: str
    pool: PoolLine | None
    """None where there is none of that name."""
    pool_name: str


def pool_standing(pool: MachinePool, machines: Sequence[Machine]) -> PoolStanding:
    ready = said(pool.status.conditions, "Ready")
    reason = ready.reason if ready is not None else ""
    own = sorted(
        (one for one in machines if one.spec.pool == pool.metadata.name),
        key=lambda one: (one.status.phase is MachinePhase.JOINED, len(one.metadata.name), one.metadata.name),
    )
    helps = (_HELP[reason],) if reason in _HELP else ()
    return PoolStanding(pool_line(pool), reason, tuple(machine_line(one) for one in own), helps)


def machine_standing(machine: Machine, pools: Sequence[MachinePool]) -> MachineStanding:
    pool = next((one for one in pools if one.metadata.name == machine.spec.pool), None)
    return MachineStanding(
        machine_line(machine),
        machine.spec.provider.value,
        pool_line(pool) if pool is not None else None,
        machine.spec.pool,
    )


def machine_line(one: Machine) -> MachineLine:
    phase = one.status.phase
    return MachineLine(
        one.metadata.name,
        phase.value.lower() if phase is not None else "not seen",
        one.status.node or "",
        plain(one.status.message),
    )
