"""Type OpenShift on the real API server, with OpenShift's own definition and a scripted cluster-version
operator."""

from __future__ import annotations

from shiplift.facts.kinds import CLUSTER_VERSION
from shiplift.kube.account import Account
from shiplift.operator import install
from tests import openshift
from tests.audit import Audit
from tests.openshift import ScriptedOperator
from tests.operated import SPACE
from tests.until import until
from tests.upgrade.rig import Upgrading

OFFERS = {"stable-4.19": ("4.19.9",), "stable-4.20": ("4.19.9", "4.20.1")}


def test_the_cluster_version_operator_is_told_and_supervised(scene: Upgrading) -> None:
    scene.nodes(2)
    openshift.install(scene.client)
    audit = Audit(scene.rig.cluster, Account(SPACE, install.ACCOUNT))
    with ScriptedOperator(scene.client, "4.19.3", OFFERS) as operator:
        scene.rig.start()
        scene.ask(type="OpenShift", desired={"version": "4.20.1", "channel": "stable-4.20"})
        until(lambda: operator.found()["spec"].get("desiredUpdate", {}).get("version") == "4.20.1", 60)
        assert operator.found()["spec"]["channel"] == "stable-4.20"
        until(lambda: "Working towards 4.20.1" in scene.told.get("message", ""), 60)
        operator.fails = "Cluster operator etcd is degraded"
        until(lambda: "etcd is degraded" in scene.told.get("message", ""), 60)
        assert scene.told["phase"] == "Upgrading"
        operator.fails = ""
        openshift.tell_pool(scene.client, "worker", 2, 1)
        operator.goes.set()
        text = "MachineConfigPool worker: 1 of 2 machines are updated"
        until(lambda: scene.told.get("message") == text, 60)
        openshift.tell_pool(scene.client, "worker", 2, 2)
        told = scene.come_to(60, phase="Upgraded")
    assert told["history"][0]["precedingVersion"] == "v4.19.3"
    assert told["nodes"]["summary"] == "2/2"
    assert audit.forbidden() == []
    assert CLUSTER_VERSION.plural in {one.partition(" ")[2] for one in audit.asked()}
