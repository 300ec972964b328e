"""Whether an operator is there: its Lease tells, and no two computers' clocks have to agree.

An operator renews its Lease every two seconds. Once we have seen that, silence counts by our own clock. At
the first look only the time in the Lease is known, by somebody else's clock: where that is old, but not very
old, or is still to come, we look again for as long as an operator needs to renew it.

Anybody may make a Lease of that name in a namespace of their own, so only one is asked: that of the namespace
in which the operator is installed. Its account's ClusterRoleBinding has it, which only administrators write.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shiplift.view.values import PATIENCE, Heard

if TYPE_CHECKING:
    from shiplift.kube.client import Client

NAME = "shiplift"
"""Of the Lease, the account and its ClusterRoleBinding, as the manifests have them."""
_RENEWED_WITHIN = 4.0
"""Seconds in which an operator that runs has renewed its Lease."""
_CLOCKS_DIFFER = 300
"""Seconds: what is overdue for longer than this is old by any clock."""
_LOOK = 0.5
Lease = dict[str, Any]


class Ear:
    """Hears of the operator, look by look."""

    def __init__(
        self,
        client: Client,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._clock, self._sleep = client, clock, sleep
        self.namespace = ""
        """Where the operator is installed, once that was looked at."""
        self._renewed: dict[str, str] = {}
        """What each Lease, by uid, said when it was last looked at."""
        self._at: dict[str, int] = {}
        """When each was renewed: by our clock if we saw it, else as it says."""

    def listen(self) -> Heard | None:
        """What the operator's Lease says; None where nobody can tell."""
        from shiplift.facts.kinds import LEASE
        from shiplift.kube.errors import KubeError

        try:
            self.namespace = self.namespace or self._installed_in()
            lease = self._client.get(LEASE, NAME, self.namespace)
        except KubeError:
            return None
        return self._heard(lease) if lease.get("spec", {}).get("renewTime") else None

    def surely(self) -> Heard | None:
        """The same; where only the clocks may say that it is silent, for as long as it takes to know."""
        heard, waited = self.listen(), 0.0
        while heard is not None and waited < _RENEWED_WITHIN and self._is_doubtful(heard):
            self._sleep(_LOOK)
            waited += _LOOK
            heard = self.listen()
        return heard

    def _installed_in(self) -> str:
        """Whoever may not see where it is installed is told of where it is by default."""
        from shiplift.cli.operator import NAMESPACE
        from shiplift.operator.account import installed_in

        return installed_in(self._client) or NAMESPACE

    def _is_doubtful(self, heard: Heard) -> bool:
        if heard.gone:
            return False
        overdue = int(self._clock()) - heard.at - heard.patience
        return 0 < overdue <= _CLOCKS_DIFFER

    def _heard(self, lease: Lease) -> Heard:
        from shiplift.kube.lease import NOT_ACTING

        about, spec = lease["metadata"], lease["spec"]
        annotations: dict[str, str] = about.get("annotations") or {}
        gone, patience = not spec.get("holderIdentity"), spec.get("leaseDurationSeconds") or PATIENCE
        return Heard(
            self._renewed_at(about["uid"], spec["renewTime"], patience),
            "" if gone else annotations.get(NOT_ACTING, ""),
            gone=gone,
            patience=patience,
        )

    def _renewed_at(self, uid: str, stamp: str, patience: int) -> int:
        before = self._renewed.get(uid)
        if before is None:
            self._at[uid] = self._as_said(int(datetime.fromisoformat(stamp).timestamp()), patience)
        elif before != stamp:
            self._at[uid] = int(self._clock())
        self._renewed[uid] = stamp
        return self._at[uid]

    def _as_said(self, at: int, patience: int) -> int:
        """A time that is still to come tells nothing: until a renewal is seen it counts as just too old."""
        now = int(self._clock())
        return now - patience - 1 if at > now + _RENEWED_WITHIN else min(at, now)
