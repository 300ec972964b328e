"""Real machines on this computer: Debian with systemd, sshd, apt and containerd, in namespaces."""

from __future__ import annotations

from shiplift.local.machines.host import Host
from shiplift.local.machines.machines import Machines, names
from shiplift.local.machines.needs import refusal

__all__ = ["Host", "Machines", "names", "refusal"]
