"""What a set of machines may leave behind on this computer."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shiplift.local.machines.inside import KUBELET_SETTINGS
from shiplift.local.machines.network import Network


def traces(network: Network) -> set[str]:
    """Namespaces, links, control groups and mounts that are named after the set with that network."""
    networks = {path.name for path in Path("/run/netns").glob("*")} if Path("/run/netns").exists() else set()
    links = {path.name for path in Path("/sys/class/net").iterdir()}
    groups = {str(path) for path in _groups()}
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    ours = re.compile(rf"\bshiplift-?{network.number}\b")
    return {name for name in networks | links | groups | mounts if ours.search(name)}


def settings_here() -> dict[str, str]:
    """The kernel settings that kubelet would change."""
    return {name: Path("/proc/sys", name).read_text() for name in KUBELET_SETTINGS}


def _groups() -> list[Path]:
    """Those of others come and go meanwhile."""
    found = (Path(one, name) for one, below, _ in os.walk("/sys/fs/cgroup") for name in below)
    return [path for path in found if path.name.startswith("shiplift-")]
