"""What we may do, as the API server says: so that a right that is missing is named before it is needed.

Everybody may ask this about themselves. The answer is kept for a while: it is asked for with every look.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable

import msgspec

from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.rbac import Rule

_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
KEPT_SECONDS, KEPT_MISSING_SECONDS = 30.0, 2.0
"""How long an answer counts: somebody waits for a right that is missing, and an outage ends."""


class Rights:
    """Which of these rights we lack, each as `verb resource.group`; asked across all namespaces."""

    def __init__(
        self, client: Client, rules: Iterable[Rule], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._clock = client, clock
        self._rules = tuple(rules)
        self._missing: tuple[str, ...] = ()
        self._next = float("-inf")

    def missing(self) -> tuple[str, ...]:
        """Where nobody can be asked now, as it was last answered: a write that is refused says it too."""
        if self._clock() >= self._next:
            kept = KEPT_MISSING_SECONDS
            with contextlib.suppress(KubeError):
                self._missing = tuple(self._ask())
                kept = KEPT_MISSING_SECONDS if self._missing else KEPT_SECONDS
            self._next = self._clock() + kept
        return self._missing

    def _ask(self) -> list[str]:
        wanted = (
            (verb, group, resource)
            for rule in self._rules
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        )
        return [_said(*one) for one in wanted if not self._allowed(*one)]

    def _allowed(self, verb: str, group: str, resource: str) -> bool:
        return allowed(self._client, verb, group, resource)


def allowed(client: Client, verb: str, group: str, resource: str, namespace: str = "") -> bool:
    """Whether we have a right now: in that namespace, or across all of them."""
    plural, _, subresource = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": plural, "subresource": subresource}
    where = {"namespace": namespace} if namespace else {}
    body = msgspec.json.encode({"spec": {"resourceAttributes": asked | where}})
    return client.ask("POST", _REVIEW, _Review, body=body).status.allowed


def _said(verb: str, group: str, resource: str) -> str:
    return f"{verb} {resource}.{group}" if group else f"{verb} {resource}"


class _Status(msgspec.Struct):
    allowed: bool


class _Review(msgspec.Struct):
    status: _Status
