"""Whether an operator is there: its Lease tells, and no two computers' clocks have to agree.

An operator renews its Lease every two seconds. Once we have seen that, silence counts by our own clock. At
the first look only the time in the Lease is known, by somebody else's clock: where that is old, but not very
old, we look again for as long as an operator needs to renew it.
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
_RENEWED_WITHIN = 4.0
"""Seconds in which an operator that runs has renewed its Lease."""
_CLOCKS_DIFFER = 300
"""Seconds: what is older than this is old by any clock."""
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
        self._renewed: dict[str, str] = {}
        """What each Lease, by uid, said when it was last looked at."""
        self._at: dict[str, int] = {}
        """When each was renewed: by our clock if we saw it, else as it says."""

    def listen(self) -> Heard | None:
        """What the Lease that was renewed last says; None where nobody can tell."""
        from shiplift.facts.kinds import LEASE
        from shiplift.kube.errors import KubeError

        try:
            found = list(self._client.list(LEASE, field_selector=f"metadata.name={NAME}"))
        except KubeError:
            return None
        heard = [self._heard(one) for one in found if one.get("spec", {}).get("renewTime")]
        return max(heard, key=lambda one: one.at, default=None)

    def surely(self) -> Heard | None:
        """The same; where only the clocks may say that it is silent, for as long as it takes to know."""
        heard, waited = self.listen(), 0.0
        while heard is not None and waited < _RENEWED_WITHIN and self._is_doubtful(heard):
            self._sleep(_LOOK)
            waited += _LOOK
            heard = self.listen()
        return heard

    def _is_doubtful(self, heard: Heard) -> bool:
        if heard.gone:
            return False
        age = int(self._clock()) - heard.at
        return heard.patience < age <= _CLOCKS_DIFFER or age < -_RENEWED_WITHIN

    def _heard(self, lease: Lease) -> Heard:
        from shiplift.kube.lease import NOT_ACTING

        about, spec = lease["metadata"], lease["spec"]
        annotations: dict[str, str] = about.get("annotations") or {}
        gone = not spec.get("holderIdentity")
        return Heard(
            self._renewed_at(about["uid"], spec["renewTime"]),
            "" if gone else annotations.get(NOT_ACTING, ""),
            gone=gone,
            patience=spec.get("leaseDurationSeconds") or PATIENCE,
        )

    def _renewed_at(self, uid: str, stamp: str) -> int:
        before = self._renewed.get(uid)
        if before is None:
            self._at[uid] = int(datetime.fromisoformat(stamp).timestamp())
        elif before != stamp:
            self._at[uid] = int(self._clock())
        self._renewed[uid] = stamp
        return self._at[uid]
