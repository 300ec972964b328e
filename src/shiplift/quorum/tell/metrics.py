"""What Prometheus may ask about quorum services: read from their statuses, so that the two never disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import cast

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.api.quorum import MemberState, QuorumService, QuorumStep
from shiplift.api.values import ConditionStatus
from shiplift.facts.kinds import QUORUM_SERVICE
from shiplift.kube.store import Store

_MOST = 100
"""Services that are told of, the first by name."""
_LABELS = ["namespace", "service"]


class QuorumCollector(Collector):
    """Read at each scrape."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        rows = self._store.snapshot(QUORUM_SERVICE).customs(QUORUM_SERVICE)
        services = sorted((cast("QuorumService", row.object) for row in rows), key=_name)[:_MOST]
        yield _by_state(services)
        yield _by_step(services)
        yield _each(services, "stalled", "1 while it goes on only when somebody helps.", _is_stalled)
        yield _each(services, "mixed", "1 while servers run different versions.", _is_mixed)
        yield _each(services, "switch_timestamp_seconds", "When servers were last switched.", _switched)


def _name(service: QuorumService) -> tuple[str, str]:
    return service.metadata.namespace, service.metadata.name


def _by_state(services: list[QuorumService]) -> Metric:
    family = GaugeMetricFamily("shiplift_quorum_members", "Servers by state.", labels=[*_LABELS, "state"])
    for service in services:
        counts = Counter(one.state for one in service.status.members)
        for state in MemberState:
            family.add_metric([*_name(service), state.value], counts[state])
    return family


def _by_step(services: list[QuorumService]) -> Metric:
    family = GaugeMetricFamily("shiplift_quorum_step", "1 for where a swap is.", labels=[*_LABELS, "step"])
    for service in services:
        for step in QuorumStep:
            family.add_metric([*_name(service), step.value], float(service.status.step is step))
    return family


def _each(
    services: list[QuorumService], name: str, text: str, value: Callable[[QuorumService], float]
) -> Metric:
    family = GaugeMetricFamily(f"shiplift_quorum_{name}", text, labels=_LABELS)
    for service in services:
        family.add_metric(list(_name(service)), value(service))
    return family


def _is_stalled(service: QuorumService) -> bool:
    return any(
        one.type == "Stalled" and one.status is ConditionStatus.TRUE for one in service.status.conditions
    )


def _is_mixed(service: QuorumService) -> bool:
    return len({one.version for one in service.status.members if one.version}) > 1


def _switched(service: QuorumService) -> float:
    moment = service.status.switch_time
    return moment.timestamp() if moment else 0.0
