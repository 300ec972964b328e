"""kubeadm on this machine: the upgrade of its control plane, or of its kubelet's configuration.

kubeadm can be run again after it was interrupted anywhere, and then comes to the same end; what it has
replaced it puts back itself where it fails. Its checks run unless the machine's settings say otherwise.
"""

from __future__ import annotations

import re
import time

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import commands
from shiplift.agent.settings import Settings

_SECONDS = 3600.0
"""kubeadm has time-outs of its own, minutes for each component; this is for one that hangs."""
_TRIES, _PAUSE_SECONDS = 4, 15.0
_PASSING = ("[ERROR CreateJob]", "[ERROR ControlPlaneNodesReady]")
"""Checks of the cluster's health, before anything is changed: of one that has just started they fail for a
while."""
_VERSION = re.compile(r"v\d{1,3}\.\d{1,3}\.\d{1,5}(-[0-9A-Za-z.]{1,40})?")


def apply(version: str, settings: Settings) -> None:
    """Upgrade the control plane of the cluster, and the part of it that this machine runs."""
    check_version(version)
    _run(["kubeadm", "upgrade", "apply", version, "--yes"], settings)


def node(settings: Settings) -> None:
    """Upgrade what this machine runs to what the cluster says."""
    _run(["kubeadm", "upgrade", "node"], settings)


def check_version(version: str) -> None:
    if not _VERSION.fullmatch(version):
        raise AgentError(f"{version[:64]!r} is no version of Kubernetes, as v1.36.3 is one")


def _run(argv: list[str], settings: Settings) -> None:
    checks = settings.ignore_preflight_errors
    ignored = [f"--ignore-preflight-errors={','.join(checks)}"] if checks else []
    for left in reversed(range(_TRIES)):
        try:
            commands.run([*argv, *ignored], seconds=_SECONDS, told=True)
            return
        except AgentError as error:
            if not left or not any(one in str(error) for one in _PASSING):
                raise
        time.sleep(_PAUSE_SECONDS)
