"""What there is to tell, from a decision: pure. What has not changed is not told again: when the provider was
last asked is told together with something else, and otherwise by a metric."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shiplift.api.marks import POLICY_ID, PROVIDER_LABEL
from shiplift.api.upgrade import Policy, UpgradeConfig
from shiplift.policy.model import Judgement, Record, View, config_of

_LONGEST = 2048


def recorded(view: View, provider: str, trouble: str, now: datetime) -> Record | None:
    """The record as it should be; None where it is so already, or cannot be read."""
    before = view.record
    said = trouble[:_LONGEST]
    if before is None or (before.provider, before.trouble) == (provider, said):
        return None
    begun = before.since if before.trouble and said else now
    return Record(provider, said, begun if said else None, view.asking.probe.taken)


def told_policy(
    view: View, provider: str, judgement: Judgement, trouble: str
) -> tuple[UpgradeConfig, Policy | None] | None:
    """What `status.policy` should become; None where it is so already."""
    if view.current is None or view.unsure:
        return None
    config = config_of(view.current)
    before, after = config.status.policy, _policy(view, provider, judgement, trouble)
    if _untimed(before) == _untimed(after):
        return None
    return config, after


def _policy(view: View, provider: str, judgement: Judgement, trouble: str) -> Policy | None:
    """Of an UpgradeConfig that somebody made by hand there is nothing to tell, unless it is in the way."""
    row = view.current
    if row is None or (PROVIDER_LABEL not in row.labels and not trouble):
        return None
    return Policy(
        provider=row.labels.get(PROVIDER_LABEL, provider),
        id=row.annotations.get(POLICY_ID, ""),
        last_sync_time=view.asking.probe.taken,
        message=trouble[:_LONGEST],
        queued=judgement.queued,
        lost=judgement.lost,
    )


def _untimed(policy: Policy | None) -> Policy | None:
    return None if policy is None else msgspec.structs.replace(policy, last_sync_time=None)
