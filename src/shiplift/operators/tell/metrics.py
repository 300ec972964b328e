"""What Prometheus may ask about operators: read from their statuses, so that the two never disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.api.operators import OperatorPhase
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import APP_TYPE, OPERATOR_CATALOG, OPERATOR_VERSION
from shiplift.kube.store import Store
from shiplift.operators.model import About
from shiplift.operators.rows import catalog_of, denies, holds, version_of


class OperatorsCollector(Collector):
    """Reads AppTypes, versions and catalogs at each scrape."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        snapshot = self._store.snapshot(APP_TYPE, OPERATOR_VERSION, OPERATOR_CATALOG)
        apps = tuple(snapshot.customs(APP_TYPE))
        catalogs = tuple(snapshot.customs(OPERATOR_CATALOG))
        yield _gauge("apptypes", "AppTypes that there are.", len(apps))
        yield _gauge("apptypes_ready", "AppTypes whose operator runs.", _count(apps, "Ready"))
        yield _gauge("apptypes_stalled", "AppTypes that wait for somebody.", _count(apps, "Stalled"))
        behind = sum(denies(one, About.UP_TO_DATE) is not None for one in apps)
        yield _gauge("apptypes_behind", "AppTypes for which there is a newer version.", behind)
        yield _phases(snapshot.customs(OPERATOR_VERSION))
        yield _gauge("catalogs", "OperatorCatalogs that there are.", len(catalogs))
        yield _gauge(
            "catalogs_unread",
            "OperatorCatalogs that cannot be read.",
            len(catalogs) - _count(catalogs, "Ready"),
        )
        yield _synced(catalogs)


def _count(rows: Iterable[Custom], about: str) -> int:
    return sum(holds(one, about) for one in rows)


def _phases(rows: Iterable[Custom]) -> Metric:
    counts = Counter(version_of(one).status.phase for one in rows)
    family = GaugeMetricFamily(
        "shiplift_operators_versions", "OperatorVersions by the phase that they are in.", labels=["phase"]
    )
    for one in OperatorPhase:
        family.add_metric([one.value], counts[one])
    return family


def _synced(catalogs: Iterable[Custom]) -> Metric:
    family = GaugeMetricFamily(
        "shiplift_operators_catalog_packages", "Packages of each OperatorCatalog.", labels=["catalog"]
    )
    for one in catalogs:
        family.add_metric([one.name], catalog_of(one).status.packages)
    return family


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"shiplift_operators_{name}", text, value=float(value))
