"""The bounds of our user on a real API server: RBAC lets it patch whole workloads, admission tolerations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shiplift.facts.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NODE,
    POD,
    QUORUM_SERVICE,
    REPLICA_SET,
    STATEFUL_SET,
    Kind,
)
from shiplift.kube import bounds
from shiplift.kube.client import Client, PatchType
from shiplift.kube.credentials import load
from shiplift.kube.errors import Forbidden
from shiplift.kube.manifests import kind_of
from shiplift.kube.rbac import binding, role, rule
from shiplift.local.cluster import Cluster
from tests.kube import operator_identity
from tests.until import until

Json = dict[str, Any]
RIGHTS = [
    {
        "apiGroups": [""],
        "resources": ["pods", "pods/ephemeralcontainers", "podtemplates", "replicationcontrollers"],
        "verbs": ["get", "patch"],
    },
    {
        "apiGroups": ["apps"],
        "resources": ["daemonsets", "deployments", "replicasets", "statefulsets"],
        "verbs": ["get", "patch"],
    },
    {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get", "patch"]},
    {"apiGroups": ["batch"], "resources": ["jobs", "cronjobs"], "verbs": ["get", "patch"]},
]
CRON_JOB = Kind("CronJob", "cronjobs", "batch")
POD_TEMPLATE = Kind("PodTemplate", "podtemplates")
REPLICATION_CONTROLLER = Kind("ReplicationController", "replicationcontrollers")
POD_SPEC: Json = {
    "containers": [{"name": "main", "image": "none"}],
    "initContainers": [{"name": "first", "image": "none"}],
    "volumes": [{"name": "data", "emptyDir": {}}],
    "schedulerName": "nobody",
}
TEMPLATE: Json = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
WORKLOAD: Json = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
JOB_TEMPLATE: Json = {"metadata": {}, "spec": {**POD_SPEC, "restartPolicy": "Never"}}
OURS = {"key": "shiplift.dev/upgrade", "operator": "Equal", "value": "v1.36.3", "effect": "NoSchedule"}


class Bounded:
    """An account that may patch all of these, within the bounds."""

    def __init__(self, admin: Client, ours: Client, namespace: str) -> None:
        self.admin, self.ours, self.namespace = admin, ours, namespace

    def make(self, kind: Kind, spec: Json) -> str:
        return self.store(kind, {"spec": spec})

    def store(self, kind: Kind, body: Json) -> str:
        made = self.admin.create(kind, {"metadata": {"name": "web"}, **body}, self.namespace)
        return made.object["metadata"]["uid"]

    def patch(
        self, kind: Kind, uid: str, patch: Json, subresource: str = "", *, by: Client | None = None
    ) -> Json:
        who = by or self.ours
        return who.patch(
            kind,
            "web",
            patch,
            self.namespace,
            type=PatchType.STRATEGIC,
            uid=uid,
            subresource=subresource,
        ).object


@pytest.fixture
def bounded(cluster: Cluster, namespace: str, tmp_path: Any) -> Iterator[Bounded]:
    with cluster.client() as admin:
        operator_identity.make_service_account(admin, namespace, RIGHTS)
        user = operator_identity.names(namespace).username
        installed = bounds.manifests(user, f"bounds-{namespace}")
        for one in installed:
            admin.create(kind_of(one), one)
        config = operator_identity.kubeconfig(admin, cluster.kubeconfig, tmp_path / "config", namespace)
        with Client(load(config)) as ours:
            made = Bounded(admin, ours, namespace)
            _wait_in_force(made)
            yield made
        for one in reversed(installed):
            name = one["metadata"]["name"]
            admin.delete(kind_of(one), name, uid=admin.get(kind_of(one), name)["metadata"]["uid"])


def _wait_in_force(bounded: Bounded) -> None:
    body = {
        "metadata": {"name": "probe"},
        "spec": {"containers": POD_SPEC["containers"], "schedulerName": "nobody"},
    }
    uid = bounded.admin.create(POD, body, bounded.namespace).object["metadata"]["uid"]
    image = {"spec": {"containers": [{"name": "main", "image": "other"}]}}

    def refused() -> bool:
        try:
            bounded.ours.patch(
                POD, "probe", image, bounded.namespace, type=PatchType.STRATEGIC, uid=uid, dry_run=True
            )
        except Forbidden:
            return True
        return False

    until(refused)


IN_A_POD_SPEC: dict[str, Json] = {
    "containers": {"containers": [{"name": "main", "image": "evil"}]},
    "initContainers": {"initContainers": [{"name": "first", "image": "evil"}]},
    "serviceAccountName": {"serviceAccountName": "admin"},
    "volumes": {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
    "hostPID": {"hostPID": True},
    "nodeName": {"nodeName": "control-plane"},
    "securityContext": {"securityContext": {"runAsUser": 0}},
}


@pytest.mark.parametrize("field", IN_A_POD_SPEC)
@pytest.mark.parametrize("kind", [DEPLOYMENT, STATEFUL_SET], ids=str)
def test_nothing_of_a_template_but_its_tolerations_may_be_changed(
    bounded: Bounded, kind: Kind, field: str
) -> None:
    uid = bounded.make(kind, WORKLOAD)
    evil = {"spec": {"template": {"spec": {**IN_A_POD_SPEC[field], "tolerations": [OURS]}}}}
    with pytest.raises(Forbidden, match=f"tolerations may be changed and nothing else, not .*{field}"):
        bounded.patch(kind, uid, evil)
    good = {"spec": {"template": {"spec": {"tolerations": [OURS]}}}}
    after = bounded.patch(kind, uid, good)
    assert after["spec"]["template"]["spec"]["tolerations"] == [OURS]
    none_left = [{"op": "remove", "path": "/spec/template/spec/tolerations"}]
    bounded.ours.patch(kind, "web", none_left, bounded.namespace, type=PatchType.JSON, uid=uid)
    bounded.patch(kind, uid, evil, by=bounded.admin)


MAY_SWAP = rule(QUORUM_SERVICE.group, [QUORUM_SERVICE.plural], [bounds.SWAP])


def let_swap(bounded: Bounded) -> None:
    """As an administrator does it, for one namespace."""
    granted = role("swap", [MAY_SWAP], bounded.namespace)
    for one in (granted, binding(granted, operator_identity.NAME, bounded.namespace)):
        bounded.admin.create(kind_of(one), one, bounded.namespace)


def swapped(**changed: Any) -> Json:
    container = {"name": "main", "image": "new", **changed}
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


def test_images_of_stateful_sets_may_be_changed_where_a_role_lets_them_be_swapped(bounded: Bounded) -> None:
    uid = bounded.make(STATEFUL_SET, WORKLOAD)
    with pytest.raises(Forbidden, match="nothing else, not containers"):
        bounded.patch(STATEFUL_SET, uid, swapped())
    let_swap(bounded)
    after = until(lambda: _let_through(bounded, STATEFUL_SET, uid, swapped()))
    assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "new"


def _let_through(bounded: Bounded, kind: Kind, uid: str, patch: Json) -> Json | None:
    """The API server hears of a new Role a moment later."""
    try:
        return bounded.patch(kind, uid, patch)
    except Forbidden:
        return None


def test_whoever_may_swap_changes_images_and_nothing_else_of_them(bounded: Bounded) -> None:
    uid = bounded.make(STATEFUL_SET, WORKLOAD)
    let_swap(bounded)
    until(lambda: _let_through(bounded, STATEFUL_SET, uid, swapped(image="first")))
    for more in (
        {"command": ["evil"]},
        {"env": [{"name": "A", "value": "b"}]},
        {"securityContext": {"privileged": True}},
    ):
        with pytest.raises(Forbidden, match="nothing else, not containers"):
            bounded.patch(STATEFUL_SET, uid, swapped(**more))
    with pytest.raises(Forbidden, match="nothing else, not containers"):
        bounded.patch(STATEFUL_SET, uid, swapped(name="another"))
    with pytest.raises(Forbidden, match="nothing else, not volumes"):
        bounded.patch(STATEFUL_SET, uid, {"spec": {"template": {"spec": IN_A_POD_SPEC["volumes"]}}})
    first = {"spec": {"template": {"spec": {"initContainers": [{"name": "first", "image": "evil"}]}}}}
    with pytest.raises(Forbidden, match="nothing else, not initContainers"):
        bounded.patch(STATEFUL_SET, uid, first)


def test_whoever_may_swap_changes_images_of_stateful_sets_alone(bounded: Bounded) -> None:
    let_swap(bounded)
    uid = bounded.make(STATEFUL_SET, WORKLOAD)
    until(lambda: _let_through(bounded, STATEFUL_SET, uid, swapped()))
    uid = bounded.make(DEPLOYMENT, WORKLOAD)
    with pytest.raises(Forbidden, match="nothing else, not containers"):
        bounded.patch(DEPLOYMENT, uid, swapped())


@pytest.mark.parametrize("key", ["labels", "annotations"])
def test_what_gives_pods_sidecars_and_roles_may_not_be_changed(bounded: Bounded, key: str) -> None:
    uid = bounded.make(DEPLOYMENT, WORKLOAD)
    with pytest.raises(Forbidden, match="nothing else, not metadata"):
        bounded.patch(DEPLOYMENT, uid, {"spec": {"template": {"metadata": {key: {"role": "admin"}}}}})


def test_of_a_pod_its_image_stays_and_tolerations_and_annotations_do_not(bounded: Bounded) -> None:
    uid = bounded.make(POD, POD_SPEC)
    for field, name in (("containers", "main"), ("initContainers", "first")):
        with pytest.raises(Forbidden, match=f"nothing else, not {field}"):
            bounded.patch(POD, uid, {"spec": {field: [{"name": name, "image": "evil"}]}})
    debugger = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "evil"}]}}
    with pytest.raises(Forbidden, match="nothing else, not ephemeralContainers"):
        bounded.patch(POD, uid, debugger, "ephemeralcontainers")
    have = bounded.admin.get(POD, "web", bounded.namespace)["spec"].get("tolerations", [])
    bounded.patch(POD, uid, {"spec": {"tolerations": [*have, OURS]}})
    cost = {"controller.kubernetes.io/pod-deletion-cost": "-1"}
    bounded.patch(POD, uid, {"metadata": {"annotations": cost}})


@pytest.mark.parametrize(
    ("kind", "body", "where"),
    [
        (JOB, {"spec": {"template": JOB_TEMPLATE, "suspend": True}}, "spec.template"),
        (
            CRON_JOB,
            {"spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}},
            "spec.jobTemplate.spec.template",
        ),
        (DAEMON_SET, {"spec": WORKLOAD}, "spec.template"),
        (REPLICA_SET, {"spec": WORKLOAD | {"replicas": 0}}, "spec.template"),
        (REPLICATION_CONTROLLER, {"spec": {"replicas": 0, "template": TEMPLATE}}, "spec.template"),
        (POD_TEMPLATE, {"template": TEMPLATE}, "template"),
    ],
    ids=["Job", "CronJob", "DaemonSet", "ReplicaSet", "ReplicationController", "PodTemplate"],
)
def test_other_kinds_with_templates_are_bounded_too(
    bounded: Bounded, kind: Kind, body: Json, where: str
) -> None:
    """Should somebody grant them. Of a Job that is suspended the server itself lets this be changed."""
    uid = bounded.store(kind, body)
    change: Json = {"spec": {"nodeSelector": {"role": "control-plane"}}}
    for key in reversed(where.split(".")):
        change = {key: change}
    with pytest.raises(Forbidden, match="nothing else, not nodeSelector"):
        bounded.patch(kind, uid, change)
    bounded.patch(kind, uid, change, by=bounded.admin)


def test_nothing_may_be_taken_away_either(bounded: Bounded) -> None:
    uid = bounded.make(DEPLOYMENT, WORKLOAD)
    path = "/spec/template/spec/initContainers"
    with pytest.raises(Forbidden, match="nothing else, not initContainers"):
        bounded.ours.patch(
            DEPLOYMENT,
            "web",
            [{"op": "remove", "path": path}],
            bounded.namespace,
            type=PatchType.JSON,
            uid=uid,
        )


def test_while_it_cannot_be_asked_nothing_is_let_through() -> None:
    printed = bounds.manifests("someone")
    for policy, bound in zip(printed[::2], printed[1::2], strict=True):
        assert policy["spec"]["failurePolicy"] == "Fail"
        assert bound["spec"]["validationActions"] == ["Deny"]
        assert bound["spec"]["policyName"] == policy["metadata"]["name"] == bound["metadata"]["name"]


SIMULATED = {"annotations": {"kwok.x-k8s.io/node": "fake"}}
OF_POOL = {"labels": {"machines.shiplift.dev/pool": "burst"}}


def makes(client: Client, name: str, about: Json) -> str:
    """How that node is refused; empty where it is not. Nothing is made."""
    try:
        client.create(NODE, {"metadata": {"name": name, **about}}, dry_run=True)
    except Forbidden as error:
        return error.message
    return ""


@pytest.fixture
def makes_nodes(bounded: Bounded) -> Iterator[None]:
    """The account may make nodes: a right of the whole cluster."""
    named = {"metadata": {"name": f"makes-nodes-{bounded.namespace}"}}
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "create"]}]
    role = {"apiGroup": CLUSTER_ROLE.group, "kind": "ClusterRole", **named["metadata"]}
    subject = {"kind": "ServiceAccount", "name": operator_identity.NAME, "namespace": bounded.namespace}
    made = {
        CLUSTER_ROLE: bounded.admin.create(CLUSTER_ROLE, {**named, "rules": rules}),
        CLUSTER_ROLE_BINDING: bounded.admin.create(
            CLUSTER_ROLE_BINDING, {**named, "roleRef": role, "subjects": [subject]}
        ),
    }
    yield
    for kind, one in made.items():
        meta = one.object["metadata"]
        bounded.admin.delete(kind, meta["name"], uid=meta["uid"])


@pytest.mark.usefixtures("makes_nodes")
def test_of_nodes_only_simulated_ones_of_a_pool_may_be_made(bounded: Bounded) -> None:
    until(lambda: "not a simulated one" in makes(bounded.ours, "cp-9", {}))
    for about in ({}, SIMULATED, OF_POOL, {**OF_POOL, "annotations": {"kwok.x-k8s.io/node": "real"}}):
        assert "node cp-9 is not a simulated one of a pool" in makes(bounded.ours, "cp-9", about)
    assert makes(bounded.ours, "burst-0", {**SIMULATED, **OF_POOL}) == ""
    assert makes(bounded.admin, "cp-9", {}) == "", "others never meet it"


def test_replicas_are_scaled_within_the_bounds(bounded: Bounded) -> None:
    uid = bounded.make(DEPLOYMENT, WORKLOAD)
    scaled = bounded.ours.patch(
        DEPLOYMENT, "web", {"spec": {"replicas": 3}}, bounded.namespace, uid=uid, subresource="scale"
    )
    assert scaled.object["kind"] == "Scale"
    assert bounded.admin.get(DEPLOYMENT, "web", bounded.namespace)["spec"]["replicas"] == 3
