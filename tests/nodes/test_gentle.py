"""Nodes whose pods budgets let go are begun before those that would have to wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.nodes import NodeRolloutSpec, NodeState, RolloutPass
from shiplift.drain.own import Own
from shiplift.engine.barrier import Gone
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.nodes.decide.gentle import drainable, gentlest
from shiplift.nodes.model import Demands, Member
from tests.drain.pods import DAEMON_SET, a_budget
from tests.nodes.players import agents
from tests.nodes.seen import Seen, record
from tests.nodes.stage import Stage, decided
from tests.nodes.world import NEW

MEMBERS = [one.member() for one in Stage(12).world.nodes.values() if one.name.startswith("w-")]
BUDGETS = ("x", "y", "z")


class Told:
    """Demands that a test says: what each node needs, and what budgets have."""

    def __init__(
        self, needs: Mapping[str, Mapping[str, int]], stuck: Collection[str] = (), **left: int
    ) -> None:
        self._needs, self._stuck, self._left = needs, stuck, left
        self.asked: list[str] = []

    def of(self, node: str) -> Mapping[str, int]:
        return self._needs.get(node, {})

    def left(self, budget: str) -> int:
        return self._left.get(budget, 0)

    def stuck(self, node: str, spec: NodeRolloutSpec) -> bool:
        self.asked.append(node)
        return node in self._stuck


def chosen(count: int, demands: Demands | None, among: int = 5) -> list[str]:
    return [one.name for one in gentlest(MEMBERS[:among], count, demands)]


NAMES = [one.name for one in MEMBERS]


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 5, 9])
def test_without_budgets_they_go_as_they_are_ordered(count: int) -> None:
    expected = NAMES[:5][: max(count, 0)]
    assert chosen(count, None) == chosen(count, Told({})) == expected


def test_a_node_that_no_budget_keeps_is_before_one_that_waits() -> None:
    demands = Told({NAMES[0]: {"x": 1}, NAMES[1]: {"y": 1}}, y=1)
    assert chosen(1, demands) == [NAMES[1]]
    assert chosen(2, demands) == [NAMES[1], NAMES[2]]


def test_where_all_wait_the_one_that_waits_for_the_fewest_pods_is_first() -> None:
    demands = Told({name: {"x": 5 - number} for number, name in enumerate(NAMES[:5])})
    assert chosen(2, demands) == [NAMES[4], NAMES[3]]


def test_what_one_takes_the_next_does_not_get() -> None:
    demands = Told({NAMES[0]: {"x": 1}, NAMES[1]: {"x": 1}}, x=1)
    assert chosen(2, demands) == [NAMES[0], NAMES[2]]


def test_a_node_that_waits_is_begun_when_no_other_is_left() -> None:
    demands = Told({NAMES[0]: {"x": 1}})
    assert chosen(1, demands, among=1) == [NAMES[0]]


@given(
    needs=st.dictionaries(
        st.sampled_from(NAMES), st.dictionaries(st.sampled_from(BUDGETS), st.integers(1, 3))
    ),
    left=st.fixed_dictionaries({name: st.integers(0, 4) for name in BUDGETS}),
    count=st.integers(0, 12),
)
def test_each_is_chosen_once_and_nobody_waits_while_another_need_not(
    needs: dict[str, dict[str, int]], left: dict[str, int], count: int
) -> None:
    demands = Told(needs, **left)
    found = gentlest(MEMBERS, count, demands)
    assert len({one.uid for one in found}) == len(found) == min(count, len(MEMBERS))
    taken = Counter[str]()
    for number, one in enumerate(found if count < len(MEMBERS) else []):
        others = [other for other in MEMBERS if other not in found[:number]]
        if _waits(one, taken, demands):
            assert all(_waits(other, taken, demands) for other in others)
        taken.update(demands.of(one.name))


def _waits(one: Member, taken: Counter[str], demands: Demands) -> bool:
    return any(
        pods > max(demands.left(budget) - taken[budget], 0) for budget, pods in demands.of(one.name).items()
    )


@pytest.mark.parametrize(("done", "begun"), [((), "w-2"), (("w-2",), "w-1"), (("w-1", "w-2"), "w-0")])
def test_a_node_with_a_pod_that_can_never_go_is_begun_when_no_other_is_left(
    done: tuple[str, ...], begun: str
) -> None:
    """The next one waits for a budget; the one after that could go at once."""
    stage = _at_workers()
    for name in done:
        node = stage.node(name)
        node.kubelet, node.packages = NEW, dict.fromkeys(node.packages, NEW[1:])
    agents(stage.world)
    demands = Told({"w-0": {}, "w-1": {"x": 2}}, stuck=["w-0"])
    (record,) = decided(stage, demands=demands).told[0].status.nodes
    assert record.name == begun


@pytest.mark.parametrize(
    ("own", "stuck", "begun"),
    [
        ({"own": "w-0"}, (), "w-2"),
        ({"own": "w-0", "other": "w-2"}, (), "w-1"),
        ({"own": "w-0", "other": "w-1"}, ("w-2",), "w-1"),
        ({"own": "w-0"}, ("w-1", "w-2"), "w-0"),
    ],
    ids=["budgets keep others", "two", "nobody waits for ever", "alone"],
)
def test_a_node_of_the_operator_comes_after_others_however_much_budgets_keep_of_them(
    own: dict[str, str], stuck: tuple[str, ...], begun: str
) -> None:
    demands = Told({"w-1": {"x": 2}, "w-2": {"x": 1}}, stuck=stuck)
    (record,) = decided(_at_workers(), demands=demands, own=Own("own", places=own)).told[0].status.nodes
    assert record.name == begun


@pytest.mark.parametrize(("stuck", "begun"), [((), "w-0"), (("w-0",), "w-2")])
def test_of_the_nodes_of_the_operator_one_is_away_at_a_time(stuck: tuple[str, ...], begun: str) -> None:
    """Were all of them, and no other node took its pods, nobody would be there to give one back."""
    stage, demands = _at_workers(budget=3), Told({}, stuck=stuck)
    own = Own("own", places={"own": "w-2", "other": "w-0"})
    found = decided(stage, demands=demands, own=own).told[0]
    assert {one.name for one in found.status.nodes} == {"w-1", begun}
    rollout = stage.world.rollouts["next"]
    stage.world.rollouts["next"] = msgspec.structs.replace(rollout, status=found.status)
    later = decided(stage, demands=demands, own=own)
    assert all(len(one.status.nodes) == 2 for one in later.told)


def _at_workers(budget: int = 1) -> Stage:
    """None of three is begun."""
    stage = Stage(3, budget=budget)
    stage.until(lambda: stage.told.running_pass is RolloutPass.WORKERS)
    rollout = stage.world.rollouts["next"]
    empty = msgspec.structs.replace(rollout.status, nodes=())
    stage.world.rollouts["next"] = msgspec.structs.replace(rollout, status=empty)
    return stage


def test_no_more_nodes_are_looked_at_than_has_to_be() -> None:
    spec = NodeRolloutSpec(version=NEW)
    many = [msgspec.structs.replace(MEMBERS[0], pool=str(number)) for number in range(100)]
    demands = Told({})
    found, stuck = drainable(many, 1, demands, spec)
    assert (len(found), stuck, len(demands.asked)) == (32, [], 32)
    found, stuck = drainable(many, 1, Told({}, stuck=[MEMBERS[0].name]), spec)
    assert (found, len(stuck)) == ([], 100)


# --- what a snapshot says of them ---


@pytest.fixture
def seen() -> Seen:
    made = Seen()
    for name in "ab":
        made.node(name)
    made.roll()
    return made


def demanded(seen: Seen, outcomes: Outcomes | None = None) -> Demands:
    found = seen.observer.observe(outcomes or Outcomes()).demands
    assert found is not None
    return found


def test_pods_of_a_budget_are_counted_and_others_are_not(seen: Seen) -> None:
    budget = seen.put(a_budget(allowed=2))
    for number in range(3):
        seen.pod(f"web-{number}", "b", uid=f"u{number}")
    seen.pod("other", "b", uid="o", labels={})
    seen.pod("agent", "b", uid="d", owner=DAEMON_SET)
    found = demanded(seen)
    assert (dict(found.of("b")), dict(found.of("a"))) == ({budget.uid: 3}, {})
    assert (found.left(budget.uid), found.left("another")) == (2, 0)


def test_what_nodes_that_are_drained_still_need_is_taken(seen: Seen) -> None:
    budget = seen.put(a_budget(allowed=2))
    seen.pod("web-1", "a", uid="u1")
    seen.roll(record(seen.named_node("a"), NodeState.DRAINING))
    assert demanded(seen).left(budget.uid) == 1
    seen.roll(record(seen.named_node("a"), NodeState.CHANGING))
    assert demanded(seen).left(budget.uid) == 2


@pytest.mark.parametrize(
    "outcomes", [Outcomes(running=frozenset({"evict u1"})), Outcomes(unsettled=(Gone(kinds.POD, "u1"),))]
)
def test_an_eviction_that_is_under_way_is_taken_once(seen: Seen, outcomes: Outcomes) -> None:
    budget = seen.put(a_budget(allowed=2))
    seen.pod("web-1", "a", uid="u1")
    seen.roll(record(seen.named_node("a"), NodeState.DRAINING))
    assert demanded(seen, outcomes).left(budget.uid) == 1


def test_a_node_is_stuck_with_a_pod_that_two_budgets_keep_or_one_that_allows_nothing(seen: Seen) -> None:
    spec = NodeRolloutSpec(version=NEW)
    seen.pod("web-1", "b", uid="u1")
    seen.put(a_budget(allowed=1))
    assert not demanded(seen).stuck("b", spec)
    second = seen.put(a_budget("other", allowed=1))
    assert demanded(seen).stuck("b", spec)
    assert not demanded(seen).stuck("a", spec)
    seen.remove(second)
    assert not demanded(seen).stuck("b", spec)
    nothing = {"min_available": None, "max_unavailable": 0, "desired_healthy": 3, "current_healthy": 3}
    seen.put(a_budget(**nothing))
    assert demanded(seen).stuck("b", spec)


def test_a_node_is_stuck_with_a_pod_that_nobody_brings_back_unless_somebody_says_that_it_may_go(
    seen: Seen,
) -> None:
    seen.pod("bare", "b", uid="u1", owner=None)
    found = demanded(seen)
    assert found.stuck("b", NodeRolloutSpec(version=NEW))
    assert not found.stuck("b", NodeRolloutSpec(version=NEW, evict_unmanaged=True))


def test_a_node_that_is_not_begun_because_of_a_pod_takes_nothing_of_a_budget(seen: Seen) -> None:
    budget = seen.put(a_budget(allowed=2))
    seen.pod("web-1", "a", uid="u1")
    seen.roll(record(seen.named_node("a"), NodeState.WAITING))
    assert demanded(seen).left(budget.uid) == 2
    seen.roll(record(seen.named_node("a"), NodeState.WAITING, token="t"))
    assert demanded(seen).left(budget.uid) == 1


def test_without_a_rollout_nobody_asks(seen: Seen) -> None:
    seen.stop_rolling()
    assert seen.observer.observe(Outcomes()).demands is None
