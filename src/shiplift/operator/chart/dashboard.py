"""A Grafana dashboard of the metrics that there are: a row for the operator, and one for each layer.

A layer's panels are what its collector tells, asked here without a cluster: a metric that is added has its
panel, and one that is gone has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from prometheus_client.core import Metric

from shiplift.facts import kinds
from shiplift.kube.credentials.address import Server
from shiplift.kube.credentials.identity import Anonymous
from shiplift.kube.credentials.live import Credentials, Trust
from shiplift.kube.part import LayerPart
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.operator.metrics import Metrics

Panel = dict[str, Any]
_OF_THE_SCRAPE = "instance, pod, endpoint, container, service, namespace, job"
_WIDE, _HIGH, _ACROSS = 8, 7, 3
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


class Row(msgspec.Struct, frozen=True):
    """Panels under one title: each a title and what is asked."""

    title: str
    panels: tuple[tuple[str, str], ...]


def dashboard(layers: Mapping[str, LayerPart]) -> dict[str, Any]:
    return {
        "title": "shiplift",
        "uid": "shiplift",
        "tags": ["kubernetes", "shiplift"],
        "timezone": "utc",
        "refresh": "30s",
        "schemaVersion": 39,
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": _panels(rows(layers)),
    }


def rows(layers: Mapping[str, LayerPart]) -> list[Row]:
    """The operator's own, and a row for each layer that tells anything."""
    store = _store(layers.values())
    found = [Row("operator", tuple(_asked(_own(store, layers))))]
    for name, part in layers.items():
        if part.collector is not None:
            found.append(Row(name, tuple(_asked(part.collector(store).collect()))))
    return found


def _own(store: Store, layers: Iterable[str]) -> Iterable[Metric]:
    metrics = Metrics(layers)
    metrics.watch(store)
    metrics.watch_depth(dict)
    return metrics.registry.collect()


def _store(parts: Iterable[LayerPart]) -> Store:
    """Of no cluster: it is asked, never started."""
    nowhere = Credentials(Server("https", "localhost", 1), Trust(), Anonymous())
    return Store(nowhere, [Watch(kinds.NODE), *(one for part in parts for one in part.watches)])


def _asked(metrics: Iterable[Metric]) -> Iterable[tuple[str, str]]:
    for metric in metrics:
        yield metric.documentation.rstrip("."), _expression(metric)


def _expression(metric: Metric) -> str:
    """Of all replicas together: followers tell nothing that the leader does not tell."""
    match metric.type:
        case "counter":
            return f"sum without ({_OF_THE_SCRAPE}) (rate({metric.name}_total[5m]))"
        case "histogram":
            by = f"sum by (le, layer) (rate({metric.name}_bucket[5m]))"
            return f"histogram_quantile(0.99, {by})"
        case _:
            return f"max without ({_OF_THE_SCRAPE}) ({metric.name})"


def _panels(listed: Iterable[Row]) -> list[Panel]:
    found: list[Panel] = []
    top = 0
    for row in listed:
        found.append(_place(len(found) + 1, "row", row.title, 0, top, 24, 1))
        for number, (title, expression) in enumerate(row.panels):
            left, down = number % _ACROSS * _WIDE, number // _ACROSS * _HIGH
            panel = _place(len(found) + 1, "timeseries", title, left, top + 1 + down, _WIDE, _HIGH)
            target = {"refId": "A", "expr": expression, "datasource": _SOURCE}
            found.append(panel | {"datasource": _SOURCE, "targets": [target]})
        top += 1 + -(-len(row.panels) // _ACROSS) * _HIGH
    return found


def _place(number: int, kind: str, title: str, x: int, y: int, w: int, h: int) -> Panel:
    return {"id": number, "type": kind, "title": title, "gridPos": {"x": x, "y": y, "w": w, "h": h}}
