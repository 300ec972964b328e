"""The journal of real upgrades: a real API server, the operator with all layers, and `shiplift report`."""

from __future__ import annotations

import importlib
import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shiplift.facts import kinds
from shiplift.journal.controller import PART as JOURNAL
from shiplift.journal.names import JOURNAL as NAME
from shiplift.kube.account import Account
from shiplift.local.cluster import Cluster
from shiplift.nodes.controller import PART as NODES
from shiplift.operator import install
from shiplift.upgrade.controller import PART as UPGRADE
from shiplift.workloads.controller import PART as WORKLOADS
from tests import rights
from tests.audit import Audit
from tests.nodes.rig import Rig
from tests.operated import NEW, OLD, SPACE
from tests.until import until
from tests.upgrade import rig as rigs
from tests.upgrade.rig import Upgrading

main = importlib.import_module("shiplift.cli.main")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def conducted(clusters_folder: Path) -> Iterator[Rig]:
    cluster = Cluster(f"journal-{uuid.uuid4().hex[:8]}", clusters_folder)
    parts = (UPGRADE, WORKLOADS, NODES, JOURNAL)
    with rights.audited(cluster, *parts), Rig(cluster, *parts) as made:
        yield made


@pytest.fixture
def scene(conducted: Rig) -> Iterator[Upgrading]:
    with rigs.upgrading(conducted) as made:
        yield made
    uid = conducted.client.get(kinds.CONFIG_MAP, NAME, SPACE)["metadata"]["uid"]
    conducted.client.patch(kinds.CONFIG_MAP, NAME, {"data": None}, SPACE, uid=uid)


def chapters(scene: Upgrading) -> list[Json]:
    data = scene.client.get(kinds.CONFIG_MAP, NAME, SPACE).get("data") or {}
    return json.loads(data.get("journal", "{}")).get("chapters", [])


def over(scene: Upgrading) -> Json | None:
    found = chapters(scene)
    return found[0] if found and found[0].get("end") else None


CHANGED = {f"{OLD} -> {NEW}", f"found at {NEW}: nobody watched when it changed"}
"""The second where a new term began meanwhile: then nobody saw it change, and that is said."""


def test_an_upgrade_is_told_node_by_node_and_workload_by_workload(
    scene: Upgrading, capsys: pytest.CaptureFixture[str]
) -> None:
    planes, nodes, space = scene.cluster()
    audit = Audit(scene.rig.cluster, Account(SPACE, install.ACCOUNT))
    scene.rig.start()
    scene.ask()
    scene.come_to(120, phase="Upgraded")
    told: Json = until(lambda: over(scene), 30)  # type: ignore[assignment]
    assert (told["about"], told["target"], told["preceding"]) == ("UpgradeConfig cluster", NEW, OLD)
    assert told["outcome"] == "Upgraded"
    changed = {one["name"]: one for one in told["nodes"]}
    assert {*planes, *nodes} <= changed.keys()
    for name in (*planes, *nodes):
        assert (changed[name]["was"], changed[name]["runs"]) == (OLD, NEW)
        assert CHANGED & {entry["text"] for entry in changed[name]["entries"]}
    workloads = {one["name"]: one for one in told["workloads"]}
    for name in ("db", "web"):
        one = workloads[f"Deployment {space}/{name}"]
        assert one["moves"] >= 2
        assert one["least"]["of"] == 2
    assert "moved" in [entry["text"] for entry in workloads[f"Deployment {space}/db"]["entries"]]
    assert "the nodes are upgraded" in [one["text"] for one in told["entries"]]
    assert not told.get("gaps")
    assert "patch configmaps" in audit.asked()
    assert audit.forbidden() == []

    kubeconfig = ["--kubeconfig", str(scene.rig.cluster.kubeconfig)]
    scene.rig.stop()  # so that it logs nothing any more
    capsys.readouterr()
    assert main.run(["report", *kubeconfig]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"# Upgrade from {OLD} to {NEW}\n")
    assert f"| {nodes[0]} | {OLD} | {NEW} |" in shown
    assert main.run(["report", "-o", "json", *kubeconfig]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "Upgraded"
    assert main.run(["report", "--list", *kubeconfig]) == 0
    assert "| 1 | Upgrade from" in capsys.readouterr().out
    assert main.run(["report", "--number", "7", *kubeconfig]) == 1
    assert "there is no report 7: there are 1" in capsys.readouterr().err


def test_where_nobody_led_for_a_while_the_report_says_so(scene: Upgrading) -> None:
    _, nodes, _ = scene.cluster()
    scene.rig.start()
    scene.ask(type="External")
    until(lambda: chapters(scene), 60)
    scene.rig.stop()
    scene.take(nodes)
    began = chapters(scene)[0]["seen"]
    until(lambda: datetime.now(UTC) - datetime.fromisoformat(began) > timedelta(seconds=12), 30)
    scene.rig.start()
    gaps: list[Json] = until(lambda: chapters(scene)[0].get("gaps"), 60)
    assert gaps[0]["start"] == began


def test_without_a_journal_it_is_said_how_one_begins(
    scene: Upgrading, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["report", "--kubeconfig", str(scene.rig.cluster.kubeconfig)]) == 1
    assert "there is nothing to report" in capsys.readouterr().err
