"""What Prometheus may ask about pools: read from their statuses, so that the two never disagree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.api.machines import MachinePool, Provider
from shiplift.api.values import ConditionStatus
from shiplift.engine.conditions import STALLED
from shiplift.facts.kinds import MACHINE, MACHINE_POOL
from shiplift.kube.store import Store
from shiplift.machines.in_cluster.model import pool_of


class MachinesCollector(Collector):
    """Reads MachinePools at each scrape; those that the laptop leads are counted, and no more is told."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        snapshot = self._store.snapshot(MACHINE_POOL, MACHINE)
        pools = [pool_of(row) for row in snapshot.customs(MACHINE_POOL)]
        led = [one for one in pools if one.spec.provider is not Provider.STATIC]
        yield _providers(pools)
        yield _by_pool("wanted", "Machines that a pool asks for.", led, lambda one: one.spec.replicas)
        yield _by_pool("made", "Machines that a pool has.", led, lambda one: one.status.replicas)
        yield _by_pool(
            "ready", "Machines of a pool whose node is Ready.", led, lambda one: one.status.ready.done
        )
        yield _by_pool(
            "failed",
            "Machines of a pool that were not ready in time.",
            led,
            lambda one: len(one.status.failed),
        )
        yield _by_pool("pool_stalled", "1 while a pool waits for somebody.", led, _is_stalled)
        unreadable = len(snapshot.undecodable(MACHINE_POOL)) + len(snapshot.undecodable(MACHINE))
        yield GaugeMetricFamily(
            "shiplift_machines_unreadable", "MachinePools and Machines that cannot be read.", value=unreadable
        )


def _providers(pools: Iterable[MachinePool]) -> Metric:
    family = GaugeMetricFamily(
        "shiplift_machines_pools", "MachinePools by their provider.", labels=["provider"]
    )
    given = [one.spec.provider for one in pools]
    for one in Provider:
        family.add_metric([one.value], given.count(one))
    return family


def _by_pool(
    name: str, text: str, pools: Iterable[MachinePool], value: Callable[[MachinePool], float]
) -> Metric:
    family = GaugeMetricFamily(f"shiplift_machines_{name}", text, labels=["pool"])
    for one in pools:
        family.add_metric([one.metadata.name], float(value(one)))
    return family


def _is_stalled(pool: MachinePool) -> bool:
    said = pool.status.conditions
    return any(one.type == STALLED and one.status is ConditionStatus.TRUE for one in said)
