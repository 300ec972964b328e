"""Simulated agents on a real API server with kwok, Node authorisation, NodeRestriction and our policy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.agent import protocol
from shiplift.agent.protocol import (
    CHANGES_ALLOWED,
    Operation,
    Order,
    Outcome,
    Readiness,
    Reboot,
    Result,
    Token,
)
from shiplift.facts.kinds import LEASE, NODE
from shiplift.kube import node_trust
from shiplift.kube.account import acting_as
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden
from shiplift.kube.manifests import kind_of
from shiplift.local.agents import FAILS, Agents, Failure, Pace, Timing
from shiplift.local.agents.account import ACCOUNT, node_user
from shiplift.local.agents.node import LEASES
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component, Settings
from shiplift.local.nodes import Pool, Ready, readiness
from tests.until import until

Json = dict[str, Any]
PARTS = (Component.ETCD, Component.API_SERVER, Component.KWOK)
PACE, TIMING = Pace(change=0.3, reboot=0.3), Timing(heartbeat=60, lease=0.2)
WANTED = {"kubelet": "1.36.3-1.1", "containerd": "2.2.0"}


class Stage:
    """A cluster in which the test is the controller."""

    def __init__(self, cluster: Cluster, admin: Client) -> None:
        self.cluster, self.admin = cluster, admin

    def add(self, **pool: Any) -> Node:
        made = Pool(f"n{uuid.uuid4().hex[:8]}", 1, "v1.35.4", **pool)
        self.cluster.nodes.add(made)
        return Node(self.admin, made.names()[0])

    def played(self) -> Agents:
        return Agents(self.cluster.credentials(), PACE, TIMING)


class Node:
    """One node, to its controller."""

    def __init__(self, admin: Client, name: str) -> None:
        self.admin, self.name = admin, name
        self.uid = self.live()["metadata"]["uid"]

    def live(self) -> Json:
        return self.admin.get(NODE, self.name)

    def annotations(self) -> Json:
        return self.live()["metadata"]["annotations"]

    def info(self) -> Json:
        return self.live()["status"]["nodeInfo"]

    def patch(self, annotations: Json, *, cordoned: bool = True) -> None:
        change = {"metadata": {"annotations": annotations}, "spec": {"unschedulable": cordoned}}
        self.admin.patch(NODE, self.name, change, uid=self.uid)

    def order(
        self,
        operation: Operation = Operation.PACKAGES,
        desired: dict[str, str] | None = None,
        attempt: int = 1,
        **given: Any,
    ) -> str:
        """The token of a new order."""
        order = Order(Token("rollout", self.uid, operation, attempt), **given)
        wanted = WANTED if desired is None else desired
        keys = {protocol.desired_key(name): version for name, version in wanted.items()}
        self.patch({**keys, CHANGES_ALLOWED: order.written()})
        return str(order.token)

    def claimed(self, token: str) -> bool:
        return protocol.readiness_of(self.annotations()) == Readiness(False, token)

    def answered(self, token: str) -> Outcome:
        until(lambda: protocol.readiness_of(self.annotations()) == Readiness(True, token))
        outcome = protocol.outcome_of(self.annotations())
        assert outcome is not None
        assert outcome.token == token
        return outcome

    def current(self) -> dict[str, str]:
        return protocol.current_versions(self.annotations())

    def heartbeat(self) -> int:
        agent = protocol.agent_of(self.annotations())
        return agent.heartbeat if agent else 0


@pytest.fixture(scope="module")
def stage(clusters_folder: Path) -> Iterator[Stage]:
    cluster = Cluster(f"agents-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(Settings(components=PARTS))
    try:
        with cluster.client() as admin:
            for one in node_trust.manifests():
                admin.create(kind_of(one), one)
            yield Stage(cluster, admin)
    finally:
        cluster.down()


@pytest.fixture
def agents(stage: Stage) -> Iterator[Agents]:
    with stage.played() as played:
        yield played


@pytest.mark.usefixtures("agents")
def test_a_node_is_changed_and_says_so(stage: Stage) -> None:
    node = stage.add()
    until(node.heartbeat)
    assert node.current() == {
        "containerd": "2.1.4",
        "kubeadm": "1.35.4",
        "kubectl": "1.35.4",
        "kubelet": "1.35.4",
    }
    boot = node.info()["bootID"]
    assert node.answered(node.order()) == Outcome(f"Packages.1.rollout.{node.uid}", Result.DONE)
    assert node.current().items() >= WANTED.items()
    assert (node.info()["kubeletVersion"], node.info()["containerRuntimeVersion"]) == (
        "v1.36.3",
        "containerd://2.2.0",
    )
    assert node.info()["bootID"] == boot


@pytest.mark.usefixtures("agents")
def test_what_was_reported_stays_whatever_kwok_does_to_the_node(stage: Stage) -> None:
    node = stage.add()
    node.answered(node.order())
    for ready in (Ready.FALSE, Ready.TRUE):
        stage.cluster.nodes.set_ready(node.name, ready)
        until(lambda expected=ready: readiness(node.live()) is expected)
    assert node.info()["kubeletVersion"] == "v1.36.3"


@pytest.mark.usefixtures("agents")
def test_a_restart_gives_another_boot_id(stage: Stage) -> None:
    node = stage.add()
    before = node.info()["bootID"]
    assert node.answered(node.order(reboot=Reboot.ALWAYS)).result is Result.DONE
    assert node.info()["bootID"] != before


@pytest.mark.usefixtures("agents")
def test_on_a_node_that_is_not_cordoned_nothing_happens_until_it_is(stage: Stage) -> None:
    node, other = stage.add(), stage.add()
    order = Order(Token("rollout", node.uid, Operation.PACKAGES, 1))
    node.patch({CHANGES_ALLOWED: order.written(), protocol.desired_key("kubelet"): "1.36.3"}, cordoned=False)
    other.answered(other.order())
    assert protocol.readiness_of(node.annotations()) is None
    node.patch({})
    assert node.answered(str(order.token)).result is Result.DONE


@pytest.mark.usefixtures("agents")
def test_a_control_plane_says_what_its_components_are(stage: Stage) -> None:
    node = stage.add(labels={"node-role.kubernetes.io/control-plane": ""})
    until(node.heartbeat)
    assert node.current()["kube-apiserver"] == "v1.35.4"
    given = node.order(Operation.UPGRADE_APPLY, {"kubeadm": "1.36.3-1.1"}, version="v1.36.3")
    assert node.answered(given).result is Result.DONE
    assert (node.current()["kube-apiserver"], node.current()["kubeadm"]) == ("v1.36.3", "1.36.3-1.1")
    assert node.info()["kubeletVersion"] == "v1.35.4"


@pytest.mark.usefixtures("agents")
def test_an_agent_that_dies_goes_on_when_it_is_let_live(stage: Stage) -> None:
    node = stage.add(annotations={FAILS: Failure.DIES})
    token = node.order()
    until(lambda: node.claimed(token))
    time.sleep(3 * PACE.change)  # however long one waits
    assert node.claimed(token)
    node.patch({FAILS: None})
    assert node.answered(token).result is Result.DONE
    assert node.current()["kubelet"] == WANTED["kubelet"]


@pytest.mark.usefixtures("agents")
def test_failures_that_were_ordered_happen_and_putting_back_works(stage: Stage) -> None:
    node = stage.add(annotations={FAILS: Failure.WRONG_VERSION})
    assert node.answered(node.order()).result is Result.DONE
    assert (node.current()["kubelet"], node.info()["kubeletVersion"]) == ("1.35.4", "v1.35.4")
    node.patch({FAILS: Failure.FAILS.value})
    assert node.answered(node.order(attempt=2)).result is Result.FAILED
    back = node.order(desired={"kubelet": "1.35.3"}, attempt=3, back=True)
    assert node.answered(back).result is Result.DONE
    assert node.info()["kubeletVersion"] == "v1.35.3"


@pytest.mark.usefixtures("agents")
def test_a_node_that_is_to_be_changed_renews_its_lease(stage: Stage) -> None:
    node = stage.add(annotations={FAILS: Failure.NEVER_READY})
    token = node.order()
    until(lambda: node.claimed(token))
    seen: set[str] = set()

    def renewed() -> bool:
        seen.add(stage.admin.get(LEASE, node.name, LEASES)["spec"]["renewTime"])
        return len(seen) >= 4

    until(renewed, seconds=8)


@pytest.mark.usefixtures("agents")
def test_a_node_of_the_same_name_gets_an_agent_of_its_own(stage: Stage) -> None:
    node = stage.add()
    until(node.heartbeat)
    stage.cluster.nodes.remove(node.name)
    pool, _, _ = node.name.rpartition("-")
    stage.cluster.nodes.add(Pool(pool, 1, "v1.34.0"))
    again = Node(stage.admin, node.name)
    assert again.uid != node.uid
    until(again.heartbeat)
    assert again.current()["kubelet"] == "1.34.0"
    assert again.answered(again.order()).result is Result.DONE


def test_a_program_that_ends_in_the_middle_is_taken_up_by_the_next(stage: Stage) -> None:
    node = stage.add(annotations={FAILS: Failure.NEVER_READY})
    with stage.played():
        token = node.order()
        until(lambda: node.claimed(token))
    node.patch({FAILS: None})
    with stage.played():
        assert node.answered(token).result is Result.DONE
    assert node.current()["kubelet"] == WANTED["kubelet"]


@pytest.mark.usefixtures("agents")
def test_the_account_may_act_as_simulated_nodes_and_do_nothing_else(stage: Stage) -> None:
    node = stage.add()
    until(node.heartbeat)
    real = f"real-{uuid.uuid4().hex[:8]}"
    made = stage.admin.create(NODE, {"metadata": {"name": real}}).object["metadata"]
    change = {"metadata": {"annotations": {"example.org/x": "y"}}}
    with Client(acting_as(ACCOUNT, stage.cluster.credentials())) as account:
        account.acting_as(node_user(node.name)).patch(NODE, node.name, change, uid=node.uid)
        with pytest.raises(Forbidden, match='cannot patch resource "nodes"'):
            account.patch(NODE, node.name, change, uid=node.uid)
        for user in (real, "../../x"):
            with pytest.raises(Forbidden, match="cannot impersonate resource"):
                account.acting_as(node_user(user)).patch(NODE, real, change, uid=made["uid"])
    stage.admin.delete(NODE, real, uid=made["uid"])


def test_the_command_plays_them_until_it_is_interrupted(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "clusters").symlink_to(stage.cluster.root)
    command = [sys.executable, "-c", "from shiplift.cli import main; main()", "local", "agents"]
    times = ["--change", "200ms", "--reboot", "0.1s", "--lease", "0s", "--name", stage.cluster.name]
    node = stage.add()
    environment = os.environ | {"SHIPLIFT_STATE": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, *times], env=environment, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "simulated nodes; Ctrl-C ends it" in process.stderr.readline()
        assert node.answered(node.order()).result is Result.DONE
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "interrupted\n"
        assert process.stdout.read() == ""
        assert process.wait(20) == 130


def test_a_failure_that_there_is_not_is_told_with_its_node(stage: Stage) -> None:
    said: list[str] = []
    node = stage.add(annotations={FAILS: "Explodes"})
    with Agents(stage.cluster.credentials(), PACE, TIMING, said.append):
        until(lambda: any(f"node {node.name}: " in line and "'Explodes'" in line for line in said))
    stage.cluster.nodes.remove(node.name)
