"""Others who know nothing of shiplift, or think nothing of it: each does one thing half-way, and is done.

Somebody undoes a part of shiplift itself, as GitOps or a tidy person may; somebody drains a node; the
disruption controller makes its one known mistake.
"""

from __future__ import annotations

import time
from typing import Protocol

from shiplift.facts.kinds import MUTATING_ADMISSION_POLICY_BINDING
from shiplift.kube.client import Client
from shiplift.kube.fence import EPOCH, HOME, POD
from shiplift.workloads import admission
from shiplift.workloads.model import Reason
from tests.crash.facts import Json
from tests.crash.orders import SPACE
from tests.crash.recorder import State
from tests.crash.workloads import facts
from tests.crash.workloads.drainer import Drains
from tests.crash.workloads.mistaken import MistakesAPod
from tests.crash.workloads.scenarios import Bystander, Scenario

_FENCE = "shiplift-fence"
_GONE_FOR, _GONE_AT_MOST = 1.5, 12.0
"""Seconds for which the binding is away: until it is said that nothing moves, if it ever is. Without a brake,
pods would be moved to and fro meanwhile, more often than any run can excuse."""


class Meddler(Protocol):
    """Acts when it is told that half of the way is done."""

    done: bool
    complaints: list[str]
    """What it could do that it should not have been able to."""

    def play(self, state: State, *, half_way: bool) -> None: ...


class Nobody:
    """Does nothing."""

    def __init__(self) -> None:
        self.done = True
        self.complaints: list[str] = []

    def play(self, state: State, *, half_way: bool) -> None: ...


class StripsTheFence:
    """Takes the epoch off its home."""

    def __init__(self, admin: Client) -> None:
        self._admin = admin
        self.done = False
        self.complaints: list[str] = []

    def play(self, state: State, *, half_way: bool) -> None:
        if half_way:
            uid = self._admin.get(HOME, _FENCE, SPACE)["metadata"]["uid"]
            bare = {"metadata": {"annotations": {EPOCH: None, POD: None}}}
            self._admin.patch(HOME, _FENCE, bare, SPACE, uid=uid)
            self.done = True


class RemovesTheBinding:
    """Of the policy that steers pods; and puts it back a little later."""

    def __init__(self, admin: Client) -> None:
        self._admin = admin
        self._gone_since = 0.0
        self.done = False
        self.complaints: list[str] = []

    def play(self, state: State, *, half_way: bool) -> None:
        if self._gone_since and self._is_time(facts.migration(state)):
            self._put_back()
            self.done = True
        elif half_way and not self._gone_since:
            self._remove()
            self._gone_since = time.monotonic()

    def _is_time(self, migration: Json) -> bool:
        gone = time.monotonic() - self._gone_since
        return gone > (_GONE_FOR if _is_noticed(migration.get("status", {})) else _GONE_AT_MOST)

    def _remove(self) -> None:
        kind, name = MUTATING_ADMISSION_POLICY_BINDING, admission.PODS_POLICY
        self._admin.delete(kind, name, uid=self._admin.get(kind, name)["metadata"]["uid"])

    def _put_back(self) -> None:
        kind = MUTATING_ADMISSION_POLICY_BINDING
        wanted = (kind.kind, admission.PODS_POLICY)
        for manifest in admission.manifests():
            if (manifest["kind"], manifest["metadata"]["name"]) == wanted:
                self._admin.create(kind, manifest)


def _is_noticed(status: Json) -> bool:
    """Whether it is told that nothing moves, or that a workload waits until pods are steered again."""
    waits = any(one.get("reason") == Reason.NOT_IN_FORCE for one in status.get("workloads", ()))
    return waits or str(status.get("message", "")).startswith("nothing moves")


def meddler(admin: Client, scenario: Scenario) -> Meddler:
    """Who meddles in that scenario."""
    match scenario.bystander:
        case Bystander.NOBODY:
            return Nobody()
        case Bystander.STRIPS_THE_FENCE:
            return StripsTheFence(admin)
        case Bystander.REMOVES_THE_BINDING:
            return RemovesTheBinding(admin)
        case Bystander.DRAINS:
            return Drains(admin, scenario)
        case Bystander.MISTAKES_A_POD:
            return MistakesAPod(admin, scenario.workloads[0])
