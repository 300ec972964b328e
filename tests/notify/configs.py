"""UpgradeConfigs as the conductor tells of them, said in a few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shiplift.api.upgrade import UpgradeConfig

Json = dict[str, Any]
START = datetime(2026, 11, 1, 12, tzinfo=UTC)
WEBHOOK: Json = {"name": "chat", "url": "https://chat.example/hook"}
ALERTS: Json = {"name": "alerts", "type": "Alertmanager", "url": "https://alerts.example"}


def at(seconds: int = 0) -> str:
    return f"{START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def condition(kind: str, seconds: int = 0, *, holds: bool = True, reason: str = "Why") -> Json:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": "in words",
        "lastTransitionTime": at(seconds),
    }


def running(*conditions: Json, seconds: int = 0, **more: Any) -> Json:
    """The status of an upgrade that started so many seconds after the first."""
    history = [{"version": "v1.36.3", "phase": "Upgrading", "startTime": at(seconds)}]
    told = {"phase": "Upgrading", "targetVersion": "v1.36.3", "startTime": at(seconds), "history": history}
    return told | {"conditions": list(conditions)} | more


def over(seconds: int = 100, phase: str = "Upgraded") -> Json:
    past = {"version": "v1.36.3", "phase": phase, "startTime": at(), "completeTime": at(seconds)}
    return {"phase": phase, "startTime": at(), "history": [past], "targetVersion": None}


def config(status: Json | None = None, *notify: Json, uid: str = "u") -> UpgradeConfig:
    body = {
        "metadata": {"name": "cluster", "uid": uid},
        "spec": {"desired": {"version": "v1.36.3"}, "notify": list(notify)},
        "status": status or {},
    }
    return msgspec.convert(body, UpgradeConfig)
