"""A migration as programs read it (`shiplift status -o json`): a shape that is documented and only grows.

Names are those of the WorkloadMigration where it has them. Times are seconds, from now or until now. The page
`docs/reference/status.md` has every field.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from shiplift.view.values import Eta, Share
from shiplift.workloads.face.migration import LastView, MigrationView, ProblemKind, WaitingView

Data = dict[str, Any]


def migration_data(view: MigrationView) -> Data:
    return {
        "phase": _word(view.phase),
        "target": view.target,
        "mode": view.mode,
        "arrival": _word(view.arrival),
        "message": view.message,
        "needs": view.needs,
        "stalled": view.stalled,
        "elapsedSeconds": view.seconds,
        "eta": _eta(view.eta) if view.eta else None,
        "nodes": [
            {"version": one.version, "nodes": one.nodes, "target": one.target} for one in view.versions
        ],
        "workloads": _share(view.workloads),
        "pods": _share(view.pods),
        "evictions": view.moves,
        "blocked": view.blocked,
        "waves": {
            "done": view.waves.done,
            "total": view.waves.total,
            "workloadsInNone": view.waves.outside,
        },
        "waiting": [_waiting(one) for one in view.waiting],
        "unlisted": view.unlisted,
        "problems": [{"kind": _word(ProblemKind(one.kind)), "text": one.text} for one in view.problems],
        "hints": list(view.hints),
        "last": _last(view.last) if view.last else None,
    }


def _word(value: Enum) -> str:
    """The name of a value as our objects write such names: `OutOfTurn`."""
    return value.name.title().replace("_", "")


def _share(share: Share) -> Data:
    return {"done": share.done, "total": share.total}


def _eta(eta: Eta) -> Data:
    return {
        "likelySeconds": eta.likely,
        "earliestSeconds": eta.earliest,
        "latestSeconds": eta.latest,
    }


def _waiting(one: WaitingView) -> Data:
    return {
        "kind": one.kind,
        "namespace": one.namespace,
        "name": one.name,
        "state": str(one.state),
        "reason": one.reason,
        "message": one.message,
        "forSeconds": one.seconds,
        "pods": _share(one.pods),
    }


def _last(last: LastView) -> Data:
    return {
        "target": last.target,
        "outcome": last.outcome,
        "tookSeconds": last.seconds,
        "endedSecondsAgo": last.ago,
        "workloads": _share(last.workloads),
        "pods": _share(last.pods),
        "evictions": last.moves,
    }
