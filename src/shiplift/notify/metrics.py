"""What Prometheus may ask about notices."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.kube.store import Store
from shiplift.notify.model import View
from shiplift.outside.letters import Box

_lock = threading.Lock()
_seen: WeakKeyDictionary[Store, View] = WeakKeyDictionary()
"""By the store of the process that it is of: that is what layer and collector have in common."""


def note(store: Store, view: View) -> None:
    """What was seen last."""
    with _lock:
        _seen[store] = view


class NoticeCollector(Collector):
    """Read at each scrape."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        with _lock:
            view = _seen.get(self._store, View())
        box = view.box or Box()
        yield GaugeMetricFamily(
            "shiplift_notify_outbox_letters", "Notices that are still to be delivered.", len(box.letters)
        )
        oldest = min((one.at.timestamp() for one in box.letters), default=0.0)
        yield GaugeMetricFamily(
            "shiplift_notify_oldest_letter_timestamp_seconds",
            "Since when the oldest notice waits to be delivered; 0 where none does.",
            oldest,
        )
        yield GaugeMetricFamily("shiplift_notify_silences", "Silences that are held.", len(view.held))
        dropped = CounterMetricFamily(
            "shiplift_notify_outbox_dropped", "Notices that went undelivered because there was no room."
        )
        dropped.add_metric([], sum(box.dropped.values()))
        yield dropped
