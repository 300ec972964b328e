"""The account of what a contender did to the pods, by small stories."""

from __future__ import annotations

import msgspec

from benchmarks.rig.accounts import Account, Ledger, Seen


class Workload(msgspec.Struct, frozen=True):
    name: str
    replicas: int
    least_healthy: int = 0
    depends_on: tuple[str, ...] = ()


class Story:
    """Two workloads, `db` and `web` which depends on it, two pods each on old nodes; then what happens."""

    def __init__(self, least_healthy: int = 0) -> None:
        self._time = 0.0
        workloads = [Workload("db", 2), Workload("web", 2, least_healthy, ("db",))]
        self.ledger = Ledger(workloads, ["new"])
        for app in ("db", "web"):
            for number in (1, 2):
                self.see(f"{app}-{number}", node="old", ready=True)
        self.ledger.begin(0.0)

    def see(
        self, pod: str, *, node: str = "", ready: bool = False, deleting: bool = False, gone: bool = False
    ) -> None:
        app = pod.partition("-")[0]
        self.ledger.add(Seen(self._time, pod, app, node, not node, ready, deleting, gone))

    def wait(self, seconds: float) -> None:
        self._time += seconds

    def move(self, pod: str) -> None:
        """Terminate, and a second later the successor is Ready."""
        self.see(pod, node="old", ready=True, deleting=True)
        self.see(f"{pod}-next", node="new")
        self.wait(1)
        self.see(pod, gone=True)
        self.see(f"{pod}-next", node="new", ready=True)

    def end(self) -> Account:
        return self.ledger.close(self._time)


def test_in_order_and_once_is_one_move_for_each_pod_and_no_violation() -> None:
    story = Story()
    for pod in ("db-1", "db-2", "web-1", "web-2"):
        assert not story.ledger.at_target()
        story.move(pod)
    account = story.end()
    assert story.ledger.at_target()
    assert (account.moves_per_pod, account.order_violations, account.held_pending_s) == (1.0, 0, 0.0)
    assert account.ready == (1.0, 2.0, 3.0, 4.0)


def test_a_pod_on_a_new_node_before_its_dependency_has_moved_is_a_violation() -> None:
    story = Story()
    story.move("db-1")
    story.move("web-1")
    story.move("db-2")
    story.move("web-2")
    assert story.end().order_violations == 1


def test_who_moves_to_another_old_node_first_moves_more_often() -> None:
    story = Story()
    story.see("db-1", gone=True)
    story.see("db-1-next", node="old", ready=True)
    story.see("db-1-next", gone=True)
    story.see("db-1-last", node="new", ready=True)
    assert story.end().moves_per_pod == 2 / 4
    assert story.ledger.left() == ["db", "web"]


def test_a_pod_that_never_found_a_node_has_not_moved() -> None:
    story = Story()
    story.see("db-1-next")
    story.see("db-1-next", gone=True)
    assert story.end().moves_per_pod == 0


def test_once_moved_counts_for_good() -> None:
    story = Story()
    story.move("db-1")
    story.move("db-2")
    story.see("db-1-next", node="new", ready=False)
    story.move("web-1")
    assert story.end().order_violations == 0


def test_a_terminating_pod_that_is_left_keeps_its_workload_from_having_moved() -> None:
    story = Story()
    story.move("db-1")
    story.see("db-2", node="old", deleting=True)
    story.see("db-2-next", node="new", ready=True)
    story.see("web-1-next", node="new")
    assert story.end().order_violations == 1


def test_time_below_the_budget_is_counted() -> None:
    story = Story(least_healthy=1)
    story.see("web-1", node="old", ready=True, deleting=True)
    story.wait(2)
    assert story.ledger.close(2.0).under_pdb_s == 0
    story.see("web-2", node="old", ready=False)
    story.wait(3)
    story.see("web-2", node="old", ready=True)
    story.wait(1)
    assert story.end().under_pdb_s == 3.0


def test_pending_counts_only_before_the_turn() -> None:
    story = Story()
    story.see("web-1-next")
    story.wait(2)
    story.see("web-1-next", node="new")
    story.move("db-1")
    story.move("db-2")
    story.see("web-2-next")
    story.wait(5)
    assert story.end().held_pending_s == 2.0
