"""What stolen credentials of a node can do to us, and what they cannot: on a real API server, with Node
authorisation, NodeRestriction and our policy."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.agent.protocol import AGENT, CHANGES_ALLOWED, OUTCOME, READY, current_key, desired_key
from shiplift.api import crd
from shiplift.api.marks import CORDONED_BY, OFF_TARGET_LABEL, QUARANTINED_BY, SKIP_ROLLOUT, TARGET_LABEL
from shiplift.facts.kinds import LEASE, NODE, NODE_ROLLOUT
from shiplift.kube import node_trust
from shiplift.kube.client import Client
from shiplift.kube.credentials import Impersonation
from shiplift.kube.errors import Forbidden, NotFound
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from shiplift.local.testing import API_AND_ETCD
from tests.until import until

Json = dict[str, Any]
ORDER = {CHANGES_ALLOWED: "x", desired_key("kubelet"): "1.36.3", SKIP_ROLLOUT: "true", "example.org/x": "y"}
LEASES = "kube-node-lease"


class Thief:
    """Whoever has the credentials of one node; there is another."""

    def __init__(self, admin: Client, **node: Any) -> None:
        self.admin = admin
        self.name, self.other = (f"node-{uuid.uuid4().hex[:8]}" for _ in range(2))
        self.client = admin.acting_as(Impersonation(f"system:node:{self.name}", groups=("system:nodes",)))
        self.uids = {self.name: self._make(self.name, **node), self.other: self._make(self.other)}

    def _make(self, name: str, *, cordoned: bool = False, **metadata: Any) -> str:
        made = {"metadata": {"name": name, **metadata}, "spec": {"unschedulable": cordoned}}
        self.admin.create(LEASE, {"metadata": {"name": name}, "spec": {"holderIdentity": name}}, LEASES)
        return self.admin.create(NODE, made).object["metadata"]["uid"]

    def patch(self, change: Json, *, of: str = "", subresource: str = "") -> Json:
        name = of or self.name
        return self.client.patch(NODE, name, change, uid=self.uids[name], subresource=subresource).object

    def annotate(self, annotations: Json, **where: str) -> Json:
        return self.patch({"metadata": {"annotations": annotations}}, **where)

    def label(self, labels: Json, **where: str) -> Json:
        return self.patch({"metadata": {"labels": labels}}, **where)

    def cordon(self, yes: bool) -> Json:
        return self.patch({"spec": {"unschedulable": yes}})

    def replace(self, **metadata: Any) -> Json:
        """The whole Node, as an update sends it."""
        live = self.admin.get(NODE, self.name)
        return self.client.update(NODE, live | {"metadata": live["metadata"] | metadata}).object

    def renew(self, name: str) -> Json:
        lease = self.admin.get(LEASE, name, LEASES)
        spec = {"renewTime": "2026-11-16T12:00:00.000000Z"}
        uid = lease["metadata"]["uid"]
        return self.client.patch(LEASE, name, {"spec": spec}, LEASES, uid=uid).object

    def register(self, *, cordoned: bool = False, **metadata: Any) -> Json:
        """Its own Node made anew, as by a kubelet whose Node was deleted."""
        self.admin.delete(NODE, self.name, uid=self.uids[self.name])
        made = {"metadata": {"name": self.name, **metadata}, "spec": {"unschedulable": cordoned}}
        return self.client.create(NODE, made).object


@pytest.fixture(scope="module")
def admin(clusters_folder: Path) -> Iterator[Client]:
    cluster = Cluster(f"trust-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(API_AND_ETCD)
    try:
        with cluster.client() as client:
            definition = crd.manifest(NODE_ROLLOUT)
            client.create(kind_of(definition), definition)
            install(client)
            until(lambda: served(client))
            yield client
    finally:
        cluster.down()


def install(admin: Client) -> None:
    """The API server goes by a new policy a moment later."""
    for one in node_trust.manifests():
        admin.create(kind_of(one), one)
    thief = Thief(admin)
    until(lambda: refused(lambda: thief.annotate({SKIP_ROLLOUT: uuid.uuid4().hex})))


def refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except Forbidden:
        return True
    return False


def served(admin: Client) -> bool:
    try:
        return list(admin.list(NODE_ROLLOUT)) == []
    except NotFound:
        return False


CAN: dict[str, Callable[[Thief], object]] = {
    "say what its agent says": lambda it: it.annotate(
        {READY: "false x", OUTCOME: "{}", AGENT: "{}", current_key("kubelet"): "1.36.3"}
    ),
    "take back what its agent said": lambda it: it.annotate({current_key("containerd"): None, READY: None}),
    "say it with its status": lambda it: it.annotate({READY: "false x"}, subresource="status"),
    "report another kubelet": lambda it: it.patch(
        {"status": {"nodeInfo": {"kubeletVersion": "v9.9.9"}}}, subresource="status"
    ),
    "write annotations of others": lambda it: it.annotate({"example.org/x": "z", "myshiplift.dev/x": "y"}),
    "write labels of others": lambda it: it.label({"example.org/x": "z", "myshiplift.dev/x": "y"}),
    "take itself out of service": lambda it: it.cordon(True),
    "renew its own Lease": lambda it: it.renew(it.name),
    "register out of service": lambda it: it.register(cordoned=True),
    "register with what our own policy labels": lambda it: it.register(
        labels={TARGET_LABEL: "v1.36.3", OFF_TARGET_LABEL: "v1.36.3"}
    ),
}


@pytest.mark.parametrize("what", CAN)
def test_a_node_can(admin: Client, what: str) -> None:
    CAN[what](Thief(admin, annotations={current_key("containerd"): "2.1.4"}))


OURS = "credentials of a node may not change annotations"
LABELS = "credentials of a node may not change labels"
CANNOT: dict[str, tuple[Callable[[Thief], object], str]] = {
    "give itself an order": (lambda it: it.annotate({CHANGES_ALLOWED: "{}"}), f"{OURS} {CHANGES_ALLOWED}"),
    "take an order off": (lambda it: it.annotate({CHANGES_ALLOWED: None}), OURS),
    "say what it should have": (lambda it: it.annotate({desired_key("kubelet"): "1"}), OURS),
    "opt out of rollouts": (lambda it: it.annotate({SKIP_ROLLOUT: ""}), OURS),
    "say who cordoned it": (lambda it: it.annotate({CORDONED_BY: "me"}), OURS),
    "do so with its status": (lambda it: it.annotate({CORDONED_BY: "me"}, subresource="status"), OURS),
    "order a simulated failure": (lambda it: it.annotate({"simulated.shiplift.dev/fails": "x"}), OURS),
    "write any annotation of our domain": (lambda it: it.annotate({"shiplift.dev/x": "y"}), OURS),
    "drop our annotations in an update": (lambda it: it.replace(annotations={}), OURS),
    "say that it is on target": (lambda it: it.label({TARGET_LABEL: "v1.36.3"}), LABELS),
    "label itself with its status": (lambda it: it.label({TARGET_LABEL: "v"}, subresource="status"), LABELS),
    "take our label off": (lambda it: it.label({OFF_TARGET_LABEL: None}), LABELS),
    "register with an order": (lambda it: it.register(annotations={CHANGES_ALLOWED: "{}"}), OURS),
    "register with a label of ours": (lambda it: it.register(labels={"local.shiplift.dev/x": "y"}), LABELS),
    "change its taints": (
        lambda it: it.patch({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
        "is not allowed to modify taints",
    ),
    "label itself a control plane": (
        lambda it: it.label({"node-role.kubernetes.io/control-plane": ""}),
        "is not allowed to modify labels",
    ),
    "write on another Node": (lambda it: it.annotate({READY: "false x"}, of=it.other), "is not allowed"),
    "report for another Node": (
        lambda it: it.patch(
            {"status": {"nodeInfo": {"kubeletVersion": "v9.9.9"}}}, of=it.other, subresource="status"
        ),
        "is not allowed",
    ),
    "delete its Node": (lambda it: it.client.delete(NODE, it.name, uid=it.uids[it.name]), "cannot delete"),
    "renew another's Lease": (lambda it: it.renew(it.other), "can only access node lease"),
    "see NodeRollouts": (lambda it: list(it.client.list(NODE_ROLLOUT)), "cannot list"),
    "make NodeRollouts": (
        lambda it: it.client.create(
            NODE_ROLLOUT, {"metadata": {"name": "x"}, "spec": {"version": "v1.36.3"}}
        ),
        "cannot create",
    ),
}


@pytest.mark.parametrize("what", CANNOT)
def test_a_node_cannot(admin: Client, what: str) -> None:
    call, told = CANNOT[what]
    thief = Thief(admin, annotations=ORDER, labels={OFF_TARGET_LABEL: "v1.36.3"})
    before = admin.get(NODE, thief.name)["metadata"]
    with pytest.raises(Forbidden, match=told):
        call(thief)
    if not what.startswith("register"):
        after = admin.get(NODE, thief.name)["metadata"]
        assert (after["annotations"], after["labels"]) == (before["annotations"], before["labels"])


@pytest.mark.parametrize("mark", [CORDONED_BY, QUARANTINED_BY])
def test_the_cordon_of_a_rollout_stays_and_any_other_may_go(admin: Client, mark: str) -> None:
    ours = Thief(admin, cordoned=True, annotations={mark: "to-1-36"})
    with pytest.raises(Forbidden, match="may not take off the cordon of NodeRollout to-1-36"):
        ours.cordon(False)
    assert admin.get(NODE, ours.name)["spec"]["unschedulable"]
    theirs = Thief(admin, cordoned=True)
    assert "unschedulable" not in theirs.cordon(False)["spec"]


def test_the_oldest_server_that_we_support_goes_by_it_too(private_cluster: Callable[..., Cluster]) -> None:
    with private_cluster(Settings(components=API_ONLY, emulate="1.33")).client() as old:
        install(old)
        thief = Thief(old, cordoned=True, annotations={CORDONED_BY: "to-1-36"})
        assert all(
            refused(call)
            for call in (
                lambda: thief.annotate({CHANGES_ALLOWED: "{}"}),
                lambda: thief.label({TARGET_LABEL: "v1.36.3"}),
                lambda: thief.cordon(False),
            )
        )
        thief.annotate({READY: "false x"})


def test_others_are_not_asked(admin: Client) -> None:
    thief = Thief(admin, cordoned=True, annotations={CORDONED_BY: "to-1-36"})
    change = {"metadata": {"annotations": {CORDONED_BY: None}}, "spec": {"unschedulable": False}}
    admin.patch(NODE, thief.name, change, uid=thief.uids[thief.name])


def test_a_node_with_all_that_fits_into_it_can_still_be_written(admin: Client) -> None:
    """The policy fails closed: it must not become too dear where a Node holds as much as it may."""
    many = {f"part-{number:05}.example.org/x": "y" for number in range(7000)}
    thief = Thief(admin, annotations=many)
    thief.annotate({READY: "false x"})


# --- what somebody makes of the policy ---


def in_cluster() -> tuple[Json, Json]:
    policy, binding = node_trust.manifests()
    binding["spec"]["matchResources"] = {"matchPolicy": "Equivalent", "objectSelector": {}}
    return policy, binding


def test_as_installed_it_has_no_weakness_and_gone_it_has() -> None:
    policy, binding = in_cluster()
    assert node_trust.weakness(policy, binding) == ""
    assert node_trust.weakness(None, None) == "ValidatingAdmissionPolicy shiplift-node-trust is gone"
    assert node_trust.weakness(policy, None) == "ValidatingAdmissionPolicyBinding shiplift-node-trust is gone"


@pytest.mark.parametrize("change", [{"failurePolicy": "Ignore"}, {"validations": []}])
def test_a_policy_that_refuses_less_is_weak(change: Json) -> None:
    policy, binding = in_cluster()
    policy["spec"] |= change
    assert "Policy shiplift-node-trust was changed" in node_trust.weakness(policy, binding)


@pytest.mark.parametrize(
    "change",
    [
        {"validationActions": ["Audit"]},
        {"policyName": "other"},
        {"matchResources": {"objectSelector": {"matchLabels": {"a": "b"}}}},
        {"matchResources": {"excludeResourceRules": [{"resources": ["nodes"]}]}},
    ],
)
def test_a_binding_that_binds_less_is_weak(change: Json) -> None:
    policy, binding = in_cluster()
    binding["spec"] |= change
    assert "Binding shiplift-node-trust was changed" in node_trust.weakness(policy, binding)
