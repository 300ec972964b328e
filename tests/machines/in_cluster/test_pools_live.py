"""Pools on a real API server, with a real kwok and the real garbage collector; the operator has its own
account."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.marks import POOL_LABEL
from shiplift.facts.kinds import LEASE, MACHINE, MACHINE_POOL, NODE
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.errors import Forbidden, Invalid
from shiplift.kube.fence import manager
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.machines.controller import PART
from shiplift.machines.face.undo import undo_all
from shiplift.operator import install
from tests.audit import Audit, events
from tests.machines.in_cluster.rig import Rig
from tests.machines.in_cluster.world import hosts, spec
from tests.operated import SPACE
from tests.rights import unused
from tests.until import until

Json = dict[str, Any]
THREE = ["burst-0", "burst-1", "burst-2"]


def test_a_pool_becomes_machines_and_nodes_that_kwok_keeps_ready(rig: Rig) -> None:
    taints = [{"key": "example.com/gpu", "effect": "NoSchedule"}]
    kwok = {"cpu": "2", "memory": "8Gi", "pods": 20, "zones": ["a", "b"]}
    made = rig.pool("burst", spec(3, labels={"example.com/disk": "ssd"}, taints=taints, kwok=kwok))
    rig.complete("burst", 3)
    assert rig.names(MACHINE, "burst") == rig.names(NODE, "burst") == THREE
    node = rig.client.get(NODE, "burst-1")
    labels, info = node["metadata"]["labels"], node["status"]["nodeInfo"]
    assert (labels["example.com/disk"], labels["topology.kubernetes.io/zone"]) == ("ssd", "b")
    assert (info["kubeletVersion"], info["machineID"], info["bootID"]) == ("v1.36.3", "", "")
    assert node["status"]["allocatable"]["pods"] == "20"
    assert taints[0] in node["spec"]["taints"]
    machine = rig.client.get(MACHINE, "burst-1")
    (owner,) = machine["metadata"]["ownerReferences"]
    assert owner["uid"] == made["metadata"]["uid"]
    until(lambda: rig.client.get(MACHINE, "burst-1")["status"]["phase"] == "Joined")
    status = rig.client.get(MACHINE, "burst-1")["status"]
    assert (status["node"], status["initialised"]) == ("burst-1", True)
    until(lambda: "Complete" in rig.events("burst"))


def test_every_machine_was_written_down_before_its_node_was_made(rig: Rig) -> None:
    since = rig.cluster.layout.audit_log.stat().st_size
    rig.pool("burst", 12)
    rig.complete("burst", 12)
    made = [
        (one["objectRef"]["resource"], one["objectRef"]["name"])
        for one in events(rig.cluster, since)
        if one["verb"] == "create"
        and one["responseStatus"]["code"] == 201
        and one["objectRef"].get("resource") in ("machines", "nodes")
    ]
    assert len(made) == len(set(made)) == 24
    for number in range(12):
        name = f"burst-{number}"
        assert made.index(("machines", name)) < made.index(("nodes", name))


def test_it_grows_and_what_is_lost_is_made_again(rig: Rig) -> None:
    rig.pool("burst", 2)
    rig.complete("burst", 2)
    before = rig.uids(NODE, "burst")
    rig.edit("burst", replicas=3)
    rig.complete("burst", 3)
    assert before.items() <= rig.uids(NODE, "burst").items()
    rig.remove(NODE, "burst-1")
    until(lambda: rig.uids(NODE, "burst").get("burst-1") not in (None, before["burst-1"]))
    rig.complete("burst", 3)
    node = rig.uids(NODE, "burst")["burst-2"]
    lost = rig.uids(MACHINE, "burst")["burst-2"]
    rig.remove(MACHINE, "burst-2")
    until(lambda: rig.uids(MACHINE, "burst").get("burst-2") not in (None, lost))
    rig.complete("burst", 3)
    assert rig.uids(NODE, "burst")["burst-2"] == node, "its node was taken up"


def test_fewer_replicas_remove_nothing_and_what_somebody_removes_stays_away(rig: Rig) -> None:
    rig.pool("burst", 3)
    rig.complete("burst", 3)
    rig.edit("burst", replicas=2)
    told = rig.says("burst", "RemovalNotDone", "Stalled")
    assert "kubectl delete machine burst-2" in told
    assert rig.names(NODE, "burst") == THREE
    rig.remove(NODE, "burst-2")
    rig.remove(MACHINE, "burst-2")
    rig.complete("burst", 2)
    assert rig.names(NODE, "burst") == rig.names(MACHINE, "burst") == THREE[:2]


def test_an_operator_that_ends_anywhere_makes_nothing_twice(rig: Rig) -> None:
    since = rig.cluster.layout.audit_log.stat().st_size
    rig.pool("burst", 60)
    for wanted in (5, 20, 45):
        until(lambda wanted=wanted: len(rig.names(MACHINE, "burst")) >= wanted)
        rig.stop()
        rig.start()
    rig.complete("burst", 60)
    made = [
        one["objectRef"]["name"]
        for one in events(rig.cluster, since)
        if (one["verb"], one.get("objectRef", {}).get("resource")) == ("create", "nodes")
        and one["responseStatus"]["code"] == 201
    ]
    assert sorted(made) == sorted(f"burst-{number}" for number in range(60))


def test_a_deleted_pool_takes_its_machines_along_and_a_new_one_takes_up_its_nodes(rig: Rig) -> None:
    rig.pool("burst", 2)
    rig.complete("burst", 2)
    nodes = rig.uids(NODE, "burst")
    rig.remove(MACHINE_POOL, "burst")
    until(lambda: rig.names(MACHINE, "burst") == [], 120)
    assert rig.uids(NODE, "burst") == nodes
    rig.pool("burst", 2)
    rig.complete("burst", 2)
    assert rig.uids(NODE, "burst") == nodes


# --- bad input, and who else leads ---


def test_a_provider_that_is_not_known_is_refused_by_the_api_server(rig: Rig) -> None:
    with pytest.raises(Invalid, match=r"spec\.provider"):
        rig.pool("burst", spec(1, provider="Docker"))


def test_what_is_too_large_is_named_and_nothing_is_made(rig: Rig) -> None:
    rig.pool("burst", spec(2, kwok={"memory": "900Ti"}))
    rig.pool("fine", 1)
    rig.complete("fine", 1)
    assert "kwok.memory is 900Ti" in rig.says("burst", "TooLarge", "Stalled")
    assert rig.names(MACHINE, "burst") == rig.names(NODE, "burst") == []


def test_a_node_of_somebody_else_is_left_alone_until_it_goes(rig: Rig) -> None:
    other = rig.client.create(NODE, {"metadata": {"name": "burst-1"}}).object["metadata"]["uid"]
    rig.pool("burst", 2)
    assert "Node burst-1 is there" in rig.says("burst", "NameTaken", "Stalled")
    assert rig.client.get(NODE, "burst-1")["metadata"]["uid"] == other
    assert rig.names(MACHINE, "burst") == []
    rig.remove(NODE, "burst-1")
    rig.complete("burst", 2)


def test_pools_that_the_cluster_does_not_lead_are_reported_and_left_alone(rig: Rig) -> None:
    rig.client.create(NODE, {"metadata": {"name": "rack-0"}})
    rig.pool("racks", hosts("rack-0", "rack-1", replicas=2))
    ec2 = {"region": "r", "image": "i", "instanceType": "t", "subnets": ["s"]}
    rig.pool("cloud", spec(1, provider="EC2", ec2=ec2))
    assert "`shiplift bootstrap` leads these machines" in rig.says("racks", "LaptopLeads")
    assert rig.said("racks") == ("Unknown", "LaptopLeads")
    assert rig.status("racks")["replicas"] == 1
    assert "no machines can be made with provider EC2 yet" in rig.says("cloud", "ProviderToCome", "Stalled")
    assert list(rig.client.list(MACHINE)) == []


def test_undo_pauses_what_the_cluster_leads_and_leaves_machines_and_nodes(rig: Rig) -> None:
    rig.pool("burst", 1)
    rig.complete("burst", 1)
    rig.pool("racks", hosts("rack-0"))
    rig.stop()
    store = Store(rig.cluster.credentials(), map(Watch, (MACHINE_POOL, MACHINE, NODE)))
    store.start()
    try:
        assert store.wait_synced(30)
        said: list[str] = []
        done = undo_all(rig.client, store, said.append)
        again = undo_all(rig.client, store, said.append)
    finally:
        store.stop()
    assert ((done.changes, done.stays), (again.changes, again.stays)) == ((1, 1), (0, 1))
    assert said[0].startswith("MachinePool burst stays, paused")
    assert rig.client.get(MACHINE_POOL, "burst")["spec"]["paused"] is True
    assert not rig.client.get(MACHINE_POOL, "racks")["spec"].get("paused")
    assert rig.names(NODE, "burst") == ["burst-0"]


# --- rights ---

LOOKS = {"get nodes", "get machinepools"}
"""Used only to see what became of a write whose answer was lost: `tests/kube/test_client_failures`."""


def test_the_printed_rights_are_enough_and_none_is_without_use(rig: Rig) -> None:
    rig.stop()
    uid = rig.client.get(LEASE, "shiplift", SPACE)["metadata"]["uid"]
    rig.client.delete(LEASE, "shiplift", SPACE, uid=uid)
    audit = Audit(rig.cluster, Account(SPACE, install.ACCOUNT))
    rig.start()
    rig.pool("burst", 2)
    rig.complete("burst", 2)
    rig.remove(NODE, "burst-0")
    until(lambda: len(rig.names(NODE, "burst")) == 2)
    rig.edit("burst", replicas=1)
    rig.says("burst", "RemovalNotDone", "Stalled")
    until(lambda: "create events" in audit.asked())
    assert audit.forbidden() == []
    assert unused(PART, audit.asked(), LOOKS) == set()


def test_the_account_can_make_no_other_nodes_and_cannot_touch_those_that_are_there(rig: Rig) -> None:
    rig.pool("burst", 1)
    rig.complete("burst", 1)
    epoch = rig.epoch()
    with Client(load(rig.kubeconfig), manager(epoch)) as ours:
        with pytest.raises(Forbidden, match="node cp-9 is not a simulated one of a pool"):
            ours.create(NODE, {"metadata": {"name": "cp-9"}}, dry_run=True)
        with pytest.raises(Forbidden, match="is not a simulated one of a pool"):
            ours.create(NODE, {"metadata": {"name": "cp-9", "labels": {POOL_LABEL: "x"}}}, dry_run=True)
        uid = rig.client.get(NODE, "burst-0")["metadata"]["uid"]
        with pytest.raises(Forbidden):
            ours.patch(NODE, "burst-0", {"spec": {"unschedulable": True}}, uid=uid)
        with pytest.raises(Forbidden):
            ours.delete(NODE, "burst-0", uid=uid)
        machine = rig.client.get(MACHINE, "burst-0")["metadata"]["uid"]
        with pytest.raises(Forbidden):
            ours.delete(MACHINE, "burst-0", uid=machine)


def test_a_leader_that_is_over_makes_nothing(rig: Rig) -> None:
    """The fence looks at what this layer makes."""
    epoch = rig.epoch()
    with Client(load(rig.kubeconfig), manager(epoch - 1)) as late:
        body = {
            "metadata": {"name": "late-0"},
            "spec": {"pool": "late", "role": "Worker", "provider": "Kwok"},
        }
        with pytest.raises(Forbidden, match="shiplift-fence"):
            late.create(MACHINE, body, dry_run=True)
        about = {
            "name": "late-0",
            "labels": {POOL_LABEL: "late"},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        }
        with pytest.raises(Forbidden, match="shiplift-fence"):
            late.create(NODE, {"metadata": about}, dry_run=True)
