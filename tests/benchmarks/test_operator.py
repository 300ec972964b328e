"""The operator benchmark: its figures, and a tiny run on a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import fill
from benchmarks.operator.figures import AT_MOST, Used, figures, first_decisions, verdict
from benchmarks.operator.run import Size, measured
from benchmarks.rig import identities
from benchmarks.rig.audit import Audit, Request
from benchmarks.rig.cluster import Rig
from benchmarks.server import serving

pytestmark = pytest.mark.long(seconds=45)

MIB = 1 << 20
OWN = identities.OPERATOR.namespace


def a_request(at: float, verb: str, resource: str, namespace: str = "") -> Request:
    return Request("operator", verb, resource, namespace, "x", 200, at)


def test_the_higher_peak_and_the_later_decision_count() -> None:
    found = figures(Used(0.05, 150 * MIB), Used(0.6, 200 * MIB), {"a": 1.0, "b": 2.0}, 800 * MIB)
    assert found == {
        "idle_cpu": 0.05,
        "busy_cpu": 0.6,
        "rss_mib": 200.0,
        "rss_vs_client_go": 0.25,
        "first_decision_s": 2.0,
    }
    assert AT_MOST.keys() == found.keys()
    missed = [line.split()[0] for line in verdict(found, judged=True).splitlines() if "MISSED" in line]
    assert missed == ["busy_cpu"]
    assert "MISSED" not in verdict(found, judged=False)


def test_first_decisions_are_counted_from_the_first_question_for_the_own_lease() -> None:
    asked = [
        a_request(1.0, "get", "leases", OWN),
        a_request(1.5, "patch", "noderollouts/status"),
        a_request(4.0, "get", "leases", "kube-node-lease"),
        a_request(4.5, "get", "serviceaccounts", OWN),
        a_request(5.0, "get", "leases", OWN),
        a_request(5.5, "get", "noderollouts"),
        a_request(6.0, "patch", "noderollouts"),
        a_request(6.5, "patch", "noderollouts/status"),
        a_request(7.0, "patch", "workloadmigrations/status"),
    ]
    assert first_decisions(asked, since=3.0) == {"workloads": 2.0, "nodes": 1.0}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ([], "never asked for its Lease"),
        ([a_request(1.0, "get", "leases", OWN)], "never wrote to workloadmigrations"),
    ],
)
def test_a_log_that_does_not_have_them_is_refused(asked: list[Request], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        first_decisions(asked, since=0.0)


@pytest.mark.usefixtures("programs")
def test_a_tiny_cluster_is_measured_idle_and_held_up_by_budgets(tmp_path: Path) -> None:
    pods, nodes = 40, 3
    fill.fill(tmp_path, pods, nodes)
    audit = Audit(tmp_path, identities.ALL)
    with serving(tmp_path / "etcd", tmp_path, audit.flags) as cluster:
        seen = measured(Rig(cluster, tmp_path, audit), Size(pods, nodes, rate=20, seconds=2.0))
    assert seen.idle.peak > 20 * MIB
    assert seen.busy.cpu > 0
    assert set(seen.first) == {"workloads", "nodes"}
    assert all(0 < seconds < 60 for seconds in seen.first.values())
