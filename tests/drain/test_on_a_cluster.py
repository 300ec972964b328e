"""`shiplift drain` on a real API server: what goes, what blocks and unblocks, and what is left as it was."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.api import crd
from shiplift.api.marks import CORDONED_BEFORE, CORDONED_BY, HOLD_PREFIX, MANAGED_BY, MANAGER, QUORUM_HOLD
from shiplift.cli.access import followed
from shiplift.cli.output import Exit
from shiplift.drain.cordon import Cordon
from shiplift.drain.draining import Draining
from shiplift.drain.looking import Looking
from shiplift.drain.model import Settings
from shiplift.drain.plan import Eviction, Plan
from shiplift.drain.reads import reads
from shiplift.facts.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    DAEMON_SET,
    NODE,
    POD,
    POD_DISRUPTION_BUDGET,
    QUORUM_SERVICE,
    VOLUME_ATTACHMENT,
    WORKLOAD_MIGRATION,
    WORKLOAD_PLACEMENT,
    Kind,
)
from shiplift.kube import rbac
from shiplift.kube.account import Account
from shiplift.kube.client import Client, Written
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import AlreadyExists
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.nodes import SERVICE_ACCOUNT
from tests.api.api_server import conditions
from tests.cli.terminal import Terminal
from tests.drain.rig import COMMAND, Rig, Said, is_ready, read_until
from tests.until import until

CLUSTER_ROLE = Kind("ClusterRole", "clusterroles", rbac.GROUP, namespaced=False)
ROLE, ROLE_BINDING = Kind("Role", "roles", rbac.GROUP), Kind("RoleBinding", "rolebindings", rbac.GROUP)
CLUSTER_ROLE_BINDING = Kind("ClusterRoleBinding", "clusterrolebindings", rbac.GROUP, namespaced=False)
MIRROR = {"kubernetes.io/config.mirror": "3f2a"}
SCRATCH = [{"name": "scratch", "emptyDir": {}}]
READS = (
    rbac.rule("", ["nodes", "pods"], ["get", "list", "watch"]),
    rbac.rule("policy", ["poddisruptionbudgets"], ["get", "list", "watch"]),
    rbac.rule("apps", ["daemonsets"], ["get"]),
)


def what(said: Said) -> dict[str, str]:
    """What a dry run says of each pod, without the hash that a Deployment gives it."""
    rows = [line.split(maxsplit=1) for line in said.out.splitlines()[1:]]
    return {name.rpartition("/")[2].partition("-")[0]: " ".join(rest.split()) for name, rest in rows}


def a_node_with_everything(rig: Rig) -> None:
    rig.deployment("web")
    rig.deployment("scratch", volumes=SCRATCH)
    rig.pod("bare")
    rig.pod("mirror", MIRROR)
    template = {"labels": {"app": "proxy"}}
    spec = {
        "containers": [{"name": "app", "image": "example/app:1"}],
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"kubernetes.io/hostname": rig.node},
    }
    body = {
        "metadata": {"name": "proxy"},
        "spec": {
            "selector": {"matchLabels": template["labels"]},
            "template": {"metadata": template, "spec": spec},
        },
    }
    rig.manifest(DAEMON_SET, body, rig.space)
    until(lambda: [is_ready(one) for one in rig.pods(app="proxy")] == [True])


def test_what_must_not_go_is_named_before_anything_is_changed(rig: Rig) -> None:
    a_node_with_everything(rig)
    before = rig.versions()
    said = rig.drain("--dry-run")
    assert said.code == Exit.ACT
    assert what(said) == {
        "bare": "must not go - nobody brings it back (needs --evict-unmanaged)",
        "scratch": "must not go - what it keeps in emptyDir volumes is lost (needs --delete-emptydir-data)",
        "web": "goes -",
        "mirror": "stays - the node runs it from a file of its own",
        "proxy": "stays - a DaemonSet runs it on every node",
    }
    refused = rig.drain()
    assert refused.code == Exit.ACT
    assert f"{rig.space}/bare must not go: nobody brings it back" in refused.err
    assert refused.err.splitlines()[-2:] == [
        f"error: node {rig.node} cannot be drained: 2 pods must not go; nothing was changed",
        "hint: --evict-unmanaged together with --delete-emptydir-data evicts all the same",
    ]
    assert rig.versions() == before
    drained = rig.drain("--evict-unmanaged", "--delete-emptydir-data")
    assert drained.code == Exit.FINE, drained
    assert "3 pods went, 2 stay" in drained.err
    assert rig.here() == {"mirror", "proxy"}
    assert rig.is_cordoned()


def test_a_budget_blocks_until_a_replacement_is_ready_and_then_lets_go(rig: Rig) -> None:
    rig.deployment("web", 2)
    rig.budget(minAvailable=1)
    rig.cordon()
    process = rig.start()
    said = read_until(process, "is not Ready: no node takes it: ")
    assert f"PodDisruptionBudget {rig.space}/web needs 1 healthy pod and has just 1" in said
    assert rig.here() == {"web"}
    rig.add_node()
    _, rest = process.communicate(timeout=60)
    assert process.returncode == Exit.FINE, rest
    assert f"{rig.node} was cordoned already" in said
    assert "2 pods went, 0 stay" in rest
    assert rig.here() == set()


def test_a_dry_run_changes_nothing_and_names_budgets_and_holds(rig: Rig) -> None:
    for name in ("web", "held", "alone"):
        rig.deployment(name, 2 if name == "web" else 1)
    rig.budget("web", minAvailable=1)
    rig.budget("alone", app="alone", minAvailable=1)
    hold = {"name": f"{HOLD_PREFIX}deployment-held", "labels": {MANAGED_BY: MANAGER}}
    spec = {"selector": {"matchLabels": {"app": "held"}}, "maxUnavailable": 0}
    rig.manifest(POD_DISRUPTION_BUDGET, {"metadata": hold, "spec": spec}, rig.space)
    until(lambda: rig.is_counted(f"{HOLD_PREFIX}deployment-held"))
    before = rig.versions()
    said = rig.drain("--dry-run")
    told = what(said)
    assert told["held"].startswith(
        f"waits {rig.space}/{hold['name']} held by WorkloadMigration cluster: its turn has not come"
    )
    assert told["alone"].startswith(
        f"never goes {rig.space}/alone PodDisruptionBudget {rig.space}/alone needs 1 of 1 pods healthy"
    )
    assert sorted(line.split()[1] for line in said.out.splitlines() if "/web-" in line) == ["goes", "goes"]
    assert said.code == Exit.ACT
    assert rig.versions() == before


@contextlib.contextmanager
def draining(rig: Rig, client: Client) -> Iterator[Draining]:
    """The drain of the node, without the command."""
    found = reads(client, rig.node)
    with followed(rig.cluster.credentials(), found.watches) as store:
        looking, settings = Looking(client, store, rig.node, found), Settings(evict_unmanaged=True)
        with Draining(looking, settings, lambda _: False) as work:
            yield work


def test_two_budgets_on_a_pod_are_told_at_once_and_by_the_server_too(rig: Rig) -> None:
    rig.deployment("web", 2)
    rig.budget("one", maxUnavailable=1)
    rig.budget("two", maxUnavailable=1)
    said = rig.drain()
    assert said.code == Exit.ACT
    assert said.err.splitlines()[-2:] == [
        f"error: node {rig.node} cannot be drained: 2 pods can never go; nothing was changed",
        "hint: leave one PodDisruptionBudget that selects it",
    ]
    assert not rig.is_cordoned()
    with draining(rig, rig.client) as work:
        (first, _) = work.look().for_ever
        assert "more than one PodDisruptionBudget" in work.ask(first.pod)


class Recording(Client):
    """Notes evictions that were answered."""

    def __init__(self, credentials: Credentials) -> None:
        super().__init__(credentials)
        self.answered: list[str] = []

    def evict(self, name: str, namespace: str, *, uid: str, **more: Any) -> Written:
        try:
            return super().evict(name, namespace, uid=uid, **more)
        finally:
            self.answered.append(name)


def test_a_pod_that_came_under_the_name_of_another_is_not_evicted_for_it(rig: Rig) -> None:
    rig.pod("db-0")
    with Recording(rig.cluster.credentials()) as client, draining(rig, client) as work:
        (eviction,) = work.look().evictions
        rig.client.delete(POD, "db-0", rig.space, uid=eviction.pod.uid, grace=0)
        other = rig.pod("db-0")["metadata"]["uid"]
        work.send(Plan(evictions=(Eviction(eviction.pod),)))
        until(lambda: client.answered == ["db-0"])
        until(lambda: [one.pod.uid for one in work.look().evictions] == [other])
    live = rig.client.get(POD, "db-0", rig.space)
    assert (live["metadata"]["uid"], "deletionTimestamp" in live["metadata"]) == (other, False)


def test_somebody_who_ends_the_process_leaves_the_node_as_it_was_found(rig: Rig) -> None:
    rig.deployment("web", 2)
    rig.budget(minAvailable=1)
    process = rig.start()
    read_until(process, "waits: ")
    assert rig.is_cordoned()
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=30)
    assert process.returncode == Exit.INTERRUPTED
    assert f"{rig.node} is uncordoned again, as it was found" in rest
    assert rest.splitlines()[-1] == "interrupted"
    assert not rig.is_cordoned()


def test_a_node_that_was_cordoned_before_stays_so(rig: Rig) -> None:
    rig.cordon()
    cordon = Cordon(rig.client, rig.node)
    cordon.take()
    assert not cordon.put_back()
    assert rig.is_cordoned()


def test_on_a_terminal_what_is_left_is_seen_until_ctrl_c(rig: Rig) -> None:
    rig.deployment("web", 2)
    rig.budget(minAvailable=1)
    environment = os.environ | {"KUBECONFIG": str(rig.cluster.kubeconfig), "TERM": "xterm"}
    with Terminal([*COMMAND, "drain", rig.node], environment) as terminal:
        terminal.read_until("WHY")
        terminal.read_until("1 s")
        terminal.press("\x03")
        assert terminal.wait(30) == Exit.INTERRUPTED
        assert terminal.settings_now == terminal.settings
    assert not rig.is_cordoned()


def test_a_node_that_a_rollout_has_taken_meanwhile_is_not_uncordoned(rig: Rig) -> None:
    cordon = Cordon(rig.client, rig.node)
    cordon.take()
    uid = rig.client.get(NODE, rig.node)["metadata"]["uid"]
    rig.client.patch(NODE, rig.node, {"metadata": {"annotations": {CORDONED_BY: "all"}}}, uid=uid)
    assert cordon.put_back() == f"{rig.node} stays cordoned until NodeRollout all gives it back"
    assert rig.is_cordoned()
    said = rig.drain().err
    assert f"note: NodeRollout all has cordoned node {rig.node}, and drains it itself" in said
    assert "NodeRollout all opens it again when it is through with it" in said
    assert "kubectl uncordon" not in said, "its agent may be at work"


def test_a_rollout_that_found_the_node_cordoned_by_a_drain_is_told_that_it_is_over(rig: Rig) -> None:
    cordon = Cordon(rig.client, rig.node)
    cordon.take()
    uid = rig.client.get(NODE, rig.node)["metadata"]["uid"]
    marks = {CORDONED_BY: "all", CORDONED_BEFORE: "true"}
    rig.client.patch(NODE, rig.node, {"metadata": {"annotations": marks}}, uid=uid)
    cordon.put_back()
    kept = rig.client.get(NODE, rig.node)["metadata"]["annotations"]
    assert (kept[CORDONED_BY], kept[CORDONED_BEFORE], rig.is_cordoned()) == ("all", "false", True)


def test_somebody_who_uncordons_the_node_half_way_ends_the_drain(rig: Rig) -> None:
    rig.deployment("web", 2)
    rig.budget(minAvailable=1)
    process = rig.start()
    read_until(process, "waits: ")
    uid = rig.client.get(NODE, rig.node)["metadata"]["uid"]
    rig.client.patch(NODE, rig.node, {"spec": {"unschedulable": None}}, uid=uid)
    _, rest = process.communicate(timeout=30)
    assert process.returncode == Exit.ACT
    assert f"error: somebody has uncordoned node {rig.node} while it was drained" in rest


def test_it_is_not_over_before_volumes_are_detached(rig: Rig) -> None:
    source = {"persistentVolumeName": f"pv-{rig.node}"}
    spec = {"attacher": "disk.example.com", "nodeName": rig.node, "source": source}
    made = rig.manifest(VOLUME_ATTACHMENT, {"metadata": {"name": f"at-{rig.node}"}, "spec": spec})
    process = rig.start()
    read_until(process, f"waits for 1 volume to be detached: pv-{rig.node}")
    rig.client.delete(VOLUME_ATTACHMENT, made["metadata"]["name"], uid=made["metadata"]["uid"])
    _, rest = process.communicate(timeout=30)
    assert process.returncode == Exit.FINE
    assert f"node {rig.node} is drained after " in rest


def account(rig: Rig, folder: Path, *rules: rbac.Rule) -> Path:
    """The kubeconfig of somebody who has these rights."""
    name = f"user-{rig.space}"
    rig.manifest(SERVICE_ACCOUNT, {"metadata": {"name": name}}, rig.space)
    role = rbac.role(name, rules)
    rig.manifest(CLUSTER_ROLE, role)
    rig.manifest(CLUSTER_ROLE_BINDING, rbac.binding(role, name, rig.space))
    return kubeconfig_of(Account(rig.space, name), rig.cluster.kubeconfig, folder / name)


def test_every_right_that_is_missing_is_named(rig: Rig, tmp_path: Path) -> None:
    rig.deployment("web")
    user = account(rig, tmp_path, *READS)
    until(lambda: "cannot read" not in rig.drain("--dry-run", kubeconfig=user).err)
    said = rig.drain(kubeconfig=user).err
    assert f"patch nodes, and to create pods/eviction in namespace {rig.space}; nothing was changed" in said


def test_a_user_who_may_not_evict_is_told_so_before_anything_is_changed(rig: Rig, tmp_path: Path) -> None:
    rig.deployment("web")
    before = rig.versions()
    user = account(rig, tmp_path, *READS, rbac.rule("", ["nodes"], ["patch"]))
    until(lambda: "cannot read" not in rig.drain("--dry-run", kubeconfig=user).err)
    said = rig.drain(kubeconfig=user)
    assert said.code == Exit.ACT
    assert f"error: you lack the right to create pods/eviction in namespace {rig.space}; nothing" in said.err
    assert "note: VolumeAttachments may not be read: " in said.err
    assert rig.versions() == before


def test_a_user_with_the_rights_of_a_drain_needs_no_others(rig: Rig, tmp_path: Path) -> None:
    """The right to evict is one of the namespaces of the pods alone."""
    rig.deployment("web")
    user = account(rig, tmp_path, *READS, rbac.rule("", ["nodes"], ["patch"]))
    role = rbac.role("evicts", [rbac.rule("", ["pods/eviction"], ["create"])], rig.space)
    rig.manifest(ROLE, role, rig.space)
    rig.manifest(ROLE_BINDING, rbac.binding(role, f"user-{rig.space}", rig.space), rig.space)
    until(lambda: rig.drain("--dry-run", kubeconfig=user).code == Exit.FINE)
    said = rig.drain(kubeconfig=user)
    assert said.code == Exit.FINE, said
    assert rig.here() == set()


def test_what_may_not_be_read_is_named(rig: Rig, tmp_path: Path) -> None:
    user = account(rig, tmp_path, rbac.rule("", ["nodes"], ["get", "list", "watch"]))
    until(lambda: "cannot read pods: 403" in rig.drain(kubeconfig=user).err)


def test_a_node_that_is_not_there_is_answered_with_one_that_is(rig: Rig) -> None:
    there, rig.node = rig.node, f"{rig.node}0"
    said = rig.drain()
    assert (said.code, said.err) == (
        Exit.ACT,
        f"error: there is no node {rig.node}\nhint: did you mean {there}?\n",
    )


@pytest.fixture
def shiplift_kinds(rig: Rig) -> Iterator[None]:
    """The definitions of our kinds; a cluster has but one WorkloadMigration."""
    for kind in (WORKLOAD_MIGRATION, WORKLOAD_PLACEMENT, QUORUM_SERVICE):
        manifest = crd.manifest(kind)
        with contextlib.suppress(AlreadyExists):
            rig.manifest(CUSTOM_RESOURCE_DEFINITION, manifest)
        name = manifest["metadata"]["name"]
        until(lambda name=name: conditions(rig.client, name).get("Established") == "True")
    yield
    migration = rig.client.get(WORKLOAD_MIGRATION, "cluster")
    rig.client.delete(WORKLOAD_MIGRATION, "cluster", uid=migration["metadata"]["uid"])


@pytest.mark.usefixtures("shiplift_kinds")
def test_what_other_parts_of_shiplift_hold_is_waited_for_and_named(rig: Rig) -> None:
    rig.deployment("web")
    held = {"name": "db", "annotations": {QUORUM_HOLD: "store"}}
    service = {"statefulSets": ["db"], "image": "example/store:1", "credentialsSecret": "admin"}
    rig.manifest(QUORUM_SERVICE, {"metadata": {"name": "store"}, "spec": service}, rig.space)
    rig.stateful_set(held)
    migration = {"metadata": {"name": "cluster"}, "spec": {"target": "v1.36.3"}}
    uid = rig.manifest(WORKLOAD_MIGRATION, migration)["metadata"]["uid"]
    placement = {"target": "v1.36.3", "turns": {"Deployment.web": "Held"}}
    rig.manifest(WORKLOAD_PLACEMENT, {"metadata": {"name": "shiplift"}, "spec": placement}, rig.space)
    said = rig.drain("--timeout", "2s")
    assert said.code == Exit.TIMEOUT, said
    assert (
        "waits: held by WorkloadMigration cluster: its turn has not come (shiplift status tells" in said.err
    )
    swapped = f"held by QuorumService {rig.space}/store: its binary is being swapped on all members"
    assert f"{rig.space}/db-0 waits: {swapped}" in said.err
    assert rig.here() == {"web", "db"}
    rig.client.patch(WORKLOAD_MIGRATION, "cluster", {"spec": {"paused": True}}, uid=uid)
    assert what(rig.drain("--dry-run"))["web"] == "goes -"
