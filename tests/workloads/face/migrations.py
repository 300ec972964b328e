"""WorkloadMigrations for tests, as the operator would write them."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift import api
from shiplift.api.workloads import WorkloadMigration
from shiplift.facts.kinds import WORKLOAD_MIGRATION

NOW = 1_777_629_600
"""10:00 on 1 May 2026, UTC."""
OLD, NEW = "v1.35.4", "v1.36.3"


def progress(done: int, total: int) -> dict[str, Any]:
    return {"done": done, "total": total, "summary": f"{done}/{total}"}


def at(minutes: int) -> str:
    """A moment that many minutes after 09:00, an hour before now."""
    return f"2026-05-01T{9 + minutes // 60:02}:{minutes % 60:02}:00Z"


def waiting(name: str, state: str, message: str = "", **more: Any) -> dict[str, Any]:
    kind = "StatefulSet" if name in ("db", "queue") else "Deployment"
    one = {"kind": kind, "namespace": "shop", "name": name, "uid": f"uid-{name}", "state": state}
    return one | {"message": message, "since": at(48), "pods": progress(0, 3)} | more


BUSY: dict[str, Any] = {
    "observedGeneration": 2,
    "conditions": [
        {
            "type": "Stalled",
            "status": "True",
            "reason": "NoSlot",
            "message": "no target node has room",
            "lastTransitionTime": at(50),
        }
    ],
    "state": "Upgrade",
    "target": NEW,
    "mode": "Inject",
    "startedAt": at(30),
    "message": "moves StatefulSet shop/db",
    "versions": [{"version": OLD, "nodes": 3}, {"version": NEW, "nodes": 2}],
    "progress": progress(12, 59),
    "pods": progress(80, 240),
    "moves": 1234,
    "eta": {"likely": at(75), "earliest": at(70), "latest": at(200)},
    "waves": [
        {"number": 1, "workloads": progress(7, 9)},
        {"number": 0, "workloads": progress(5, 5)},
        *({"number": number, "workloads": progress(0, 5)} for number in range(2, 11)),
    ],
    "workloads": [
        waiting(
            "web",
            "Held",
            "waits for StatefulSet shop/db, 1 of 3 pods moved (said by WorkloadOrder shop/order)",
        ),
        waiting(
            "cache",
            "Blocked",
            "PodDisruptionBudget cache needs 2 has 2: one more replica, or a lower minAvailable",
            reason="NeverEvictable",
            pods=progress(1, 2),
        ),
        waiting("db", "Moving", "waits for pod shop/db-2 to become Ready on node new-1", since=at(59)),
        waiting("api", "Released", reason="NoSlot", since=None),
    ],
    "met": ["uid-queue"],
    "cycles": [{"dependent": "Deployment shop/a", "dependency": "Deployment shop/b", "source": "Kapp"}],
    "missing": [{"dependent": "Deployment shop/c", "dependency": "Deployment shop/z", "source": "DependsOn"}],
    "exceptions": [
        {"pod": "shop/cart-1", "workload": "Deployment shop/cart", "reason": "Cordoned", "at": at(55)}
    ],
    "notes": ["somebody changed PodDisruptionBudget shop/web [minAvailable] while we held it"],
    "inertTolerations": ["Deployment shop/web", "Deployment shop/api"],
}


NEVER_EVICTABLE = (
    "PodDisruptionBudget shop/db needs 2 of 2 pods healthy: it never lets one go; change the budget,"
    " or set spec.onBlocked of WorkloadMigration cluster to Surge"
)
SHOP: dict[str, Any] = {
    "observedGeneration": 2,
    "conditions": [
        {
            "type": "Reconciling",
            "status": "True",
            "reason": "Moving",
            "message": f"3 of 5 workloads left to move to {NEW}",
            "lastTransitionTime": at(50),
        }
    ],
    "state": "Upgrade",
    "target": NEW,
    "mode": "Inject",
    "startedAt": at(59),
    "message": f"3 of 5 workloads left to move to {NEW}",
    "versions": [{"version": OLD, "nodes": 3}, {"version": NEW, "nodes": 3}],
    "progress": progress(2, 5),
    "pods": progress(4, 12),
    "moves": 4,
    "blocked": 1,
    "needs": f"StatefulSet shop/db: {NEVER_EVICTABLE}",
    "waves": [
        {"number": 0, "workloads": progress(2, 3)},
        {"number": 1, "workloads": progress(0, 1)},
        {"number": 2, "workloads": progress(0, 1)},
    ],
    "workloads": [
        waiting("db", "Blocked", NEVER_EVICTABLE, reason="NeverEvictable", pods=progress(0, 2)),
        waiting(
            "api",
            "Held",
            "waits for StatefulSet shop/db, 0 of 2 pods moved (said by WorkloadOrder shop/shop)",
            reason="WaitsForDependency",
        ),
        waiting(
            "web",
            "Held",
            "waits for Deployment shop/api, 0 of 3 pods moved (said by WorkloadOrder shop/shop)",
            reason="WaitsForDependency",
        ),
    ],
}
"""Five workloads; two have moved, one is blocked, two wait for it."""


def migration(
    status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **about: Any
) -> WorkloadMigration:
    stored = {
        "metadata": {"name": "cluster", "uid": "uid-cluster", "generation": 2} | about,
        "spec": spec or {},
        "status": status or {},
    }
    cleaned = msgspec.json.encode(_without_none(stored))
    decoded = api.decode(WORKLOAD_MIGRATION, cleaned)
    assert isinstance(decoded, WorkloadMigration)
    return decoded


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, list) else value
