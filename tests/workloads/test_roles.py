"""A database whose operator labels its pods at run time, and budgets that go by these labels."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import Any

from shiplift.facts import kinds
from shiplift.kube.errors import KubeError
from shiplift.local.nodes import Pool
from tests.crash.workloads.invariants import two_budgets
from tests.operated import NEW, OLD
from tests.workloads.film import departures, fewest_ready
from tests.workloads.halfway import budgets, generation, wait_line
from tests.workloads.observer import Observer
from tests.workloads.rig import Scene

DATABASE = "database"
HOLD = "shiplift-hold-statefulset-database"
PRIMARY = {"matchLabels": {"app": DATABASE, "role": "primary"}}
REPLICA = {"matchLabels": {"app": DATABASE, "role": "replica"}}


def label(scene: Scene, space: str, name: str, role: str) -> None:
    scene.change(kinds.POD, space, name, {"metadata": {"labels": {"role": role}}})


class Roles:
    """The operator of the database: it gives every pod a role, also those that are made again."""

    def __init__(self, scene: Scene, space: str, primary: int = 0) -> None:
        self._scene, self._space = scene, space
        self._primary = f"{DATABASE}-{primary}"
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.1):
            for pod in self._scene.pods(self._space, DATABASE):
                if "role" not in pod["metadata"]["labels"]:
                    self._label(pod["metadata"]["name"])

    def end(self) -> None:
        self._ended.set()

    def _label(self, name: str) -> None:
        with contextlib.suppress(KubeError):  # it went meanwhile
            label(self._scene, self._space, name, "primary" if name == self._primary else "replica")


@contextlib.contextmanager
def roles(scene: Scene, space: str, primary: int = 0) -> Generator[None]:
    """A database of three, while its operator gives its pods their roles."""
    scene.stateful_set(space, DATABASE, 3, spec={"podManagementPolicy": "Parallel"})
    made = Roles(scene, space, primary)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        scene.wait_ready(space, database=3)
        scene.wait(lambda: all("role" in one["metadata"]["labels"] for one in scene.pods(space, DATABASE)))
        yield
    finally:
        made.end()
        thread.join()


def limits(scene: Scene, space: str) -> dict[str, Any]:
    return {name: one["spec"].get("minAvailable") for name, one in budgets(scene, space).items()}


def gated_database(scene: Scene) -> tuple[Pool, str]:
    old, space = scene.nodes("old", OLD), scene.namespace()
    scene.gate(space)
    scene.order(space, **{"sts/database": ["gate"]})
    return old, space


def test_budgets_that_go_by_roles_are_held_each_moved_under_and_given_back(
    scene: Scene, observer: Observer
) -> None:
    old, space = gated_database(scene)
    with roles(scene, space):
        scene.budget(space, "primary", PRIMARY, minAvailable=0)
        scene.budget(space, "replica", REPLICA, minAvailable=1)
        scene.nodes("new", NEW)
        observer.begin()
        scene.migrate(hold="Always")
        scene.rig.start()
        scene.wait(lambda: limits(scene, space) == {"primary": "100%", "replica": "100%"})
        scene.wait_held(space, DATABASE)
        assert scene.places(space, DATABASE) == ["old", "old", "old"]
        scene.open_gate()
        scene.finish(old)
        assert scene.arrived(space, DATABASE)
    history = observer.history()
    assert two_budgets(history.trace) == []
    assert history.moves(f"{space}/{DATABASE}") == 1
    assert not history.early({f"{space}/{DATABASE}": [f"{space}/gate"]})
    gone = [name for name, _ in departures(history, f"{space}/{DATABASE}")]
    assert gone.index("database-2") < gone.index("database-1")
    assert limits(scene, space) == {"primary": 0, "replica": 1}


def test_a_budget_of_ours_goes_when_a_pod_gets_the_label_that_anothers_asks_for(scene: Scene) -> None:
    old, space = gated_database(scene)
    scene.stateful_set(space, DATABASE, 2)
    scene.budget(space, "primary", {"matchLabels": {"role": "primary"}}, minAvailable=0)
    scene.wait_ready(space, database=2)
    scene.begin(hold="Always")
    scene.wait(lambda: HOLD in budgets(scene, space))
    label(scene, space, "database-0", "primary")
    scene.wait(lambda: limits(scene, space) == {"primary": "100%"})
    told = (
        f"StatefulSet {space}/database cannot be held whole:"
        " no PodDisruptionBudget covers its pod database-1, and"
    )
    scene.wait(lambda: any(note.startswith(told) for note in scene.status().get("notes", [])))
    scene.open_gate()
    scene.finish(old)
    assert scene.arrived(space, DATABASE)
    assert limits(scene, space) == {"primary": 0}


def test_a_pod_with_two_budgets_is_named_and_its_siblings_move(scene: Scene, observer: Observer) -> None:
    old, space = scene.nodes("old", OLD), scene.namespace()
    with roles(scene, space, primary=2):
        scene.budget(space, "one", PRIMARY, minAvailable=0)
        scene.budget(space, "two", {"matchLabels": {"role": "primary"}}, minAvailable=0)
        scene.budget(space, "replica", REPLICA, minAvailable=1)
        scene.nodes("new", NEW)
        observer.begin()
        scene.migrate()
        scene.rig.start()
        line = wait_line(scene, DATABASE, state="Blocked", reason="TwoBudgets")
        both = f"PodDisruptionBudgets {space}/one and {space}/two both select pod {space}/database-2;"
        assert line["message"].startswith(both)
        assert scene.places(space, DATABASE) == ["new", "new", "old"]
        scene.drop(kinds.POD_DISRUPTION_BUDGET, "two", space)
        scene.finish(old)
    assert scene.arrived(space, DATABASE)
    assert fewest_ready(observer.history(), f"{space}/{DATABASE}") >= 2
    assert generation(scene, space, "one") == generation(scene, space, "replica") == 1


def test_a_primary_that_must_stay_keeps_only_itself(scene: Scene) -> None:
    old, space = scene.nodes("old", OLD), scene.namespace()
    with roles(scene, space):
        scene.budget(space, "primary", PRIMARY, minAvailable=1)
        scene.begin()
        line = wait_line(scene, DATABASE, state="Blocked", reason="NeverEvictable")
        assert line["message"].startswith(f"PodDisruptionBudget {space}/primary needs 1 of 1 pods healthy:")
        assert scene.places(space, DATABASE) == ["new", "new", "old"]
        scene.change(kinds.POD_DISRUPTION_BUDGET, space, "primary", {"spec": {"minAvailable": 0}})
        scene.finish(old)
    assert scene.arrived(space, DATABASE)
