"""What a person wants to know of policies at one moment, all of it from the UpgradeConfig. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from shiplift.api.upgrade import PolicyLost, UpgradeConfig
from shiplift.view.section import Arrival
from shiplift.view.values import ago, plain


class PolicyView(msgspec.Struct, frozen=True):
    """Where the UpgradeConfig came from, and what is wrong with that."""

    provider: str
    id: str
    synced: int | None
    """For how many seconds nobody has been asked with success, as of when that was told."""
    queued: str = ""
    """The version that waits for the end of the running upgrade."""
    lost: str = ""
    """What becomes of an upgrade whose policy is gone."""
    stalled: str = ""
    """Why the provider cannot be asked, or what is in its way."""
    arrival: Arrival = Arrival.MOVED
    """Nobody waits for the end of this."""


def policy_view(found: Sequence[UpgradeConfig], now: int) -> PolicyView | None:
    """What there is to tell; None where no policy has to do with the UpgradeConfig."""
    policy = found[0].status.policy if found else None
    if policy is None:
        return None
    queued = policy.queued.desired if policy.queued else None
    return PolicyView(
        provider=plain(policy.provider),
        id=plain(policy.id),
        synced=ago(policy.last_sync_time, now),
        queued=plain((queued.version or queued.channel or "") if queued else ""),
        lost=_lost(found[0]) if policy.lost else "",
        stalled=plain(policy.message),
    )


def _lost(one: UpgradeConfig) -> str:
    rests = one.spec.on_policy_lost is PolicyLost.PAUSE
    return "it is gone; the upgrade " + ("rests" if rests else "is finished all the same")


def changes(before: PolicyView | None, now: PolicyView) -> list[str]:
    """A line where there is something to tell of the way from one look to the next."""
    lines = [one for one in (now.stalled, now.lost) if one]
    if now.queued:
        lines.append(f"{now.queued} waits for the end of the upgrade that runs")
    text = "; ".join(lines) or f"policy {now.id or '?'} from {now.provider}"
    if before is not None and _said(before) == _said(now):
        return []
    return [text]


def _said(view: PolicyView) -> PolicyView:
    return msgspec.structs.replace(view, synced=None)


def policy_data(view: PolicyView) -> dict[str, Any]:
    """As programs read it."""
    return {
        "provider": view.provider,
        "id": view.id,
        "lastSyncSeconds": view.synced,
        "queued": view.queued,
        "lost": view.lost,
        "stalled": view.stalled,
    }
