"""What a machine's administrator may say to its agent: a small file, and where things are on every machine.

A setting that is not known is refused by name: one that was misspelt would otherwise be overlooked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from shiplift.agent.errors import SettingsError
from shiplift.agent.machine import disk

FILE = Path("/etc/shiplift/agent.json")
STATE = Path("/var/lib/shiplift/agent")
"""The journal, copies of etcd's data: nobody else may look into it."""
CACHE = Path("/var/cache/shiplift-agent")
"""Lists and archives of packages, which apt fetches as a user of its own."""
FIRST = Path("/var/lib/shiplift")
"""Orders and answers before there is a cluster."""
KUBECONFIG = Path("/etc/kubernetes/kubelet.conf")
_MOST = 1 << 16
_CHECK = re.compile(r"[A-Za-z0-9.-]{1,128}")


@dataclass(frozen=True)
class Settings:
    """Of one machine."""

    ignore_preflight_errors: tuple[str, ...] = ()
    """Checks of kubeadm whose failure is only a warning here, as `SystemVerification`."""


def load(path: Path = FILE) -> Settings:
    """What the file says; where there is none, nothing was said."""
    content = disk.read(path, _MOST)
    if content is None:
        return Settings()
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise SettingsError(f"{path} is no JSON") from None
    return _settings(path, _object(path, "it", body))


def _settings(path: Path, body: Mapping[str, Any]) -> Settings:
    _known(path, "it", body, {"kubeadm"})
    kubeadm = _object(path, "kubeadm", body.get("kubeadm", {}))
    _known(path, "kubeadm", kubeadm, {"ignorePreflightErrors"})
    checks = kubeadm.get("ignorePreflightErrors", [])
    if not isinstance(checks, list) or not all(map(_is_check, cast("list[object]", checks))):
        raise SettingsError(f"{path}: kubeadm.ignorePreflightErrors has to be a list of names of checks")
    return Settings(tuple(map(str, cast("list[object]", checks))))


def _is_check(value: object) -> bool:
    return isinstance(value, str) and _CHECK.fullmatch(value) is not None


def _object(path: Path, name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(f"{path}: {name} has to be a JSON object")
    return cast("Mapping[str, Any]", value)


def _known(path: Path, name: str, body: Mapping[str, Any], keys: set[str]) -> None:
    for key in body:
        if key not in keys:
            raise SettingsError(f"{path}: {name} has {str(key)[:64]!r}, which is no setting of an agent")
