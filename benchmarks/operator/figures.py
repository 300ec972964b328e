"""From what the process took to figures and a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from benchmarks import verdict as verdicts
from benchmarks.rig import identities
from benchmarks.rig.audit import Request

AT_MOST = {
    "idle_cpu": 0.1,
    "busy_cpu": 0.5,
    "rss_mib": 300.0,
    "rss_vs_client_go": 0.5,
    "first_decision_s": 3.0,
}
_MIB = 1 << 20
OF_LAYERS = {"workloads": "workloadmigrations", "nodes": "noderollouts"}
"""What each layer writes when it has first decided."""


class Used(msgspec.Struct, frozen=True):
    """What a process took in one phase: a share of a core, and its highest resident set in bytes."""

    cpu: float
    peak: int


def figures(idle: Used, busy: Used, first: Mapping[str, float], client_go: int) -> dict[str, float]:
    """`first`: seconds from the sync to the first decision of each layer; the last of them counts."""
    peak = max(idle.peak, busy.peak)
    return {
        "idle_cpu": idle.cpu,
        "busy_cpu": busy.cpu,
        "rss_mib": peak / _MIB,
        "rss_vs_client_go": peak / client_go,
        "first_decision_s": max(first.values()),
    }


def first_decisions(requests: Iterable[Request], since: float) -> dict[str, float]:
    """Of each layer, from the audit log: a process that has synced asks for its Lease at once."""
    asked = sorted((one for one in requests if one.at >= since), key=lambda one: one.at)
    synced = next((one.at for one in asked if _is_own_lease(one)), None)
    if synced is None:
        raise ValueError("the operator never asked for its Lease")
    return {layer: _first(asked, plural, synced) - synced for layer, plural in OF_LAYERS.items()}


def _is_own_lease(one: Request) -> bool:
    return one.resource == "leases" and one.namespace == identities.OPERATOR.namespace


def _first(asked: Iterable[Request], plural: str, since: float) -> float:
    for one in asked:
        if one.at >= since and one.verb == "patch" and one.resource in (plural, f"{plural}/status"):
            return one.at
    raise ValueError(f"the operator never wrote to {plural}")


def verdict(found: Mapping[str, float], *, judged: bool) -> str:
    """Each figure; against its limit where the cluster is as large as the limits are meant for."""
    return verdicts.verdict(found, AT_MOST, judged=judged, meant_for="the full size")
