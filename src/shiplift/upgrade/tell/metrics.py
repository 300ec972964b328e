"""What Prometheus may ask about an upgrade: read from its status, so that the two never disagree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.api.upgrade import UpgradeConfig, UpgradeConfigStatus, UpgradePhase
from shiplift.api.values import ConditionStatus
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.store import Store

_NONE = UpgradeConfigStatus()


class UpgradeCollector(Collector):
    """Reads the UpgradeConfig at each scrape; without one everything is 0."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        rows = self._store.snapshot(UPGRADE_CONFIG).customs(UPGRADE_CONFIG)
        found = next((cast("UpgradeConfig", row.object) for row in rows), None)
        status = found.status if found is not None else _NONE
        yield _phases(status)
        yield _gauge("stalled", "1 while the upgrade goes on only when somebody helps.", _stalled(status))
        yield _gauge("paused", "1 while nothing new is begun.", found is not None and found.spec.paused)
        yield _gauge("nodes", "Nodes that take part.", status.nodes.total)
        yield _gauge("nodes_done", "Nodes that run the target version.", status.nodes.done)
        started = status.start_time.timestamp() if status.start_time and status.target_version else 0.0
        yield _gauge("start_timestamp_seconds", "When the upgrade that runs started, or 0.", started)


def _phases(status: UpgradeConfigStatus) -> Metric:
    family = GaugeMetricFamily("shiplift_upgrade_phase", "1 for the phase that it is in.", labels=["phase"])
    for one in UpgradePhase:
        family.add_metric([one.value], float(status.phase is one))
    return family


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"shiplift_upgrade_{name}", text, value=float(value))


def _stalled(status: UpgradeConfigStatus) -> bool:
    return any(one.type == "Stalled" and one.status is ConditionStatus.TRUE for one in status.conditions)
