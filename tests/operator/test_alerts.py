"""The alerts ask for metrics that exist, and say what to do."""

from __future__ import annotations

import re

import pytest
from prometheus_client import generate_latest

from shiplift.facts import kinds
from shiplift.kube.credentials import Credentials
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.local.cluster import Cluster
from shiplift.operator import alerts
from shiplift.operator.layers import LAYERS, faces
from shiplift.operator.metrics import Metrics

METRIC = re.compile(r"\bshiplift_[a-z_]+")


@pytest.fixture
def exposed(cluster: Cluster) -> set[str]:
    """The names that a scrape of an operator with all layers shows; nothing has to run for that."""
    credentials: Credentials = cluster.credentials()
    store = Store(
        credentials, [Watch(kinds.NODE), *(one for part in LAYERS.values() for one in part.watches)]
    )
    metrics = Metrics(LAYERS)
    for part in LAYERS.values():
        if part.collector is not None:
            metrics.registry.register(part.collector(store))
    text = generate_latest(metrics.registry).decode()
    named = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    return {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"} | set(named)


def test_every_metric_that_an_alert_asks_for_is_exposed(exposed: set[str]) -> None:
    asked = {name for rule in alerts.rules(faces().values()) for name in METRIC.findall(rule["expr"])}
    assert asked
    assert asked <= exposed


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    for rule in alerts.rules(faces().values()):
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["annotations"]["action"].endswith(".")


def test_holds_without_an_operator_are_found_by_the_names_that_holds_have() -> None:
    from shiplift.api.workloads import WorkloadKind
    from shiplift.workloads.names import hold_name

    pattern = re.search(r'poddisruptionbudget=~"([^"]+)"', alerts.rules(faces().values())[0]["expr"])
    assert pattern
    for kind in WorkloadKind:
        assert re.fullmatch(pattern[1], hold_name(kind, "web"))
        assert re.fullmatch(pattern[1], hold_name(kind, "w" * 253))


def test_budgets_of_users_that_are_held_are_found_by_the_last_metrics_of_the_operator() -> None:
    """What they were called then, and that they still let nobody go."""
    rule = alerts.rules(faces().values())[0]
    assert rule["alert"] == "ShipliftHoldsWithoutOperator"
    assert "last_over_time(shiplift_held_budget[7d])" in rule["expr"]
    assert "kube_poddisruptionbudget_status_desired_healthy >=" in rule["expr"]
    assert rule["expr"].count("(") == rule["expr"].count(")")
