"""What Prometheus may ask about the sync; when it last worked is told here and nowhere written."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime
from weakref import WeakKeyDictionary

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.kube.store import Store
from shiplift.outside.letters import Box
from shiplift.policy.config import Provider
from shiplift.policy.model import View


class Sync(msgspec.Struct, frozen=True):
    """How the sync is going in this process."""

    provider: str = ""
    last_sync: float = 0.0
    unsynced_since: float = 0.0
    period: float = 0.0
    failures: int = 0
    settings_bad: bool = False
    box: Box = Box()


_lock = threading.Lock()
_syncs: WeakKeyDictionary[Store, Sync] = WeakKeyDictionary()
"""By the store of the process that it is of: that is what layer and collector have in common."""


def note(store: Store, view: View, begun: datetime) -> None:
    """What was seen last, in a term that began then."""
    sync = seen(view, begun)
    with _lock:
        _syncs[store] = sync


def seen(view: View, begun: datetime) -> Sync:
    probe = view.asking.probe
    return Sync(
        view.config.provider.value if view.config is not None else "",
        probe.taken.timestamp() if probe.taken is not None else 0.0,
        (probe.taken or begun).timestamp(),
        view.config.period.total_seconds() if view.config is not None else 0.0,
        probe.failures,
        bool(view.config_trouble),
        view.box or Box(),
    )


class SyncCollector(Collector):
    """Read at each scrape."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        with _lock:
            sync = _syncs.get(self._store, Sync())
        provider = GaugeMetricFamily(
            "shiplift_policy_provider", "1 for the provider that is asked.", labels=["provider"]
        )
        for one in Provider:
            provider.add_metric([one.value], float(sync.provider == one.value))
        yield provider
        yield _gauge(
            "last_sync_timestamp_seconds", "When the provider was last asked with success.", sync.last_sync
        )
        text = "When the provider was last asked with success, or else when this operator began to lead."
        yield _gauge("unsynced_since_timestamp_seconds", text, sync.unsynced_since)
        yield _gauge("watch_interval_seconds", "The wait between two syncs.", sync.period)
        yield _gauge("sync_failures", "Attempts in a row that got no answer.", sync.failures)
        yield _gauge("config_bad", "1 while the settings that stand there cannot be used.", sync.settings_bad)
        yield _gauge("outbox_letters", "Reports that are still to be delivered.", len(sync.box.letters))
        dropped = CounterMetricFamily(
            "shiplift_policy_outbox_dropped", "Reports that went undelivered because there was no room."
        )
        dropped.add_metric([], sum(sync.box.dropped.values()))
        yield dropped


def _gauge(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(f"shiplift_policy_{name}", text)
    family.add_metric([], value)
    return family
