"""What this layer leaves on a machine, and what it looks for there."""

from __future__ import annotations

import re

FOLDER = "/var/lib/shiplift/bootstrap"
"""Mark and journal of a machine; only root reads it."""
PACKAGES = ("kubelet", "kubeadm", "kubectl")
"""What every machine gets in the version of its pool, unless the pool's software says another."""
AGENT = "shiplift-agent"
"""The package of the agent: a machine that is taken gets that of this shiplift."""
KUBEADM_GROUP = "kubeadm.k8s.io/v1beta4"
LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
"""The key of a label or taint, as Kubernetes takes it."""
AUTHORITY = "/etc/kubernetes/pki/ca.crt"
"""The certificate of the cluster's CA."""
ADMIN = "/etc/kubernetes/admin.conf"


def admission(machine: str) -> str:
    """What the commands by which a control plane lets a machine join are for."""
    return f"admit-{machine.replace('.', '-')}"
