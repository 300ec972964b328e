"""What people see of policies: a section of `status`, and what undo makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.marks import PROVIDER_LABEL
from shiplift.facts.kinds import CONFIG_MAP, UPGRADE_CONFIG
from shiplift.kube.config import KEY as CONFIG_KEY
from shiplift.kube.config import NAME as CONFIG
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.policy.face.status import STATUS
from shiplift.policy.face.syncing import PolicyView, changes, policy_data, policy_view
from shiplift.policy.face.undo import undo_all
from shiplift.policy.names import KEY
from tests.cli.test_layout import drawn
from tests.operated import NEW, SPACE
from tests.policy.rig import Rig
from tests.policy.views import row

NOW = 1_800_000_000
POLICY = {"provider": "HTTP", "id": "november"}


def view(**policy: Any) -> PolicyView | None:
    return policy_view([row(status={"policy": POLICY | policy}).object], NOW)


def test_without_a_policy_there_is_nothing_to_tell() -> None:
    assert policy_view([], NOW) is None
    assert policy_view([row().object], NOW) is None


def test_who_said_it_and_what_is_wrong_is_told() -> None:
    found = view(message="provider HTTP cannot be asked: \x1b[31mno", lost=True)
    assert found is not None
    assert found.stalled == "provider HTTP cannot be asked:  [31mno"
    assert found.lost == "it is gone; the upgrade is finished all the same"
    assert policy_data(found)["provider"] == "HTTP"


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ({}, "policy november from HTTP"),
        (
            {"queued": {"desired": {"version": "v1.37.0"}}},
            "v1.37.0 waits for the end of the upgrade that runs",
        ),
        ({"message": "it does not answer"}, "it does not answer"),
    ],
)
def test_what_is_new_is_a_line(policy: dict[str, Any], line: str) -> None:
    found = view(**policy)
    assert found is not None
    assert changes(None, found) == [line]
    assert changes(found, found) == []


def test_a_later_sync_alone_is_nothing_new() -> None:
    before, after = view(lastSyncTime="2026-11-17T12:00:00Z"), view(lastSyncTime="2026-11-17T13:00:00Z")
    assert before is not None
    assert after is not None
    assert changes(before, after) == []


def test_its_picture_has_a_line_each() -> None:
    found = view(queued={"desired": {"version": "v1.37.0"}}, message="it does not answer")
    assert found is not None
    lines = [line.rstrip() for line in drawn(STATUS.picture(found, None, None), 80).splitlines()]
    assert lines == [
        "Policy     november from HTTP",
        "Later      v1.37.0 waits for the end of the upgrade that runs",
        "Needs you  it does not answer",
    ]


def undone(rig: Rig) -> tuple[list[str], int, int]:
    said: list[str] = []
    store = Store(rig.cluster.credentials(), [Watch(UPGRADE_CONFIG)])
    store.start()
    try:
        assert store.wait_synced(30)
        found = undo_all(rig.client, store, said.append)
    finally:
        store.stop()
    return said, found.changes, found.stays


def made(rig: Rig, labels: dict[str, str]) -> None:
    body = {"metadata": {"name": KEY, "labels": labels}, "spec": {"desired": {"version": NEW}}}
    rig.client.create(UPGRADE_CONFIG, body)


def test_undo_takes_away_what_a_provider_has_brought(rig: Rig) -> None:
    made(rig, {PROVIDER_LABEL: "HTTP"})
    said, changes, stays = undone(rig)
    assert (changes, stays) == (1, 0)
    assert said == [f"UpgradeConfig {KEY} of provider HTTP is deleted"]
    assert rig.config() is None


def test_undo_leaves_alone_what_somebody_made(rig: Rig) -> None:
    made(rig, {})
    assert undone(rig) == ([], 0, 0)
    assert rig.config() is not None


def test_while_settings_lead_to_a_provider_undo_says_what_to_do_first(rig: Rig) -> None:
    made(rig, {PROVIDER_LABEL: "HTTP"})
    rig.configure(rig.http())
    said, changes, stays = undone(rig)
    assert (changes, stays) == (0, 1)
    assert f"take the provider out of ConfigMap {SPACE}/{CONFIG}" in said[0]
    assert rig.config() is not None
    rig.remove(CONFIG_MAP, CONFIG, SPACE)
    local = {"metadata": {"name": CONFIG}, "data": {CONFIG_KEY: "configManager: {provider: Local}"}}
    rig.client.create(CONFIG_MAP, local, SPACE)
    assert undone(rig)[1] == 1
