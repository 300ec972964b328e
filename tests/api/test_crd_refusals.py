"""What a bad object is answered: refused, with a message that names the field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shiplift import api
from shiplift.api import crd
from shiplift.facts.kinds import (
    APP_TYPE,
    MACHINE,
    MACHINE_POOL,
    NODE_ROLLOUT,
    OPERATOR_CATALOG,
    OPERATOR_VERSION,
    QUORUM_SERVICE,
    UPGRADE_CONFIG,
    WORKLOAD_MIGRATION,
    WORKLOAD_ORDER,
    WORKLOAD_PLACEMENT,
    Kind,
)
from shiplift.kube.client import Client
from shiplift.kube.errors import ApiError, Invalid
from tests.api.api_examples import changed, full, minimal

UC, MP, MA, NR, WM = UPGRADE_CONFIG, MACHINE_POOL, MACHINE, NODE_ROLLOUT, WORKLOAD_MIGRATION
WO, QS, AT, OV, OC = WORKLOAD_ORDER, QUORUM_SERVICE, APP_TYPE, OPERATOR_VERSION, OPERATOR_CATALOG
WP = WORKLOAD_PLACEMENT


HOOK = {"name": "a", "namespace": "b", "serviceAccountName": "c", "job": {}}


def ids(rows: list[tuple[Kind, str, Any, str]]) -> list[str]:
    return [f"{kind}-{path}-{value}"[:60] for kind, path, value, _ in rows]


CREATED: list[tuple[Kind, str, Any, str]] = [
    (UC, "metadata.name", "other", "metadata.name must be 'cluster': there is one for the whole cluster"),
    (UC, "spec.type", "Talos", r'spec.type: Unsupported value: "Talos".*"Kubeadm", "OpenShift", "External"'),
    (UC, "spec.desired", None, "spec.desired: Required value"),
    (UC, "spec.desired.version", None, "version or channel must be given"),
    (UC, "spec.desired.version", "newest", "spec.desired.version.*should match"),
    (UC, "spec.desired.version", "v01.36.3", "spec.desired.version.*should match"),
    (UC, "spec.desired.version", 1.36, "spec.desired.version.*must be of type string"),
    (
        UC,
        "spec.desired.channel",
        "stable-1.36",
        "spec.desired.*desired.channel goes with type OpenShift only",
    ),
    (UC, "spec.desired", {"channel": "stable"}, "desired.version must be given unless type is OpenShift"),
    (UC, "spec.desired.version", "1.36", "spec.desired.*desired.version must be whole, such as v1.36.3"),
    (UC, "spec.approved", {"version": "v1.36.3", "by": "me"}, "spec.approved.planDigest: Required value"),
    (
        UC,
        "spec",
        {
            "desired": {"version": "v1.36.3"},
            "PDBForceDrainTimeout": 60,
            "strategy": {"nodes": {"drainTimeout": "30m"}},
        },
        "spec.PDBForceDrainTimeout.*PDBForceDrainTimeout sets drainTimeout and onBlocked of strategy.nodes",
    ),
    (
        UC,
        "spec",
        {
            "desired": {"version": "v1.36.3"},
            "PDBForceDrainTimeout": 60,
            "strategy": {"nodes": {"onBlocked": "Wait"}},
        },
        "spec.PDBForceDrainTimeout.*PDBForceDrainTimeout sets drainTimeout and onBlocked of strategy.nodes",
    ),
    (
        UC,
        "spec.notify",
        [{"name": "a", "url": "http://a", "token": {"name": "b", "key": "c"}}],
        r"spec.notify\[0\].url.*url must begin with https:// where a token is sent",
    ),
    (UC, "spec.upgradeAt", [], "spec.upgradeAt.*expected string.*must be a time: 2026-05-01T22:00:00Z"),
    (UC, "spec.upgradeAt", "tomorrow", "spec.upgradeAt"),
    (UC, "spec.upgradeAt", "2026-05-01", "spec.upgradeAt"),
    (UC, "spec.upgradeAt", "2026-13-01T00:00:00Z", "spec.upgradeAt"),
    (
        UC,
        "spec.startDeadline",
        "2h",
        "spec.startDeadline.*startDeadline counts from upgradeAt, which is not given",
    ),
    (UC, "spec.PDBForceDrainTimeout", -1, "spec.PDBForceDrainTimeout.*greater than or equal to 0"),
    (UC, "spec.windows", [{"schedule": "sometimes", "duration": "2h"}], r"spec.windows\[0\].schedule"),
    (UC, "spec.windows", [{"schedule": "0 22 * * *", "duration": ""}], r"spec.windows\[0\].duration"),
    (UC, "spec.windows", [{"schedule": "0 22 * * *", "duration": "1h"}] * 33, "spec.windows.*at most 32"),
    (UC, "spec.paused", "yes", "spec.paused.*must be of type boolean"),
    (UC, "spec.strategy", {"nodes": {"maxUnavailable": 0}}, "spec.strategy.nodes.maxUnavailable"),
    (UC, "spec.strategy", {"nodes": {"maxUnavailable": "0%"}}, "spec.strategy.nodes.maxUnavailable"),
    (UC, "spec.strategy", {"nodes": {"maxUnavailable": 1.5}}, "spec.strategy.nodes.maxUnavailable"),
    (UC, "spec.notify", [{"name": "a", "url": "file:///etc"}], r"spec.notify\[0\].url"),
    (UC, "spec.notify", [{"name": "a", "url": "http://a"}] * 2, r"spec.notify\[1\].*Duplicate value"),
    (MP, "spec.role", "boss", "spec.role: Unsupported value"),
    (MP, "spec.replicas", -1, "spec.replicas.*greater than or equal to 0"),
    (MP, "spec.replicas", 5001, "spec.replicas.*less than or equal to 5000"),
    (MP, "spec.replicas", None, "spec.replicas: Required value"),
    (
        MP,
        "spec.provider",
        "Static",
        "spec.static.*static must be given when provider is Static, and only then",
    ),
    (MP, "spec.static", {"hosts": [], "sshKeySecret": "b"}, "spec.static.hosts"),
    (MP, "spec.provider", "EC2", "spec.ec2.*ec2 must be given when provider is EC2, and only then"),
    (MP, "spec.surge", "a quarter", "spec.surge"),
    (MP, "spec.surge", "101%", "spec.surge"),
    (MP, "spec.kwok", {"pods": 0}, "spec.kwok.pods"),
    (MP, "spec.labels", {"tier": "no spaces"}, "spec.labels.tier"),
    (MP, "spec.taints", [{"key": "a", "effect": "Sometimes"}], r"spec.taints\[0\].effect: Unsupported"),
    (MP, "spec.software", [{"name": "containerd", "version": "$(rm)"}], r"spec.software\[0\].version"),
    (MA, "spec.pool", "", "spec.pool"),
    (MA, "spec.pool", None, "spec.pool: Required value"),
    (MA, "spec.provider", "gce", "spec.provider: Unsupported value"),
    (MA, "spec.replace", 1, "spec.replace.*must be of type boolean"),
    (NR, "spec.version", None, "spec.*version or software must be given"),
    (
        NR,
        "spec",
        {"software": [{"name": "containerd", "version": "1.7.24"}], "via": ["v1.35.6"]},
        "spec.via.*via goes with version only",
    ),
    (
        NR,
        "spec.software",
        [{"name": "kubelet", "version": "1.38.0"}],
        "kubeadm, kubelet and kubectl come with",
    ),
    (NR, "spec.via", ["1.35"], r"spec.via\[0\]"),
    (NR, "spec.via", [f"v1.{n}.0" for n in range(20, 29)], "spec.via.*at most 8"),
    (NR, "spec.podGracePeriod", "soon", "spec.podGracePeriod"),
    (NR, "spec.maxUnavailable", "150%", "spec.maxUnavailable"),
    (NR, "spec.maxFailures", 0, "spec.maxFailures.*greater than or equal to 1"),
    (NR, "spec.onBlocked", "Ask", "spec.onBlocked: Unsupported value"),
    (NR, "spec.drainTimeout", "30 minutes", "spec.drainTimeout"),
    (NR, "spec.expectedNodeDuration", "5m", "expectedNodeDuration goes with windows only"),
    (NR, "spec.hooks", {"before": [{**HOOK, "job": "x"}]}, r"before\[0\].job"),
    (NR, "spec.hooks", {"before": [{**HOOK, "name": f"h{n}"} for n in range(9)]}, "before.*at most 8"),
    (
        NR,
        "spec.hooks",
        {"after": [{"name": "a", "namespace": "b", "job": {}}]},
        r"after\[0\].serviceAccountName: Required value",
    ),
    (NR, "spec.nodeSelector", {"matchExpressions": [{"key": "a", "operator": "In"}]}, "values go with"),
    (
        NR,
        "spec.nodeSelector",
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        "values go with the operators In and NotIn",
    ),
    (WM, "metadata.name", "mine", "metadata.name must be 'cluster': there is one for the whole cluster"),
    (WM, "spec.mode", "inject", 'spec.mode: Unsupported value: "inject"'),
    (WM, "spec.target", "", "spec.target"),
    (WM, "spec.soak", "-5m", "spec.soak"),
    (
        WM,
        "spec.onNoCapacity",
        "Provision",
        "growing must say which pool grows when onNoCapacity is Provision",
    ),
    (WM, "spec.growing.size.cpu", "many", "spec.growing.size.cpu"),
    (WM, "spec.growing", {"size": {"cpu": "1"}}, "spec.growing.size.memory: Required value"),
    (WM, "spec.waitForNodes.settle", "soon", "spec.waitForNodes.settle"),
    (WM, "spec.waitForNodes.count", -1, "spec.waitForNodes.count.*greater than or equal to 0"),
    (WM, "spec.onUnknownArchitecture", "Ask", "spec.onUnknownArchitecture: Unsupported value"),
    (WM, "spec.excludeNamespaces", ["Shop"], r"spec.excludeNamespaces\[0\]"),
    (WM, "spec.excludeNamespaces", ["a", "a"], r"spec.excludeNamespaces\[1\]: Duplicate value"),
    (WM, "spec.excludeNamespaces", "shop", "spec.excludeNamespaces.*must be of type array"),
    (WO, "spec.workloads", [], "spec.workloads.*at least 1"),
    (WO, "spec.workloads.0.kind", "DaemonSet", r"spec.workloads\[0\].kind: Unsupported value"),
    (
        WO,
        "spec.workloads.0.dependsOn",
        [{"kind": "Deployment", "name": "cart"}],
        "a workload cannot depend on itself",
    ),
    (WO, "spec.workloads.0.dependsOn", [{"kind": "Deployment"}], r"dependsOn\[0\].name: Required value"),
    (
        WO,
        "spec.workloads",
        [{"kind": "Deployment", "name": "a"}] * 2,
        r"spec.workloads\[1\]: Duplicate value",
    ),
    (WP, "metadata.name", "mine", "metadata.name must be 'shiplift': there is one in each namespace"),
    (WP, "spec.target", None, "spec.target: Required value"),
    (WP, "spec.target", "v1.36.3+k3s1", "spec.target.*should match"),
    (WP, "spec.turns", {"Deployment.cart": "Moved"}, "spec.turns.Deployment.cart: Unsupported value"),
    (WP, "spec.ledger", {"Deployment.cart": "x" * 32769}, "spec.ledger.Deployment.cart.*than 32768"),
    (QS, "spec.engine", "etcd", "spec.engine: Unsupported value"),
    (QS, "spec.statefulSets", [], "spec.statefulSets.*at least 1"),
    (QS, "spec.image", "registry.example/minio", "spec.*image must have a tag or a digest"),
    (QS, "spec.image", "registry.example:5000/minio", "spec.*image must have a tag or a digest"),
    (QS, "spec.image", "has space:1", "spec.image.*should match"),
    (QS, "spec.trust", {"minisignKey": "RWshort"}, "spec.trust.minisignKey"),
    (QS, "spec.trust", {"cosignKey": "-----BEGIN PRIVATE KEY-----\n"}, "spec.trust.cosignKey"),
    (QS, "spec.endpoint", {"caSecret": "ca"}, "spec.endpoint.*caSecret goes with scheme HTTPS only"),
    (QS, "spec.endpoint", {"port": 70000}, "spec.endpoint.port"),
    (QS, "spec.minimumVersion", "last year's", "spec.minimumVersion.*should match"),
    (QS, "spec.trust", {"registries": ["https://registry.example"]}, r"spec.trust.registries\[0\]"),
    (QS, "spec.servingURL", "shiplift.ops.svc", "spec.servingURL.*should match"),
    (QS, "spec.canaryBucket", "No", "spec.canaryBucket"),
    (AT, "spec.package", None, "spec.package: Required value"),
    (AT, "spec.serviceAccountName", None, "spec.serviceAccountName: Required value"),
    (AT, "spec.approval", "Perhaps", "spec.approval: Unsupported value"),
    (AT, "spec.approved", "1.2.3", "spec.*approved goes with approval Manual only"),
    (AT, "spec.uninstall", "Everything", "spec.uninstall: Unsupported value"),
    (AT, "spec.targetNamespaces", ["a", "a"], r"spec.targetNamespaces\[1\]: Duplicate value"),
    (AT, "spec.version", "latest", "spec.version.*should match"),
    (AT, "spec.crdSafety", [{"rule": "vibes", "action": "Deny"}], r"spec.crdSafety\[0\].rule: Unsupported"),
    (OV, "spec.version", "1.2.", "spec.version"),
    (OV, "spec.installStrategy.type", "helm", "spec.installStrategy.type: Unsupported value"),
    (OV, "spec.installStrategy.deployments", [], "spec.installStrategy.deployments.*at least 1"),
    (OV, "spec.installStrategy.deployments.0.spec", 5, r"deployments\[0\].spec.*must be of type object"),
    (
        OV,
        "spec.installStrategy.clusterPermissions",
        [{"serviceAccountName": "a", "rules": [{"verbs": ["get"]}]}],
        r"clusterPermissions\[0\].rules\[0\].*a rule names resources or nonResourceURLs",
    ),
    (OV, "spec.ownedCRDs", [{"name": "a", "version": "1", "kind": "A"}], r"spec.ownedCRDs\[0\].version"),
    (OV, "spec.bundle", "sha256:short", "spec.bundle"),
    (OC, "spec.source", {}, "exactly one of configMaps and folder"),
    (
        OC,
        "spec.source.configMaps",
        {"namespace": "a", "selector": {}},
        "exactly one of configMaps and folder",
    ),
    (OC, "spec.source.folder.path", "relative", "spec.source.folder.path"),
    (OC, "spec.priority", 5000, "spec.priority.*less than or equal to 1000"),
    (OC, "spec.format", "Sqlite", "spec.format: Unsupported value"),
]


@pytest.mark.parametrize(("kind", "path", "value", "answer"), CREATED, ids=ids(CREATED))
def test_a_bad_object_is_refused_by_name(
    client: Client, kind: Kind, path: str, value: Any, answer: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        client.create(kind, changed(minimal(kind), path, value), dry_run=True)
    assert re.search(answer, refusal.value.message), refusal.value.message


@pytest.mark.parametrize("replicas", [0, 2, 4, 6])
def test_a_control_plane_has_1_3_or_5_machines(client: Client, replicas: int) -> None:
    pool = changed(changed(minimal(MP), "spec.role", "ControlPlane"), "spec.replicas", replicas)
    with pytest.raises(Invalid, match=r"spec.replicas.*replicas must be 1, 3 or 5 when role is ControlPlane"):
        client.create(MP, pool, dry_run=True)


@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_a_control_plane_may_have(client: Client, replicas: int) -> None:
    pool = changed(changed(minimal(MP), "spec.role", "ControlPlane"), "spec.replicas", replicas)
    client.create(MP, pool, dry_run=True)


def test_a_pool_wants_no_more_machines_than_there_are_hosts(client: Client) -> None:
    with pytest.raises(Invalid, match=r"spec.replicas.*replicas must be no more than static.hosts"):
        client.create(MP, changed(full(MP), "spec.replicas", 3), dry_run=True)


def test_settings_of_another_provider_are_refused(client: Client) -> None:
    with pytest.raises(Invalid, match=r"spec.kwok.*kwok goes with provider Kwok only"):
        client.create(MP, changed(full(MP), "spec.kwok", {}), dry_run=True)


def test_include_and_exclude_are_not_both_given(client: Client) -> None:
    catalog = changed(changed(minimal(OC), "spec.include", ["a"]), "spec.exclude", ["b"])
    with pytest.raises(Invalid, match=r"spec.exclude.*include and exclude cannot both be given"):
        client.create(OC, catalog, dry_run=True)


def test_what_is_replaced_is_not_skipped(client: Client) -> None:
    with pytest.raises(Invalid, match=r"spec.skips.*replaces cannot be in skips"):
        client.create(OV, changed(full(OV), "spec.skips", ["etcdoperator.v0.9.2"]), dry_run=True)


UPDATED: list[tuple[Kind, str, Any, str]] = [
    (UC, "spec.type", "Kubeadm", "spec.type.*type cannot be changed"),
    (UC, "spec.abort", False, "spec.abort.*abort cannot be withdrawn; give a new desired version instead"),
    (UC, "spec.retry", 1, "spec.retry.*retry can only be raised"),
    (MP, "spec.role", "Worker", "spec.role.*role cannot be changed"),
    (MP, "spec.provider", "Kwok", "spec.provider.*provider cannot be changed"),
    (MA, "spec.pool", "others", "spec.pool.*pool cannot be changed"),
    (MA, "spec.role", "Worker", "spec.role.*role cannot be changed"),
    (MA, "spec.providerID", "i-2", "spec.providerID.*providerID cannot be changed"),
    (MA, "spec.providerID", None, "spec.providerID.*providerID cannot be changed"),
    (MA, "spec.replace", False, "spec.replace.*replace cannot be withdrawn"),
    (NR, "spec.abort", False, "spec.abort.*abort cannot be withdrawn; make a new NodeRollout"),
    (WM, "spec.abort", False, "spec.abort.*abort cannot be withdrawn; give a new target instead"),
    (AT, "spec.package", "other", "spec.package.*package cannot be changed"),
    (OV, "spec.version", "0.9.5", "spec.*spec cannot be changed; make another OperatorVersion"),
    (OV, "spec.replaces", None, "spec.*spec cannot be changed; make another OperatorVersion"),
    (
        OV,
        "spec.installStrategy.deployments.0.spec.replicas",
        2,
        "spec.*spec cannot be changed; make another OperatorVersion",
    ),
]


def update(client: Client, kind: Kind, path: str, value: Any) -> dict[str, Any]:
    """A dry-run update of the stored full example."""
    created = client.create(kind, full(kind)).object
    meta = created["metadata"]
    try:
        return client.update(kind, changed(created, path, value), dry_run=True).object
    finally:
        client.delete(kind, meta["name"], meta.get("namespace", ""), uid=meta["uid"])


@pytest.mark.parametrize(
    ("before", "after", "may"), [("v1.36.3", "1.36.3", False), ("v1.36.3", "v1.36.4", True)]
)
@pytest.mark.parametrize(
    ("kind", "path"), [(UC, "spec.desired.version"), (WM, "spec.target")], ids=["UC", "WM"]
)
def test_another_version_withdraws_an_abort_and_the_same_in_other_words_does_not(
    client: Client, kind: Kind, path: str, before: str, after: str, may: bool
) -> None:
    aborted = changed(changed(minimal(kind), path, before), "spec.abort", True)
    created = client.create(kind, aborted).object
    meta = created["metadata"]
    again = changed(changed(created, path, after), "spec.abort", False)
    try:
        if may:
            client.update(kind, again, dry_run=True)
            return
        with pytest.raises(Invalid, match=r"spec.abort.*abort cannot be withdrawn"):
            client.update(kind, again, dry_run=True)
    finally:
        client.delete(kind, meta["name"], meta.get("namespace", ""), uid=meta["uid"])


@pytest.mark.parametrize(("kind", "path", "value", "answer"), UPDATED, ids=ids(UPDATED))
def test_a_bad_change_is_refused_by_name(
    client: Client, kind: Kind, path: str, value: Any, answer: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        update(client, kind, path, value)
    assert re.search(answer, refusal.value.message), refusal.value.message


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        (UC, "spec.retry", 3),
        (UC, "spec.paused", False),
        (MP, "spec.version", "v1.36.4"),
        (NR, "spec.version", "v1.37.0"),
        (WM, "spec.target", "v1.37.0"),
        (QS, "spec.image", "registry.example/minio:RELEASE.2025-10-15T17-29-55Z"),
        (AT, "spec.version", None),
        (OC, "spec.priority", 7),
    ],
)
def test_what_may_change_does(client: Client, kind: Kind, path: str, value: Any) -> None:
    assert update(client, kind, path, value)


@pytest.mark.parametrize(
    ("path", "value", "answer"),
    [
        ("spec.version", "v1.37.0", r"spec.version.*version cannot be changed once the first node was begun"),
        ("spec.version", None, r"spec.version.*version cannot be changed once the first node was begun"),
        (
            "spec.software",
            [{"name": "containerd", "version": "2.1.4"}],
            r"spec.software.*software cannot be changed once the first node was begun",
        ),
        ("spec.via", ["v1.35.7"], r"spec.via.*via cannot be changed once the first node was begun"),
        ("spec.paused", False, ""),
    ],
)
def test_what_nodes_get_is_fixed_once_the_first_was_begun(
    client: Client, path: str, value: Any, answer: str
) -> None:
    created = client.create(NR, full(NR)).object
    begun = client.update(NR, {**created, "status": full(NR)["status"]}, "status").object
    try:
        if not answer:
            client.update(NR, changed(begun, path, value), dry_run=True)
            return
        with pytest.raises(Invalid) as refusal:
            client.update(NR, changed(begun, path, value), dry_run=True)
    finally:
        client.delete(NR, begun["metadata"]["name"], uid=begun["metadata"]["uid"])
    assert re.search(answer, refusal.value.message), refusal.value.message


def test_an_aborted_upgrade_can_be_followed_by_another(client: Client) -> None:
    after = {**full(UC)["spec"], "abort": False, "desired": {"version": "4.20.2"}}
    assert update(client, UC, "spec", after)["spec"]["abort"] is False


def test_an_aborted_migration_can_be_followed_by_another(client: Client) -> None:
    after = {**full(WM)["spec"], "abort": False, "target": "v1.37.0"}
    assert update(client, WM, "spec", after)["spec"]["abort"] is False


@pytest.mark.parametrize("kind", api.TYPES, ids=str)
def test_a_misspelt_field_is_named_when_asked_strictly_and_dropped_otherwise(
    client: Client, kind: Kind
) -> None:
    sent = changed(minimal(kind), "spec.pausd", True)
    path, body = kind.path(sent["metadata"].get("namespace", "")), json.dumps(sent).encode()
    with pytest.raises(ApiError, match=r'unknown field "spec.pausd"'):
        client.raw("POST", path, query=[("fieldValidation", "Strict"), ("dryRun", "All")], body=body)
    kept = client.create(kind, sent, dry_run=True).object
    assert "pausd" not in kept["spec"]


@pytest.mark.parametrize("kind", api.TYPES, ids=str)
def test_a_status_is_checked_too(client: Client, kind: Kind) -> None:
    created = client.create(kind, minimal(kind)).object
    meta = created["metadata"]
    bad = {"conditions": [{"type": "Ready", "status": "Maybe", "reason": "not a word", "message": ""}]}
    try:
        with pytest.raises(Invalid) as refusal:
            client.update(kind, {**created, "status": bad}, "status", dry_run=True)
    finally:
        client.delete(kind, meta["name"], meta.get("namespace", ""), uid=meta["uid"])
    for field in ("status", "reason", "lastTransitionTime"):
        assert f"status.conditions[0].{field}" in refusal.value.message


def test_every_rule_of_ours_is_seen_to_refuse() -> None:
    """None is there for show: a test of this file expects at least its first words."""
    told = Path(__file__).read_text()
    assert {one for one in messages_of_rules() if " ".join(one.split()[:4]) not in told} == set()


def messages_of_rules() -> set[str]:
    return {
        message
        for manifest in crd.manifests()
        for message in rules_below(manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    }


def rules_below(schema: dict[str, Any]) -> list[str]:
    own = [rule["message"] for rule in schema.get("x-kubernetes-validations", ())]
    below = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return own + [message for one in below for message in rules_below(one)]
