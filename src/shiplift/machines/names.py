"""What this layer leaves on a machine, and what it looks for there."""

from __future__ import annotations

FOLDER = "/var/lib/shiplift/bootstrap"
"""Mark and journal of a machine; only root reads it."""
PACKAGES = ("kubelet", "kubeadm", "kubectl")
"""What every machine gets in the version of its pool, unless the pool's software says another."""
KUBEADM_GROUP = "kubeadm.k8s.io/v1beta4"
ADMIN = "/etc/kubernetes/admin.conf"
