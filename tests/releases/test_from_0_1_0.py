"""From 0.1.0 to this release: what it began goes on, ends, can be undone; and the upgrade moves nothing."""

from __future__ import annotations

import time

import pytest

from shiplift.facts import kinds
from shiplift.kube.client import PatchType
from shiplift.local.cluster import Cluster
from tests.releases import loading
from tests.releases.application import Json, in_mode
from tests.releases.conftest import Upgrade
from tests.releases.record import build
from tests.releases.situation import load
from tests.releases.upgraded import (
    BUDGETS,
    ORDER,
    REPLICAS,
    Migration,
    Upgraded,
    apply_this_release,
    manifests,
)
from tests.until import until

pytestmark = pytest.mark.long(seconds=26)

RELEASE = "0.1.0"
LEFT_BEHIND = {
    ("MutatingAdmissionPolicy", "shiplift-echo"),
    ("MutatingAdmissionPolicyBinding", "shiplift-echo"),
}
"""What of that release later ones no longer name; docs/workloads.md says that it may be deleted."""
KILLED = "inject-half-way"
"""Where its operator was not stopped, but killed: one that comes after it waits until the Lease is over."""
_LOOKS_SECONDS = 6.0
RECORDS = {
    owner: f'{{"toleration":"v1.36.3","inert":"{digest}"}}'
    for owner, digest in {
        "data/Deployment.cache": "1:e25dfe3e66e5c9bc",
        "data/StatefulSet.database": "1:1bd0bef0577fb3ad",
        "shop/Deployment.api": "1:131442ceed593c5c",
        "shop/Deployment.front": "1:6729b36e0975d604",
        "shop/Deployment.mail": "1:bbfbc192962dedfe",
        "shop/Deployment.web": "1:a1f0bd0ccd697dcb",
    }.items()
}
"""What becomes of those of `template-finished`. Other digests mean that rows have come to say something else:
then `template_digest.VERSION` has to be raised."""


@pytest.mark.parametrize("situation", ["inject-half-way", "inject-surging", "template-half-way"])
def test_a_migration_goes_on_in_its_order_and_nobody_moves_twice(upgrade: Upgrade, situation: str) -> None:
    upgraded = upgrade(RELEASE, situation)
    before = upgraded.pods()
    if situation != KILLED:
        upgraded.hand_over()
    upgraded.rig.start()
    upgraded.finish()
    _assert_each_moved_once(upgraded, before)
    inert = upgraded.scene.status().get("inertTolerations", [])
    assert len(inert) == (len(REPLICAS) if situation.startswith("template") else 0)


def test_an_operator_that_comes_before_its_manifests_moves_nobody_twice(upgrade: Upgrade) -> None:
    upgraded = upgrade(RELEASE, "inject-half-way", False)
    before = upgraded.pods()
    upgraded.hand_over()
    upgraded.rig.start()
    time.sleep(_LOOKS_SECONDS)
    apply_this_release(upgraded.cluster)
    upgraded.finish()
    _assert_each_moved_once(upgraded, before)


def _assert_each_moved_once(upgraded: Upgraded, before: set[str]) -> None:
    """In their order, and only those that were on old nodes; what is the user's is as it was."""
    history = upgraded.observer.history()
    assert history.early(ORDER) == []
    assert before - upgraded.pods() == upgraded.recorded_pods("old")
    bound = [one for one in history.pods if not one.first]
    assert len(bound) == sum(REPLICAS.values()) - len(upgraded.recorded_pods("new"))
    assert {one.pool for one in bound} == {"new"}
    assert (upgraded.budgets(), upgraded.replicas()) == (BUDGETS, REPLICAS)


@pytest.mark.parametrize("situation", ["inject-surging", "template-half-way"])
def test_a_migration_can_be_aborted(upgrade: Upgrade, situation: str) -> None:
    upgraded = upgrade(RELEASE, situation)
    before = upgraded.pods()
    upgraded.hand_over()
    upgraded.rig.start()
    upgraded.command("abort", "--yes")
    upgraded.scene.wait_clean()
    _assert_undone(upgraded, before)


