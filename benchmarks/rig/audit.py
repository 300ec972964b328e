"""The audit log of a rig: one line for each request of a contender's account, and of nobody else's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from benchmarks.recipe.base import Json
from shiplift.kube.account import Account
from shiplift.kube.fence import service_account
from shiplift.local.private import write_private


class Audit:
    """Of one cluster; the API server has to be started with its flags."""

    def __init__(self, folder: Path, accounts: Iterable[Account]) -> None:
        self._log, self._policy = folder / "audit.log", folder / "audit-policy.json"
        write_private(self._policy, msgspec.json.encode(_policy(accounts)))

    @property
    def flags(self) -> tuple[str, ...]:
        return f"--audit-log-path={self._log}", f"--audit-policy-file={self._policy}"

    def calls(self) -> int:
        """How many requests were made so far."""
        with contextlib.suppress(FileNotFoundError), self._log.open("rb") as lines:
            return sum(1 for _ in lines)
        return 0


def _policy(accounts: Iterable[Account]) -> Json:
    users = [service_account(one.namespace, one.name) for one in accounts]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": [{"level": "Metadata", "users": users}, {"level": "None"}],
    }
