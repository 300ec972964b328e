"""From what was seen of the contests to figures, a table, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from benchmarks import verdict as verdicts
from benchmarks.rig.accounts import Account
from benchmarks.rollout.bound import Bound
from benchmarks.rollout.calls import Calls
from benchmarks.rollout.contenders import Name
from benchmarks.rollout.plan import LARGE, USUAL, Size
from benchmarks.rollout.timeline import Overhead

AT_MOST = {
    f"calls_per_node_{USUAL.nodes}": 15.0,
    f"calls_per_node_{LARGE.nodes}": 15.0,
    "calls_growth": 1.1,
    "calls_per_pod": 3.0,
    "overhead_per_node_s": 0.5,
    "makespan_vs_bound": 1.3,
    "makespan_vs_kubectl": 0.8,
    "under_pdb_s": 0.0,
}


class Contest(msgspec.Struct, frozen=True):
    """One contender: how long it took, what it did to the pods, what it added itself, what it asked for."""

    makespan: float
    account: Account
    overhead: Overhead | None
    calls: Calls
    to_first_cordon: float = 0.0
    """From the start until the first node was cordoned, in seconds."""


class Sized(msgspec.Struct, frozen=True):
    """All contests on a cluster of one size."""

    size: Size
    contests: dict[Name, Contest]
    bound: Bound | None = None
    """Where the rig's own rate was measured."""


def figures(all_sizes: Mapping[int, Sized]) -> dict[str, float]:
    """Ours, against the bound and kubectl; times and pods are judged on the usual size, else the largest."""
    found = {
        f"calls_per_node_{nodes}": ours.calls.nodes / nodes
        for nodes, one in all_sizes.items()
        if (ours := one.contests.get(Name.OURS))
    }
    usual, large = (f"calls_per_node_{size.nodes}" for size in (USUAL, LARGE))
    if usual in found and large in found:
        found["calls_growth"] = found[large] / found[usual]
    judged = all_sizes.get(USUAL.nodes) or all_sizes[max(all_sizes)]
    return found | dict(_of_size(judged))


def _of_size(one: Sized) -> Iterator[tuple[str, float]]:
    ours, kubectl = one.contests.get(Name.OURS), one.contests.get(Name.KUBECTL)
    if ours is None:
        return
    yield "calls_per_pod", ours.calls.pods / max(1, ours.calls.evicted)
    if ours.overhead is not None:
        yield "overhead_per_node_s", ours.overhead.whole
    if one.bound is not None:
        yield "makespan_vs_bound", ours.makespan / one.bound.seconds
    if kubectl is not None:
        yield "makespan_vs_kubectl", ours.makespan / kubectl.makespan
    yield "under_pdb_s", ours.account.under_pdb_s
    yield "moves_per_pod", ours.account.moves_per_pod


def table(one: Sized) -> str:
    columns = (
        f"{'makespan, s':>13}{'moves/pod':>11}{'under PDB, s':>14}{'overhead, s':>13}"
        f"{'calls/node':>12}{'calls/pod':>11}"
    )
    lines = [_line(name, contest, one.size) for name, contest in one.contests.items()]
    return "\n".join([f"{f'{one.size.nodes} nodes':22}{columns}", *lines, *_more(one)])


def _line(name: Name, one: Contest, size: Size) -> str:
    overhead = f"{one.overhead.whole:.2f}" if one.overhead else ""
    return (
        f"{name:22}{one.makespan:>13.1f}{one.account.moves_per_pod:>11.2f}{one.account.under_pdb_s:>14.1f}"
        f"{overhead:>13}{one.calls.nodes / size.nodes:>12.1f}"
        f"{one.calls.pods / max(1, one.calls.evicted):>11.2f}"
    )


def _more(one: Sized) -> Iterator[str]:
    ours, bound = one.contests.get(Name.OURS), one.bound
    if ours and (parts := ours.overhead):
        yield (
            f"of ours, medians: free slot to cordon {parts.to_cordon:.2f} s, last pod gone to order"
            f" {parts.to_order:.2f} s, last proof to uncordon {parts.to_uncordon:.2f} s;"
            f" {ours.to_first_cordon:.1f} s until the first cordon"
        )
    if bound:
        yield (
            f"bound {bound.seconds:.1f} s: {bound.waves} waves with {bound.rounds} rounds {bound.path:.1f} s,"
            f" rig {bound.rig:.1f} s ({bound.rate:.1f} pods/s)"
        )


def verdict(found: Mapping[str, float], *, judged: bool) -> str:
    """Each figure; against its limit where the cluster is as large as the limits are meant for."""
    return verdicts.verdict(found, AT_MOST, judged=judged, meant_for="the full sizes")