@pytest.mark.parametrize("situation", ["inject-half-way", "template-half-way"])
def test_a_migration_can_be_undone_without_an_operator(upgrade: Upgrade, situation: str) -> None:
    upgraded = upgrade(RELEASE, situation)
    before = upgraded.pods()
    upgraded.command("release", "--all", "--yes")
    assert upgraded.scene.residue() == []
    _assert_undone(upgraded, before)


def _assert_undone(upgraded: Upgraded, before: set[str]) -> None:
    """Budgets and replicas as the user's were; nobody was moved, and only a surge was taken back."""
    until(lambda: len(upgraded.pods()) == sum(REPLICAS.values()))
    assert upgraded.pods() <= before
    assert (upgraded.budgets(), upgraded.replicas()) == (BUDGETS, REPLICAS)
    changed = upgraded.generations().items() - upgraded.recorded_generations().items()
    assert {name for name, _ in changed} == ({"shop/mail"} if len(before) > sum(REPLICAS.values()) else set())


def test_an_upgrade_moves_nothing_and_the_owners_next_rollout_does_what_it_did(upgrade: Upgrade) -> None:
    upgraded = upgrade(RELEASE, "template-finished")
    before = upgraded.pods()
    upgraded.hand_over()
    upgraded.rig.start()
    until(lambda: upgraded.ledgers() == RECORDS, 60)
    time.sleep(_LOOKS_SECONDS)
    assert upgraded.generations() == upgraded.recorded_generations()
    assert (upgraded.pods(), upgraded.ledgers()) == (before, RECORDS)
    assert len(upgraded.scene.status()["inertTolerations"]) == len(REPLICAS)

    _change_image(upgraded, "shop", "web")
    until(lambda: not _tolerations(upgraded, "shop", "web"), 60)
    until(lambda: upgraded.scene.rolled_out("shop", "web"), 60)
    kept = {owner: text for owner, text in RECORDS.items() if owner != "shop/Deployment.web"}
    until(lambda: upgraded.ledgers() == kept)
    untouched = {name: count for name, count in upgraded.recorded_generations().items() if name != "shop/web"}
    assert untouched.items() <= upgraded.generations().items()


def test_new_manifests_go_over_the_old_ones_and_a_whole_migration_works(fresh_cluster: Cluster) -> None:
    loading.install(fresh_cluster, RELEASE)
    said = apply_this_release(fresh_cluster)
    assert "mutatingadmissionpolicy.admissionregistration.k8s.io/shiplift-pods" in said
    with fresh_cluster.client() as client:
        build(fresh_cluster, client, in_mode("Inject"))
    with Migration(fresh_cluster) as migration:
        migration.rig.start()
        migration.finish()
        assert migration.observer.history().early(ORDER) == []
        assert (migration.budgets(), migration.replicas()) == (BUDGETS, REPLICAS)


def test_what_new_manifests_no_longer_name_is_known() -> None:
    old = {(one["kind"], one["metadata"]["name"]) for one in load(RELEASE, "manifests")}
    new = {(one["kind"], one["metadata"]["name"]) for one in manifests()}
    assert old - new <= LEFT_BEHIND


def _change_image(upgraded: Upgraded, namespace: str, name: str) -> None:
    path = "/spec/template/spec/containers/0/image"
    live = upgraded.client.get(kinds.DEPLOYMENT, name, namespace)
    patch = [{"op": "replace", "path": path, "value": "other"}]
    uid = live["metadata"]["uid"]
    upgraded.client.patch(kinds.DEPLOYMENT, name, patch, namespace, type=PatchType.JSON, uid=uid)


def _tolerations(upgraded: Upgraded, namespace: str, name: str) -> list[Json]:
    live = upgraded.client.get(kinds.DEPLOYMENT, name, namespace)
    return live["spec"]["template"]["spec"].get("tolerations", [])
