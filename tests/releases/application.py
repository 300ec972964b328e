"""The application of every recorded release: six workloads in two namespaces, with an order and budgets.

The recordings of a release are never made again, so what is said here of the application stays as it is.
"""

from __future__ import annotations

import msgspec

from tests.crash.workloads.scenarios import Scenario
from tests.crash.workloads.shape import Json as Json  # noqa: PLC0414 - handed on
from tests.crash.workloads.shape import Workload

_READY_AFTER = 1.0
"""Seconds: long enough that an operator can be stopped between two workloads."""

WORKLOADS = (
    Workload("database", "data", "StatefulSet", 3, budget={"maxUnavailable": 1}, ready_after=_READY_AFTER),
    Workload("cache", "data", "Deployment", 2, ready_after=_READY_AFTER),
    Workload(
        "api",
        "shop",
        "Deployment",
        3,
        ("data/database", "data/cache"),
        {"minAvailable": 2},
        ready_after=_READY_AFTER,
    ),
    Workload("web", "shop", "Deployment", 2, ("shop/api",), ready_after=_READY_AFTER),
    Workload("mail", "shop", "Deployment", 1, ("shop/api",), {"minAvailable": 1}, ready_after=_READY_AFTER),
    Workload(
        "front", "shop", "Deployment", 2, ("shop/web",), {"maxUnavailable": "50%"}, ready_after=_READY_AFTER
    ),
)
"""Budgets in each of the fields that a user may write, and workloads without one. `mail` can only surge."""

APPLICATION = Scenario("application", WORKLOADS, {"hold": "Always", "onBlocked": "Surge"})


def in_mode(mode: str) -> Scenario:
    return msgspec.structs.replace(APPLICATION, spec={**APPLICATION.spec, "mode": mode})
