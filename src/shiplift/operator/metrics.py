"""What Prometheus may ask: everything under `shiplift_`, in base units, from the same facts as the probes."""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision
from shiplift.engine.layer import Hooks, Stage
from shiplift.engine.step import Answer, Outcome, Step
from shiplift.facts.kinds import NODE
from shiplift.facts.nodes import Node
from shiplift.kube.store import KindHealth, State, Store


class Metrics:
    """All counters of one process, at zero from the start so that alerts work before the first event."""

    def __init__(self, layers: Iterable[str]) -> None:
        self.registry = CollectorRegistry()
        self.leading = Gauge(
            "shiplift_leading", "1 while this process leads and acts.", registry=self.registry
        )
        self.not_acting = Gauge(
            "shiplift_leading_not_acting",
            "1 while this process leads and does not act, because its fence is not proven.",
            registry=self.registry,
        )
        self.fence_refusals = Counter(
            "shiplift_fence_refusals", "Terms that ended because the fence refused.", registry=self.registry
        )
        self._steps = Counter(
            "shiplift_steps", "Steps by answer.", ["layer", "answer"], registry=self.registry
        )
        self._failures = Counter(
            "shiplift_layer_failures", "Exceptions by stage.", ["layer", "stage"], registry=self.registry
        )
        self._retries = Counter(
            "shiplift_layer_retries",
            "Times that a layer could not do what it has to, by stage.",
            ["layer", "stage"],
            registry=self.registry,
        )
        self._unsettled = Counter(
            "shiplift_unsettled",
            "Writes that the store did not show in time.",
            ["layer"],
            registry=self.registry,
        )
        self._decide = Histogram(
            "shiplift_decide_seconds", "Observing and deciding.", ["layer"], registry=self.registry
        )
        self._act = Histogram("shiplift_act_seconds", "Taking a step.", ["layer"], registry=self.registry)
        for layer in layers:
            self._begin(layer)

    def hooks(self, layer: str) -> Hooks:
        """What a layer's loop reports to."""
        return _Hooks(self, layer)

    def watch(self, store: Store) -> None:
        self.registry.register(_StoreCollector(store))

    def watch_depth(self, depths: Callable[[], dict[str, int]]) -> None:
        self.registry.register(_DepthCollector(depths))

    def _begin(self, layer: str) -> None:
        for answer in Answer:
            self._steps.labels(layer, answer.value)
        for stage in Stage:
            self._failures.labels(layer, stage.value)
            self._retries.labels(layer, stage.value)
        self._unsettled.labels(layer)

    def decided(self, layer: str, seconds: float) -> None:
        self._decide.labels(layer).observe(seconds)

    def acted(self, layer: str, answer: Answer, seconds: float) -> None:
        self._steps.labels(layer, answer.value).inc()
        self._act.labels(layer).observe(seconds)

    def failed(self, layer: str, stage: Stage) -> None:
        self._failures.labels(layer, stage.value).inc()

    def retried(self, layer: str, stage: Stage) -> None:
        self._retries.labels(layer, stage.value).inc()

    def unsettled(self, layer: str, count: int) -> None:
        self._unsettled.labels(layer).inc(count)


class _Hooks(Hooks):
    def __init__(self, metrics: Metrics, layer: str) -> None:
        self._metrics = metrics
        self._layer = layer

    def decided(self, decision: Decision, seconds: float) -> None:
        self._metrics.decided(self._layer, seconds)

    def acted(self, step: Step, outcome: Outcome, seconds: float) -> None:
        self._metrics.acted(self._layer, outcome.answer, seconds)

    def failed(self, stage: Stage) -> None:
        self._metrics.failed(self._layer, stage)

    def retried(self, stage: Stage) -> None:
        self._metrics.retried(self._layer, stage)

    def unsettled(self, barriers: tuple[Barrier, ...]) -> None:
        self._metrics.unsettled(self._layer, len(barriers))


class _StoreCollector(Collector):
    """Read at each scrape, from what the readiness probe reads too."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        health = self._store.health()
        yield _by_kind("shiplift_store_rows", "Rows in the store.", health, lambda one: one.rows)
        yield _by_kind(
            "shiplift_store_stale",
            "1 while rows may be old.",
            health,
            lambda one: one.state is not State.LIVE,
        )
        yield _by_kind(
            "shiplift_store_quiet_seconds", "Since something was heard.", health, lambda one: one.quiet_for
        )
        skipped = CounterMetricFamily(
            "shiplift_store_skipped", "Objects that no row could be made of.", labels=["kind"]
        )
        for one in health:
            skipped.add_metric([str(one.kind)], one.skipped)
        yield skipped
        yield self._nodes()

    def _nodes(self) -> Metric:
        family = GaugeMetricFamily("shiplift_nodes", "Nodes by kubelet version.", labels=["version"])
        versions = Count(node.kubelet_version for node in self._store.snapshot(NODE).all(Node))
        for version, count in sorted(versions.items()):
            family.add_metric([version], count)
        return family


class _DepthCollector(Collector):
    def __init__(self, depths: Callable[[], dict[str, int]]) -> None:
        self._depths = depths

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "shiplift_queue_depth", "Keys that wait to be looked at.", labels=["layer"]
        )
        for layer, depth in self._depths().items():
            family.add_metric([layer], depth)
        yield family


def _by_kind(name: str, text: str, health: list[KindHealth], value: Callable[[KindHealth], float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["kind"])
    for one in health:
        family.add_metric([str(one.kind)], value(one))
    return family
