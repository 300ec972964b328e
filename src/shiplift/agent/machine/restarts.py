"""Services are restarted when the package that they run from was changed, in an order that holds: containerd
before the kubelet that speaks to it. The kubelet's package restarts nothing itself, others may have.

A kubelet that does not stay up after its restart makes the change a failed one. One that was never joined to
a cluster has nothing to run from and is left alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from pathlib import Path

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import services, versions
from shiplift.agent.machine.versions import CONTAINERD, KUBELET
from shiplift.agent.protocol import fits

UNITS = {CONTAINERD: "containerd", "containerd.io": "containerd", KUBELET: KUBELET}
"""Packages whose services we know, in the order of their restarts."""
KUBELET_CONFIG = Path("/var/lib/kubelet/config.yaml")
_UP_SECONDS, _STEADY_SECONDS = 60.0, 3.0
_log = logging.getLogger(__name__)


def restart_of(packages: Collection[str]) -> None:
    """The services of these packages, which were changed."""
    there = versions.installed(UNITS)
    for package, unit in UNITS.items():
        if package in packages and package in there and _runs(unit):
            _log.info("restarting %s: its package is %s", unit, there[package])
            services.restart(unit)
            if unit == KUBELET:
                _wait_for_kubelet(there[KUBELET])


def _runs(unit: str) -> bool:
    """Whether it is a service here, and has something to run from."""
    return services.unit(unit).loaded and (unit != KUBELET or KUBELET_CONFIG.exists())


def _wait_for_kubelet(version: str) -> None:
    """Until it has the version of its package and stays up."""
    deadline = time.monotonic() + _UP_SECONDS
    while time.monotonic() < deadline:
        pid = services.unit(KUBELET).pid
        if pid and fits(versions.running_kubelet().removeprefix("v"), version):
            time.sleep(_STEADY_SECONDS)
            if services.unit(KUBELET).pid == pid:
                return
        time.sleep(0.5)
    raise AgentError(f"kubelet {version} does not stay up after its restart")
