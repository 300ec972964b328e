"""The rollout benchmark: its plan, its bound, what it sees and counts, and a tiny run on a real cluster."""

from __future__ import annotations

import json

import pytest

from benchmarks.rig import identities
from benchmarks.rig.accounts import Account
from benchmarks.rig.audit import Request
from benchmarks.rollout import kubectl
from benchmarks.rollout.bound import Bound, bound
from benchmarks.rollout.calls import Calls, calls
from benchmarks.rollout.contenders import Name
from benchmarks.rollout.figures import AT_MOST, Contest, Sized, figures, table, verdict
from benchmarks.rollout.manifests import budget
from benchmarks.rollout.plan import ALL, LARGE, SMALL, USUAL, Size, Times, Workload, plan
from benchmarks.rollout.run import chosen, run
from benchmarks.rollout.timeline import NodeSeen, Overhead, Timeline
from shiplift.agent.protocol import CHANGES_ALLOWED, Operation, order_of

pytestmark = pytest.mark.long(seconds=30)

TIMES = Times(start=2.0, end=2.0, change=5.0, lease=1.0)


# --- the plan ---


@pytest.mark.parametrize("size", [*ALL, Size(3, 7)])
def test_a_plan_has_the_pods_that_were_asked_for(size: Size) -> None:
    workloads = plan(size)
    assert sum(one.replicas for one in workloads) == size.pods
    assert len({one.name for one in workloads}) == len(workloads)


def test_four_of_five_workloads_have_a_budget_of_a_fifth() -> None:
    workloads = plan(USUAL)
    with_budget = [one for one in workloads if one.budget_percent]
    assert len(with_budget) / len(workloads) == 0.8
    assert {one.at_once / one.replicas for one in with_budget} == {0.2}
    assert {made["spec"]["maxUnavailable"] for one in with_budget if (made := budget(one))} == {"20%"}
    assert all(budget(one) is None for one in workloads if one not in with_budget)


# --- the bound ---


def test_the_bound_is_waves_of_a_drain_a_change_and_a_lease() -> None:
    found = bound(Size(100, 20, 10, TIMES), plan(USUAL), evictions=2000, rate=1000.0)
    assert (found.waves, found.rounds) == (10, 1)
    assert found.seconds == 10 * (1 * 4.0 + 5.0 + 1.0)


def test_a_slow_rig_is_the_bound() -> None:
    assert bound(Size(100, 20, 10, TIMES), plan(USUAL), evictions=2000, rate=10.0).seconds == 200.0


def test_a_last_wave_that_is_not_full_is_a_wave() -> None:
    assert Size(101, 1, 10).waves == 11


def test_a_budget_that_is_smaller_than_a_wave_takes_rounds() -> None:
    one = Workload("web", "shop", 20, 20)
    assert [one.rounds(Size(nodes, 1, 10)) for nodes in (100, 50, 25)] == [1, 1, 2]
    assert Workload("free", "shop", 20, None).rounds(Size(10, 1, 10)) == 1


# --- the timeline ---


class Story:
    """Nodes and when they were seen."""

    def __init__(self, slots: int) -> None:
        self.line = Timeline(slots)

    def see(self, at: float, name: str, *words: str) -> None:
        self.line.see(NodeSeen(at, name, *(word in words for word in ("cordoned", "ordered", "changed"))))

    def pass_through(self, name: str, begin: float) -> None:
        """A way of ten seconds, of which 0.2 and 0.3 are the contender's own."""
        self.see(begin, name, "cordoned")
        self.line.pod_gone(name, begin + 1)
        self.line.pod_gone(name, begin + 2)
        self.see(begin + 2.2, name, "cordoned", "ordered")
        self.line.renewed(name, begin + 3)
        self.see(begin + 8, name, "cordoned", "ordered", "changed")
        self.line.renewed(name, begin + 9.7)
        self.line.renewed(name, begin + 9.9)
        self.see(begin + 10, name)


def test_overhead_is_what_is_between_free_slot_and_cordon_last_pod_and_order_proof_and_uncordon() -> None:
    story = Story(slots=1)
    for number in range(3):
        story.pass_through(f"node-{number}", begin=10.1 * number)
    found = story.line.overhead()
    assert found is not None
    assert (found.to_cordon, found.to_order, found.to_uncordon) == pytest.approx((0.1, 0.2, 0.3))
    assert found.whole == pytest.approx(0.6)


def test_the_first_nodes_find_their_slots_free_when_the_first_is_cordoned() -> None:
    story = Story(slots=2)
    story.pass_through("node-0", begin=5.0)
    story.pass_through("node-1", begin=5.4)
    found = story.line.overhead()
    assert found is not None
    assert found.to_cordon == pytest.approx(0.2)
    assert story.line.first_cordon == 5.0


def test_what_an_uncordoned_node_has_is_no_part_of_its_way() -> None:
    """An order that only prepares comes before the cordon; a pod may end at any time."""
    story = Story(slots=1)
    story.see(1.0, "node", "ordered")
    story.see(2.0, "node", "ordered", "changed")
    story.line.pod_gone("node", 3.0)
    assert story.line.overhead() is None
    story.pass_through("node", begin=10.0)
    found = story.line.overhead()
    assert found is not None
    assert found.to_order == pytest.approx(0.2)


