"""From what was seen of the contests to figures, a table, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from benchmarks import verdict as verdicts
from benchmarks.migrate.bound import Bound
from benchmarks.migrate.contenders import Name
from benchmarks.migrate.plan import Size
from benchmarks.rig.accounts import Account

AT_MOST = {
    "makespan_vs_bound": 1.3,
    "moves_per_pod": 1.0,
    "order_violations": 0.0,
    "under_pdb_s": 0.0,
    "held_pending_s": 0.0,
}
BELOW = {"makespan_vs_seed": 1.0, "makespan_vs_drain": 1.0, "makespan_vs_kubectl": 1.0}


class Contest(msgspec.Struct, frozen=True):
    """One contender: how long it took, what it did to the pods, and how many requests it made."""

    makespan: float
    account: Account
    calls: int


def figures(size: Size, bound: Bound, contests: Mapping[Name, Contest]) -> dict[str, float]:
    """Ours against the bound and the others; only what was run."""
    drain = contests.get(Name.DRAIN)
    found = {"bound_vs_drain": bound.seconds / drain.makespan} if drain else {}
    ours = contests.get(Name.OURS)
    if ours is None:
        return found
    others = {Name.SEED: "seed", Name.DRAIN: "drain", Name.KUBECTL: "kubectl"}
    return {
        "makespan_vs_bound": ours.makespan / bound.seconds,
        **{
            f"makespan_vs_{word}": ours.makespan / contests[name].makespan
            for name, word in others.items()
            if name in contests
        },
        **found,
        "moves_per_pod": ours.account.moves_per_pod,
        "order_violations": float(ours.account.order_violations),
        "under_pdb_s": ours.account.under_pdb_s,
        "held_pending_s": ours.account.held_pending_s,
        "calls_per_pod": ours.calls / size.pods,
    }


def table(size: Size, contests: Mapping[Name, Contest]) -> str:
    columns = (
        f"{'makespan, s':>13}{'moves/pod':>11}{'violations':>12}{'under PDB, s':>14}"
        f"{'held pending, s':>17}{'calls/pod':>11}"
    )
    return "\n".join([f"{'':22}{columns}", *(_line(name, one, size) for name, one in contests.items())])


def _line(name: Name, one: Contest, size: Size) -> str:
    account = one.account
    return (
        f"{name:22}{one.makespan:>13.1f}{account.moves_per_pod:>11.2f}{account.order_violations:>12}"
        f"{account.under_pdb_s:>14.1f}{account.held_pending_s:>17.1f}"
        f"{one.calls / size.pods:>11.1f}"
    )


def bound_lines(bound: Bound) -> str:
    moves = ", ".join(f"{kind} {seconds:.2f} s" for kind, seconds in bound.move.items())
    return (
        f"bound {bound.seconds:.1f} s: path {bound.path:.1f} s, rig {bound.rig:.1f} s"
        f" ({bound.rate:.1f} pods/s), waves {bound.waves:.1f} s ({bound.slots} free slots)\n"
        f"one move alone: {moves}"
    )


def verdict(found: Mapping[str, float], *, judged: bool) -> str:
    """Each figure; against its limit where the cluster is as large as the limits are meant for."""
    return verdicts.verdict(found, AT_MOST, BELOW, judged=judged, meant_for="the usual size")
