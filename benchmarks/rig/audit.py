"""The audit log of a rig: one line for each request of a contender's account, and of nobody else's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from benchmarks.recipe.base import Json
from shiplift.kube.account import Account
from shiplift.kube.fence import service_account
from shiplift.local.private import write_private


class Request(msgspec.Struct, frozen=True):
    """What one account asked for, and how that was answered."""

    user: str
    verb: str
    resource: str
    """With its subresource, as `pods/eviction`; empty where it was about none."""
    namespace: str
    name: str
    code: int
    at: float
    """When it came, in seconds since 1970."""


class _Of(msgspec.Struct, frozen=True):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def path(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class _User(msgspec.Struct, frozen=True):
    username: str


class _Status(msgspec.Struct, frozen=True):
    code: int = 0


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    user: _User
    verb: str
    request_received_timestamp: datetime
    object_ref: _Of = _Of()
    response_status: _Status = _Status()


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

    def requests(self, account: Account) -> Iterator[Request]:
        """What an account asked for so far, in the order in which it was answered."""
        user, decoder = service_account(account.namespace, account.name), msgspec.json.Decoder(_Line)
        with contextlib.suppress(FileNotFoundError), self._log.open("rb") as lines:
            for line in lines:
                found = decoder.decode(line)
                if found.user.username == user:
                    yield _request(found)


def _request(line: _Line) -> Request:
    of = line.object_ref
    return Request(
        user=line.user.username,
        verb=line.verb,
        resource=of.path,
        namespace=of.namespace,
        name=of.name,
        code=line.response_status.code,
        at=line.request_received_timestamp.timestamp(),
    )


def _policy(accounts: Iterable[Account]) -> Json:
    users = [service_account(one.namespace, one.name) for one in accounts]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": [{"level": "Metadata", "users": users}, {"level": "None"}],
    }