def test_a_node_without_pods_could_have_its_order_from_the_cordon_on() -> None:
    story = Story(slots=1)
    story.see(1.0, "node", "cordoned")
    story.see(1.4, "node", "cordoned", "ordered")
    story.see(6.0, "node", "cordoned", "ordered", "changed")
    story.see(6.5, "node")
    found = story.line.overhead()
    assert found is not None
    assert (found.to_order, found.to_uncordon) == pytest.approx((0.4, 0.5))


# --- the calls ---


def a_request(at: float, verb: str, resource: str, *, namespace: str = "", code: int = 200) -> Request:
    return Request("operator", verb, resource, namespace, "x", code, at)


def test_evictions_and_reads_of_pods_are_of_pods_and_all_else_is_of_nodes() -> None:
    asked = [
        a_request(1, "patch", "nodes"),
        a_request(2, "create", "pods/eviction", namespace="shop", code=201),
        a_request(3, "create", "pods/eviction", namespace="shop", code=429),
        a_request(4, "get", "pods", namespace="shop"),
        a_request(5, "get", "leases", namespace="kube-node-lease"),
        a_request(6, "patch", "noderollouts/status"),
    ]
    assert calls(asked, 0, 10) == Calls(pods=3, nodes=3, evicted=1)


def test_events_the_own_lease_and_what_was_before_or_after_do_not_count() -> None:
    asked = [
        a_request(1, "patch", "nodes"),
        a_request(5, "create", "events"),
        a_request(5, "update", "leases", namespace=identities.OPERATOR.namespace),
        a_request(9, "patch", "nodes"),
    ]
    assert calls(asked, 2, 8) == Calls(0, 0, 0)


# --- the figures ---


def a_contest(makespan: float, nodes: int, calls_per_node: int = 12) -> Contest:
    account = Account(1.2, 0, 0.0, 0.0)
    return Contest(makespan, account, Overhead(0.4, 0.1, 0.1, 0.2), Calls(250, calls_per_node * nodes, 100))


def test_all_keys_are_there_and_each_limit_has_one() -> None:
    usual = {Name.OURS: a_contest(110.0, 100), Name.KUBECTL: a_contest(220.0, 100)}
    found = figures(
        {
            SMALL.nodes: Sized(SMALL, {Name.OURS: a_contest(20.0, 10, 30)}),
            USUAL.nodes: Sized(USUAL, usual, Bound(100.0, 50.0, 10, 1, 40.0)),
            LARGE.nodes: Sized(LARGE, {Name.OURS: a_contest(900.0, 1000, 15)}),
        }
    )
    assert found == {
        "calls_per_node_10": 30.0,
        "calls_per_node_100": 12.0,
        "calls_per_node_1000": 15.0,
        "calls_growth": 1.25,
        "calls_per_pod": 2.5,
        "overhead_per_node_s": 0.4,
        "makespan_vs_bound": 1.1,
        "makespan_vs_kubectl": 0.5,
        "under_pdb_s": 0.0,
        "moves_per_pod": 1.2,
    }
    assert AT_MOST.keys() < found.keys()
    missed = [line.split()[0] for line in verdict(found, judged=True).splitlines() if "MISSED" in line]
    assert missed == ["calls_growth"]
    assert "MISSED" not in verdict(found, judged=False)
    assert "kubectl by script" in table(Sized(USUAL, usual))


def test_what_was_not_run_has_no_figure() -> None:
    found = figures({USUAL.nodes: Sized(USUAL, {Name.KUBECTL: a_contest(1.0, 100)})})
    assert found == {}


def test_a_size_that_there_is_not_is_refused() -> None:
    assert chosen(None, short=True) == (SMALL,)
    assert chosen(100, short=False) == (USUAL,)
    with pytest.raises(SystemExit, match="no cluster of 7 nodes"):
        chosen(7, short=False)


# --- kubectl ---


def test_the_script_orders_as_the_protocol_says() -> None:
    drain, order, wait, clear, uncordon = kubectl.commands("node-1", "n-uid", "r-uid")
    annotations = dict(one.split("=", 1) for one in order[3:])
    read = order_of(annotations)
    assert read is not None
    assert (read.token.node, read.token.rollout, read.token.operation) == (
        "n-uid",
        "r-uid",
        Operation.PACKAGES,
    )
    assert wait[2].endswith(f"=true {json.loads(annotations[CHANGES_ALLOWED])['token']}")
    assert [key.removesuffix("-") for key in clear[3:]] == list(annotations)
    assert (drain[:2], uncordon) == (["drain", "node-1"], ["uncordon", "node-1"])


# --- for real ---


@pytest.mark.usefixtures("programs")
def test_a_tiny_rollout_is_seen_counted_and_keeps_its_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    times = Times(start=0.2, end=0.2, change=0.2, lease=1.0)
    found = run([Size(3, 4, max_unavailable=1, times=times)])
    assert found["under_pdb_s"] == 0
    assert found["moves_per_pod"] >= 1
    assert 5 <= found["calls_per_node_3"] < 60
    assert 1 <= found["calls_per_pod"] < 10
    assert 0 < found["overhead_per_node_s"] < 30
    assert found["makespan_vs_bound"] > 0
    assert found["makespan_vs_kubectl"] > 0
    assert "kubectl by script" in capsys.readouterr().out
