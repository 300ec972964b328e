"""The layer at work: a real API server, the operator with its own account, and a real HTTPS server."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import structlog

from shiplift.api.marks import POLICY_ID, PROVIDER_LABEL
from shiplift.facts.kinds import CONFIG_MAP, LEASE, UPGRADE_CONFIG
from shiplift.kube.account import Account
from shiplift.operator import install
from shiplift.policy.controller import PART
from shiplift.policy.names import KEY
from tests.audit import Audit
from tests.operated import SPACE
from tests.outside.https import Asked, Reply
from tests.policy.held import TOKEN
from tests.policy.ocm_server import AUTH, failure
from tests.policy.rig import AT, Rig, document
from tests.policy.views import over
from tests.rights import unused
from tests.until import until

NEW, LATER = "v1.36.3", "v1.36.9"
RUNNING = {"startTime": AT, "phase": "Upgrading", "targetVersion": NEW}


def begun(rig: Rig, says: dict[str, Any] | None = None) -> None:
    """A policy has come from the document server."""
    rig.document.says = says or document()
    rig.begin(rig.http())
    until(rig.config)


def test_a_policy_comes_changes_and_goes(rig: Rig) -> None:
    begun(rig, document(upgradeAt=AT))
    made = rig.config()
    assert made is not None
    assert made["spec"]["desired"] == {"version": NEW}
    assert made["metadata"]["labels"][PROVIDER_LABEL] == "HTTP"
    assert made["metadata"]["annotations"][POLICY_ID] == "p1"
    until(lambda: rig.told().get("id") == "p1")
    rig.document.says = document(LATER, "p2")
    rig.refresh()
    changed = rig.config()
    assert changed is not None
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert changed["spec"] == {"desired": {"version": LATER}} | {
        key: value for key, value in changed["spec"].items() if key not in ("desired", "upgradeAt")
    }
    assert "upgradeAt" not in changed["spec"]
    rig.document.says = None
    rig.wish()
    until(lambda: rig.config() is None)


def test_what_is_a_users_own_stays_and_what_is_the_policys_is_put_back(rig: Rig) -> None:
    begun(rig)
    rig.patch({"spec": {"paused": True, "desired": {"version": LATER}}})
    until(lambda: rig.version() == NEW)
    found = rig.config()
    assert found is not None
    assert found["spec"]["paused"] is True
    rig.document.says = document(LATER)
    rig.refresh()
    found = rig.config()
    assert found is not None
    assert (found["spec"]["paused"], found["spec"]["desired"]["version"]) == (True, LATER)


def test_who_changes_it_back_again_and_again_is_told_and_it_is_put_back(rig: Rig) -> None:
    begun(rig)
    fights = 0

    def fight() -> bool:
        nonlocal fights
        if rig.version() == NEW and fights < 3:
            fights += 1
            rig.patch({"spec": {"desired": {"version": LATER}}})
        return fights == 3 and "somebody else changes spec.desired of the UpgradeConfig" in str(rig.told())

    until(fight)
    until(lambda: rig.version() == NEW)


def test_a_change_leaves_no_moment_without_an_upgrade_config_and_keeps_its_history(rig: Rig) -> None:
    begun(rig)
    past = [{"version": "v1.35.4", "phase": "Upgraded", "startTime": AT, "completeTime": AT}]
    rig.status(history=past, phase="New")
    missing, over = threading.Event(), threading.Event()

    def watch() -> None:
        while not over.wait(0.002):
            if rig.config() is None:
                missing.set()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    for number in range(5):
        rig.document.says = document(f"v1.36.{10 + number}", f"p{number}")
        rig.refresh()
    over.set()
    watcher.join(10)
    assert not missing.is_set()
    found = rig.config()
    assert found is not None
    assert found["status"]["history"] == past
    assert rig.version() == "v1.36.14"


def test_a_policy_that_is_lost_in_a_running_upgrade_takes_nothing_away(rig: Rig) -> None:
    begun(rig)
    rig.status(**RUNNING)
    rig.document.says = None
    rig.wish()
    until(lambda: rig.told().get("lost"))
    assert rig.version() == NEW
    rig.document.says = document()
    rig.refresh()
    until(lambda: not rig.told().get("lost"))
    rig.document.says = None
    rig.wish()
    until(lambda: rig.told().get("lost"))
    rig.status(**over())
    until(lambda: not rig.told().get("lost"))
    assert rig.version() == NEW


def test_while_an_upgrade_runs_a_later_policy_waits_and_comes_after_it(rig: Rig) -> None:
    begun(rig)
    rig.status(**RUNNING)
    rig.document.says = document(LATER, "p2")
    rig.wish()
    until(lambda: rig.told().get("queued", {}).get("desired", {}).get("version") == LATER)
    assert rig.version() == NEW
    rig.status(**over())
    until(lambda: rig.version() == LATER)
    until(lambda: "queued" not in rig.told())


def test_a_provider_that_fails_changes_nothing_and_is_told(rig: Rig) -> None:
    begun(rig)
    rig.document.says = Reply(500, b"oops")
    wish = rig.wish()
    until(lambda: "answered 500: oops" in rig.told().get("message", ""))
    assert rig.told()["lastSyncTime"]
    assert rig.version() == NEW
    assert rig.refreshed() != wish
    assert "provider HTTP cannot be asked" in rig.record()["trouble"]
    until(lambda: [one for one in rig.events() if one["reason"] == "PolicySyncFailed"])


def test_trouble_has_a_home_though_there_is_no_upgrade_config(rig: Rig) -> None:
    rig.document.says = Reply(200, b"paused: true")
    rig.begin(rig.http())
    until(lambda: "the document is no policy" in rig.record().get("trouble", ""))
    assert rig.config() is None


def test_a_policy_that_the_api_server_refuses_is_told(rig: Rig) -> None:
    rig.document.says = document("1.36", type="Kubeadm")
    rig.begin(rig.http())
    until(lambda: "desired.version must be whole" in rig.record().get("trouble", ""))
    assert rig.config() is None


def test_what_was_made_by_hand_is_neither_changed_nor_deleted(rig: Rig) -> None:
    made = rig.make()
    rig.document.says = document(LATER)
    rig.begin(rig.http())
    until(lambda: "made by hand" in rig.told().get("message", ""))
    rig.document.says = None
    until(lambda: len(rig.asked) >= 2)
    found = rig.config()
    assert found is not None
    assert (found["metadata"]["uid"], rig.version()) == (made["metadata"]["uid"], NEW)
    assert PROVIDER_LABEL not in found["metadata"].get("labels", {})


def test_the_local_provider_touches_nothing(rig: Rig) -> None:
    made = rig.make()
    rig.begin(None)
    rig.refresh()
    found = rig.config()
    assert found is not None
    assert found["spec"] == made["spec"]
    assert "status" not in found


@pytest.mark.long(seconds=60)
def test_settings_that_are_bad_are_named_and_a_good_one_is_taken_up_without_a_restart(rig: Rig) -> None:
    rig.document.says = document()
    rig.begin({"provider": "HTTP", "watchIntervall": 5})
    until(lambda: "unknown field `watchIntervall`" in rig.record().get("trouble", ""))
    rig.configure(rig.http())
    until(rig.config, 75)
    until(lambda: not rig.record().get("trouble"))


def test_nothing_is_written_while_nothing_changes(rig: Rig) -> None:
    begun(rig)
    until(lambda: rig.told().get("id") == "p1")
    asked, before = len(rig.asked), versions(rig)
    until(lambda: len(rig.asked) >= asked + 2, 40)
    assert versions(rig) == before


def versions(rig: Rig) -> list[str]:
    kept = [rig.client.get(CONFIG_MAP, name, SPACE) for name in ("shiplift-policy", "shiplift-outbox-policy")]
    return [one["metadata"]["resourceVersion"] for one in (rig.client.get(UPGRADE_CONFIG, KEY), *kept)]


# --- OCM ---


def test_a_policy_of_ocm_is_followed_and_its_states_are_reported(rig: Rig) -> None:
    rig.ocm.offer("u-1", "4.20.1")
    rig.begin(rig.ocm_section())
    until(rig.config)
    found = rig.config()
    assert found is not None
    assert found["spec"]["desired"] == {"version": "4.20.1", "channel": "stable-4.20"}
    rig.status(startTime=AT, phase="Upgrading", targetVersion="4.20.1")
    until(lambda: rig.ocm.told == [("u-1", "started")])
    rig.status(**over("4.20.1"))
    until(lambda: rig.ocm.told == [("u-1", "started"), ("u-1", "completed")])
    until(lambda: not rig.box())


def test_a_report_outlives_an_outage_a_restart_and_its_object(rig: Rig) -> None:
    rig.ocm.offer("u-1", "4.20.1")
    section = rig.ocm_section()
    rig.begin(section)
    until(rig.config)
    rig.ocm.instead = lambda asked: failure(503, "X", "away") if asked.method == "PATCH" else None
    rig.status(**over("4.20.1"))
    until(lambda: rig.box() == ["u-1/v4.20.1/started", "u-1/v4.20.1/completed"])
    rig.stop()
    rig.remove(UPGRADE_CONFIG, KEY)
    rig.ocm.instead = None
    rig.ocm.states["u-1"] = "completed"
    rig.start()
    until(lambda: rig.ocm.told == [("u-1", "started"), ("u-1", "completed")])
    until(lambda: not rig.box())


def test_a_report_that_ocm_will_never_take_holds_up_no_other(rig: Rig) -> None:
    rig.ocm.offer("u-1", "4.20.1")
    rig.begin(rig.ocm_section())
    until(rig.config)
    rig.ocm.instead = lambda asked: failure(400, "X", "no") if asked.method == "PATCH" else None
    rig.status(**over("4.20.1"))
    until(lambda: len([one for one in rig.ocm_asked() if one.method == "PATCH"]) == 2)
    until(lambda: not rig.box())
    assert rig.ocm.told == []


# --- tokens ---


@pytest.mark.parametrize("provider", ["HTTP", "OCM"])
def test_no_token_is_in_anything_that_is_told(rig: Rig, provider: str) -> None:
    """Every error provoked, by servers that repeat what they were sent; then logs, Events, statuses and
    ConfigMaps are searched for the tokens."""

    def echo(asked: Asked) -> Reply:
        return Reply(500, f"you sent {asked.headers.get('authorization')}".encode())

    def odd(asked: Asked) -> Reply:
        return Reply(200, f'{{"id": "{asked.headers.get("authorization")}", "x": 1}}'.encode())

    with structlog.testing.capture_logs() as logs:
        for play in (echo, odd):
            rig.clear()
            rig.ocm.instead = play
            rig.document.instead = play
            rig.begin(rig.http() if provider == "HTTP" else rig.ocm_section())
            until(lambda: "cannot be asked" in rig.record().get("trouble", ""))
        told = [str(rig.record()), str(rig.events()), str(rig.config()), repr(logs)]
    assert "PolicySyncFailed" in told[1]
    assert not [one for one in told if TOKEN in one or AUTH in one]


# --- rights ---

LOOKS = {"get upgradeconfigs"}
"""Used only to see what became of a write whose answer was lost: `tests/kube/test_client_failures`."""
MAKING = {"create upgradeconfigs"}
"""Asked for by an apply that makes an object, and noted as that apply."""


def test_the_printed_rights_are_enough_and_none_is_without_use(rig: Rig) -> None:
    rig.remove(LEASE, "shiplift", SPACE)
    audit = Audit(rig.cluster, Account(SPACE, install.ACCOUNT))
    begun(rig)
    rig.refresh()
    rig.document.says = None
    rig.wish()
    until(lambda: rig.config() is None)
    section = rig.ocm_section()
    del section["ocm"]["clusterId"]
    rig.begin(section)
    until(lambda: "there is no ClusterVersion" in rig.record().get("trouble", ""))
    assert audit.forbidden() == []
    assert unused(PART, audit.asked(), LOOKS | MAKING) == set()


def test_a_secret_that_nobody_granted_is_named_with_the_command_that_grants_it(rig: Rig) -> None:
    section = rig.ocm_section()
    del section["ocm"]["pullSecret"]
    rig.begin(section)
    until(lambda: "manifests --grant openshift-config/pull-secret" in rig.record().get("trouble", ""))
