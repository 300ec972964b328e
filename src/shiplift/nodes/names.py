"""The names by which the parts of this layer know each other's objects; marks that other layers read are in
`api.marks`."""

from __future__ import annotations

from shiplift.engine.api_servers import API_SERVER

KUBEADM, KUBELET, KUBECTL = "kubeadm", "kubelet", "kubectl"
KUBERNETES = (KUBEADM, KUBELET, KUBECTL)
"""The software that a version of Kubernetes stands for."""
CONTROL_PLANE = (API_SERVER, "kube-controller-manager", "kube-scheduler")
"""What the agent of a control-plane node tells of besides packages, each version as it is written there."""
FINALIZER = "shiplift.dev/undo"
"""On a NodeRollout for as long as a node may carry something of it."""
CLAIMS = "shiplift-control-plane"
"""The object of the operator's namespace whose annotation holds the claims on the control plane."""
HOOK_LABEL = "shiplift.dev/rollout-uid"
"""On the Jobs of hooks: whose they are."""
HOOK_NODE, HOOK_ROLLOUT = "SHIPLIFT_NODE", "SHIPLIFT_ROLLOUT"
"""Variables in every container of a hook's Job: what it runs for."""
NODE_LEASES = "kube-node-lease"
"""The namespace in which kubelets renew the Leases of their nodes."""
CONTROLLERS, CONTROLLERS_SPACE = "kube-controller-manager", "kube-system"
"""The Lease that the leading kube-controller-manager renews every two seconds. While nobody leads, pods that
are evicted are not replaced, and Services still lead to them when they are gone."""


NOTICED_WITHIN = 60
"""Seconds that a cordon may take to be noticed: another controller manager leads within 20, and has begun to
work within 10 more."""


def controllers_after(uid: str) -> str:
    """What is seen of that Lease after that node was changed is kept under this."""
    return f"{CONTROLLERS} {uid}"


ROLLOUT_WORDS = frozenset({"rollout", "rollouts", "noderollout", "noderollouts", "nr"})
"""What people type for a NodeRollout."""
