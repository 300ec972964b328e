"""Before there is a cluster: orders in one file, answers in another, in the words of the protocol."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from shiplift.agent.door.first import ANSWERS, ORDERS, FirstDoor
from shiplift.agent.model import Write
from shiplift.agent.protocol import CHANGES_ALLOWED, READY, desired_key
from tests.agent.world import order

UID = "node-uid"


@pytest.fixture
def door(tmp_path: Path) -> FirstDoor:
    return FirstDoor(tmp_path, tmp_path / "kubelet.conf")


def give(tmp_path: Path, **annotations: str) -> None:
    body = {CHANGES_ALLOWED: order().written(), desired_key("kubelet"): "1.36.3", **annotations}
    (tmp_path / "new").write_text(json.dumps({"uid": UID, "annotations": body}))
    (tmp_path / "new").replace(tmp_path / ORDERS)


def test_orders_and_answers_are_read_as_of_one_node_that_is_cordoned(door: FirstDoor, tmp_path: Path) -> None:
    give(tmp_path)
    seen = door.read()
    assert seen is not None
    assert (seen.uid, seen.unschedulable) == (UID, True)
    assert seen.machine_id == Path("/etc/machine-id").read_text().strip()
    assert door.write(Write({READY: "false x"}, seen.resource_version))
    again = door.read()
    assert again is not None
    assert again.annotations == {**seen.annotations, READY: "false x"}
    answers = json.loads((tmp_path / ANSWERS).read_text())
    assert answers["annotations"] == {READY: "false x"}
    assert answers["bootID"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_nothing_is_written_on_orders_that_have_changed(door: FirstDoor, tmp_path: Path) -> None:
    give(tmp_path)
    seen = door.read()
    assert seen is not None
    give(tmp_path, x="y")
    assert not door.write(Write({READY: "false x"}, seen.resource_version))
    assert not (tmp_path / ANSWERS).exists()


def test_an_answer_can_be_taken_off(door: FirstDoor, tmp_path: Path) -> None:
    for value in ("false x", None):
        seen = door.read()
        assert seen is not None
        assert door.write(Write({READY: value}, seen.resource_version))
    assert json.loads((tmp_path / ANSWERS).read_text())["annotations"] == {}


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_orders_that_cannot_be_read_are_named(
    door: FirstDoor, tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ORDERS).write_text(text)
    assert [door.read(), door.read()] == [None, None]
    assert caplog.text.count(f"{tmp_path / ORDERS} is no JSON") == 1


def test_orders_that_are_too_large_are_not_read(door: FirstDoor, tmp_path: Path) -> None:
    (tmp_path / ORDERS).write_text(" " * (1 << 17))
    assert door.read() is None


@pytest.mark.parametrize("name", [ORDERS, "kubelet.conf"])
def test_new_orders_and_a_cluster_end_the_waiting(door: FirstDoor, tmp_path: Path, name: str) -> None:
    timer = threading.Timer(0.2, lambda: (tmp_path / name).write_text("{}"))
    began = time.monotonic()
    timer.start()
    door.wait(60)
    timer.join()
    assert time.monotonic() - began < 30
