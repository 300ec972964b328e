"""Simulated machines: work and restarts take their set times, and go wrong as was ordered."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from shiplift.agent.model import Machine, Progress, Record
from shiplift.agent.protocol import Operation, Order, Reboot, Token, current_key
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.local.agents.failures import FAILS, Failure, ordered
from shiplift.local.agents.machine import Pace, SimulatedMachine
from shiplift.local.agents.software import CONTROL_PLANE
from shiplift.local.errors import LocalError
from tests.view.rows import node

CHANGE, REBOOT = 2.0, 1.0
WANTED = {"containerd": "2.2.0", "kubelet": "1.36.3-1.1"}
OLD = {"containerd": "2.1.4", "kubeadm": "1.35.4", "kubectl": "1.35.4", "kubelet": "1.35.4"}


def row(**annotations: str) -> Node:
    made = node("node-0", "v1.35.4", container_runtime="containerd://2.1.4", boot_id="first")
    return msgspec.structs.replace(made, annotations=Labels(annotations))


def failing(failure: str) -> Node:
    return msgspec.structs.replace(row(), annotations=Labels({FAILS: failure}))


def record(operation: Operation = Operation.PACKAGES, *, back: bool = False, version: str = "") -> Record:
    return Record(Order(Token("r", "n", operation, 1), version, Reboot.IF_REQUIRED, back), WANTED, begun=True)


class Played:
    """A machine, and the Node that it reports to."""

    def __init__(self, row: Node) -> None:
        self.row = row
        self.machine = SimulatedMachine(row, Pace(CHANGE, REBOOT))

    def at(self, now: float) -> Machine:
        self.machine.follow(self.row)
        self.machine.advance(now)
        told = self.machine.unreported
        if told and not self.machine.silent:
            fields = {"kubeletVersion": "kubelet_version", "bootID": "boot_id"}
            changes = {fields[key]: text for key, text in told.items() if key in fields}
            runtime = told.get("containerRuntimeVersion", self.row.container_runtime)
            self.row = msgspec.structs.replace(self.row, container_runtime=runtime, **changes)
            self.machine.reported()
            self.machine.follow(self.row)
        return self.machine.observe(frozenset())

    def begin(self, order: Record, now: float = 0.0) -> None:
        self.at(now)
        self.machine.keep(order)
        self.machine.begin(order)

    def fail(self, failure: str) -> None:
        self.row = msgspec.structs.replace(self.row, annotations=Labels({FAILS: failure} if failure else {}))


def test_a_change_takes_its_time_and_is_reported_as_a_kubelet_would() -> None:
    played = Played(row())
    assert played.at(0).software == OLD
    played.begin(record())
    assert played.machine.next_at == CHANGE
    assert played.at(CHANGE - 0.1).work.progress is Progress.RUNNING
    after = played.at(CHANGE)
    assert (after.work.progress, after.software, after.kubelet) == (Progress.DONE, OLD | WANTED, "v1.36.3")
    assert (played.row.kubelet_version, played.row.container_runtime) == ("v1.36.3", "containerd://2.2.0")
    assert played.machine.next_at is None


def test_a_restarted_machine_is_silent_until_it_has_another_boot_id() -> None:
    played = Played(row())
    played.begin(record())
    played.at(CHANGE)
    played.machine.restart()
    played.at(CHANGE + 0.5)
    assert played.machine.silent
    assert played.row.boot_id == "first"
    after = played.at(CHANGE + REBOOT)
    assert not played.machine.silent
    assert after.boot_id == played.row.boot_id != "first"


def test_work_that_runs_is_not_begun_twice() -> None:
    played = Played(row())
    played.begin(record())
    played.begin(record(), 1.5)
    assert played.at(CHANGE).work.progress is Progress.DONE


@pytest.mark.parametrize("operation", [Operation.PREPARE, Operation.SNAPSHOT])
@pytest.mark.parametrize("failure", Failure)
def test_orders_that_change_nothing_go_well_whatever_is_to_fail(operation: Operation, failure: str) -> None:
    played = Played(failing(failure))
    played.begin(record(operation))
    after = played.at(CHANGE)
    assert (after.work.progress, after.restart_required) == (Progress.DONE, False)
    assert not played.machine.silent


def test_a_version_that_somebody_set_by_hand_is_what_there_is() -> None:
    played = Played(row())
    played.row = msgspec.structs.replace(played.row, kubelet_version="v1.36.9")
    after = played.at(1)
    assert (after.software["kubelet"], after.kubelet) == ("1.36.9", "v1.36.9")


def test_what_the_agent_has_said_before_is_so_after_the_program_was_started_again() -> None:
    said = {
        current_key("runc"): "1.2",
        current_key("kubelet"): "1.35.4-1.1",
        current_key("kubeadm"): "1.36.3",
    }
    assert Played(row(**said)).at(0).software == OLD | {
        "kubelet": "1.35.4-1.1",
        "kubeadm": "1.36.3",
        "runc": "1.2",
    }
    stale = {current_key("kubelet"): "1.34.0-1.1"}
    assert Played(row(**stale)).at(0).software["kubelet"] == "1.35.4"


# --- control planes ---


def control_plane() -> Node:
    return msgspec.structs.replace(row(), labels=Labels({"node-role.kubernetes.io/control-plane": ""}))


def test_only_control_planes_have_components_and_their_operations() -> None:
    assert Played(row()).at(0).can == {Operation.PREPARE, Operation.UPGRADE_NODE, Operation.PACKAGES}
    machine = Played(control_plane()).at(0)
    assert machine.can == frozenset(Operation)
    assert machine.software == OLD | dict.fromkeys(CONTROL_PLANE, "v1.35.4")


@pytest.mark.parametrize(
    ("operation", "version"), [(Operation.UPGRADE_APPLY, "v1.36.3"), (Operation.UPGRADE_NODE, "")]
)
def test_kubeadm_changes_itself_and_the_components(operation: Operation, version: str) -> None:
    played = Played(control_plane())
    order = record(operation, version=version)
    played.begin(replace(order, desired={"kubeadm": "1.36.3-1.1", "kubelet": "1.36.3-1.1"}))
    after = played.at(CHANGE)
    assert after.software == OLD | {"kubeadm": "1.36.3-1.1"} | dict.fromkeys(CONTROL_PLANE, "v1.36.3")
    assert played.row.kubelet_version == "v1.35.4"


def test_a_snapshot_says_where_it_is_and_a_preparation_changes_nothing() -> None:
    played = Played(control_plane())
    played.begin(record(Operation.SNAPSHOT))
    assert played.at(CHANGE).work.path.startswith("/var/lib/shiplift/Snapshot.1.")
    before = played.machine.observe(frozenset()).software
    played.begin(record(Operation.PREPARE), 10)
    after = played.at(10 + CHANGE)
    assert (after.work.progress, after.work.path, after.software) == (Progress.DONE, "", before)


# --- failures ---


@pytest.mark.parametrize(
    ("failure", "progress", "changed"),
    [
        (Failure.FAILS, Progress.FAILED, False),
        (Failure.NEVER_READY, Progress.RUNNING, False),
        (Failure.WRONG_VERSION, Progress.DONE, False),
        (Failure.ROLLS_BACK, Progress.DONE, True),
        (Failure.NEVER_BOOTS, Progress.DONE, True),
    ],
)
def test_a_change_goes_wrong_as_was_ordered(failure: Failure, progress: Progress, changed: bool) -> None:
    played = Played(failing(failure))
    played.begin(record())
    after = played.at(CHANGE)
    assert after.work.progress is progress
    assert after.software == (OLD | WANTED if changed else OLD)
    assert not played.machine.silent


@pytest.mark.parametrize("failure", list(Failure))
def test_putting_back_works_unless_that_is_to_fail_too(failure: Failure) -> None:
    assert ordered({FAILS: failure}, back=False) is failure
    assert ordered({FAILS: failure}, back=True) is None
    assert ordered({FAILS: f"{failure} Back"}, back=True) is failure
    played = Played(failing(failure))
    played.begin(record(back=True))
    assert played.at(CHANGE).work.progress is Progress.DONE
    assert played.at(5 * CHANGE).software == OLD | WANTED


def test_an_agent_that_dies_half_way_begins_again_when_it_lives_again() -> None:
    played = Played(failing(Failure.DIES))
    played.begin(record())
    assert played.machine.next_at == CHANGE / 2
    played.at(CHANGE / 2)
    assert played.machine.silent
    played.at(100)
    assert played.machine.silent
    assert played.machine.next_at is None
    played.fail("")
    assert played.at(101).work.progress is Progress.ABSENT
    assert not played.machine.silent
    played.begin(record(), 101)
    assert played.at(101 + CHANGE).work.progress is Progress.DONE


def test_a_machine_that_never_boots_comes_back_when_the_annotation_is_gone() -> None:
    played = Played(failing(Failure.NEVER_BOOTS))
    played.begin(record())
    assert played.at(CHANGE).restart_required
    played.machine.restart()
    played.at(100)
    assert played.machine.silent
    assert played.machine.next_at is None
    played.fail("")
    after = played.at(101)
    assert not played.machine.silent
    assert (after.restart_required, after.boot_id != "first") == (False, True)


def test_work_that_never_ends_ends_when_the_annotation_is_gone() -> None:
    played = Played(failing(Failure.NEVER_READY))
    played.begin(record())
    assert played.at(100).work.progress is Progress.RUNNING
    played.fail("")
    assert played.at(101).work.progress is Progress.DONE


def test_the_old_kubelet_is_back_after_as_long_as_the_change_took() -> None:
    played = Played(failing(Failure.ROLLS_BACK))
    played.begin(record())
    played.at(CHANGE)
    assert played.row.kubelet_version == "v1.36.3"
    assert played.machine.next_at == 2 * CHANGE
    after = played.at(2 * CHANGE)
    assert (played.row.kubelet_version, after.software["kubelet"]) == ("v1.35.4", "1.35.4")


def test_a_failure_that_there_is_not_is_named() -> None:
    with pytest.raises(LocalError, match=r"simulated.shiplift.dev/fails: 'Explodes' is no failure"):
        ordered({FAILS: "Explodes"}, back=False)
