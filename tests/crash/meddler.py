"""Somebody who knows nothing of shiplift and undoes a part of it half-way, as GitOps or a tidy person may."""

from __future__ import annotations

import time

from shiplift.facts.kinds import MUTATING_ADMISSION_POLICY_BINDING
from shiplift.kube.client import Client
from shiplift.kube.fence import EPOCH, HOME, POD
from shiplift.workloads import admission
from tests.crash.operators import SPACE
from tests.crash.scenarios import Bystander

_FENCE = "shiplift-fence"
_GONE_FOR = 1.5
"""Seconds for which the binding is away: without a brake, pods would be moved to and fro meanwhile."""


class Meddler:
    """Acts once, when it is told that half of the way is done."""

    def __init__(self, admin: Client, what: Bystander) -> None:
        self._admin, self._what = admin, what
        self._gone_since = 0.0
        self.done = what is Bystander.NOBODY

    def play(self, *, half_way: bool) -> None:
        if self._what is Bystander.STRIPS_THE_FENCE and half_way:
            self._strip()
            self.done = True
        elif self._gone_since and time.monotonic() > self._gone_since + _GONE_FOR:
            self._put_back()
            self.done = True
        elif self._what is Bystander.REMOVES_THE_BINDING and half_way and not self._gone_since:
            self._remove()
            self._gone_since = time.monotonic()

    def _strip(self) -> None:
        uid = self._admin.get(HOME, _FENCE, SPACE)["metadata"]["uid"]
        bare = {"metadata": {"annotations": {EPOCH: None, POD: None}}}
        self._admin.patch(HOME, _FENCE, bare, SPACE, uid=uid)

    def _remove(self) -> None:
        kind, name = MUTATING_ADMISSION_POLICY_BINDING, admission.PODS_POLICY
        self._admin.delete(kind, name, uid=self._admin.get(kind, name)["metadata"]["uid"])

    def _put_back(self) -> None:
        kind = MUTATING_ADMISSION_POLICY_BINDING
        wanted = (kind.kind, admission.PODS_POLICY)
        for manifest in admission.manifests():
            if (manifest["kind"], manifest["metadata"]["name"]) == wanted:
                self._admin.create(kind, manifest)
