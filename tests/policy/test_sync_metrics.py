"""What the metrics of the sync say, also before it ever worked."""

from __future__ import annotations

from datetime import timedelta

from shiplift.policy.face.alerts import ALERTS
from shiplift.policy.tell.metrics import seen
from tests.policy.views import HTTP, NOW, answered, failing, policy, view

HOUR = timedelta(hours=1)


def test_before_the_first_success_the_time_without_one_counts_from_the_beginning_of_the_term() -> None:
    sync = seen(view(), NOW)
    assert (sync.last_sync, sync.unsynced_since) == (0.0, NOW.timestamp())
    sync = seen(view(failing(answered(policy(), at=NOW + HOUR))), NOW)
    assert sync.last_sync == sync.unsynced_since == (NOW + HOUR).timestamp()


def test_how_long_is_too_long_goes_by_the_period() -> None:
    assert seen(view(), NOW).period == HTTP.period.total_seconds()
    [alert] = [one for one in ALERTS if one.name == "ShipliftPolicySyncFailing"]
    assert "2 * max(shiplift_policy_watch_interval_seconds)" in alert.expression
    assert "last_sync_timestamp" not in alert.expression
