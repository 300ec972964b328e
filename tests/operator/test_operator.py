"""Operator processes against a real API server, with the account and the rights that we print for them."""

from __future__ import annotations

import json
import signal
import time

import pytest

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.fence import HOME
from shiplift.kube.lease import LAST_EPOCH
from shiplift.local.components import Component
from shiplift.operator import install
from tests.operator.driver import STAMPER
from tests.operator.rig import SPACE, Rig
from tests.until import until


def test_it_leads_acts_and_tells_how_it_is(rig: Rig) -> None:
    rig.client.create(kinds.NODE, {"metadata": {"name": "n1"}})
    operator = rig.start()
    rig.ask_for_a_stamp("early")
    until(lambda: rig.stamp("early") == "1")
    rig.ask_for_a_stamp("late")
    until(lambda: rig.stamp("late"))
    assert rig.stamp("late") in operator.epochs
    assert operator.get("/healthz") == (200, "ok\n")
    assert operator.get("/readyz") == (200, "ok\n")
    status, metrics = operator.get("/metrics")
    assert status == 200
    assert "shiplift_leading 1.0" in metrics
    assert 'shiplift_steps_total{answer="ok",layer="stamper"} 2.0' in metrics
    assert 'shiplift_layer_failures_total{layer="stamper",stage="decide"} 0.0' in metrics
    assert 'shiplift_store_rows{kind="Namespace"}' in metrics
    assert 'shiplift_nodes{version=""} 1.0' in metrics
    assert operator.get("/actingz") == (200, "ok\n")
    assert operator.get("/elsewhere") == (404, "try /metrics, /healthz, /readyz, /actingz\n")


@pytest.mark.crash
def test_sigterm_hands_the_lease_over_at_once(rig: Rig) -> None:
    first = rig.start()
    until(lambda: first.said("leading"))
    second = rig.start()
    until(lambda: second.said("started"))
    first.send(signal.SIGTERM)
    assert first.wait() == 0
    until(lambda: second.said("leading"))
    rig.ask_for_a_stamp("after")
    until(lambda: rig.stamp("after"))
    assert rig.stamp("after") in second.epochs
    assert first.said("stopped")


def test_without_its_fence_it_leads_but_does_not_act(rig: Rig) -> None:
    rig.remove(kinds.VALIDATING_ADMISSION_POLICY_BINDING)
    time.sleep(2)  # the API server goes by a binding for a moment longer; no Lease yet to ask with
    operator = rig.start()
    refusal = until(lambda: operator.said("leading, but not acting"), 30)
    assert "fence" in refusal[0]["reason"]
    assert "leading, but not acting" in operator.get("/readyz")[1]
    until(lambda: "the fence does not hold" in rig.why_it_does_not_act())
    rig.ask_for_a_stamp("unsafe")
    assert rig.stamp("unsafe") == ""
    follower = rig.start()
    [standing_by] = until(lambda: follower.said("lease.standing_by"))
    assert operator.said("lease.leading")[0]["lease"] == standing_by["lease"]
    assert follower.get("/readyz") == (200, "ok\n"), "it could take over"
    status, said = follower.get("/actingz")
    assert (status, "leads, but does not act: the fence does not hold" in said) == (503, True), said
    rig.install(kinds.VALIDATING_ADMISSION_POLICY_BINDING)
    until(lambda: rig.stamp("unsafe"), 30)
    until(lambda: not rig.why_it_does_not_act())
    until(lambda: follower.get("/actingz") == (200, "ok\n"))


def test_what_keeps_it_from_acting_is_logged_once(rig: Rig) -> None:
    rig.remove(kinds.VALIDATING_ADMISSION_POLICY)
    rig.remove(HOME, namespace=SPACE)
    operator = rig.start()
    until(lambda: operator.said("lease.trouble") or operator.said("leading, but not acting"))
    time.sleep(3)
    said = [line for event in ("lease.trouble", "leading, but not acting") for line in operator.said(event)]
    assert len(said) == 1, said


def test_a_fence_stripped_half_way_ends_the_term_and_a_new_one_acts(rig: Rig) -> None:
    operator = rig.start()
    until(lambda: operator.said("leading"))
    first = operator.said("leading")[0]["epoch"]
    rig.strip_the_fence()
    rig.ask_for_a_stamp("after")
    until(lambda: rig.stamp("after"))
    assert int(rig.stamp("after")) >= first
    until(lambda: operator.get("/readyz")[0] == 200)
    assert "shiplift_leading_not_acting 0.0" in operator.get("/metrics")[1]


@pytest.mark.parametrize("stripped", [False, True])
def test_a_lease_with_a_number_beyond_all_epochs_keeps_nobody_from_acting(rig: Rig, stripped: bool) -> None:
    """Neither who leads and begins a new term, nor who is started after it."""
    first = rig.start()
    until(lambda: first.said("leading"))
    rig.edit_the_lease(LAST_EPOCH)
    until(lambda: rig.lease()["spec"]["leaseTransitions"] < LAST_EPOCH)
    rig.strip_the_fence()
    rig.ask_for_a_stamp("by-the-first")
    until(lambda: rig.stamp("by-the-first"))
    first.send(signal.SIGTERM)
    assert first.wait() == 0
    rig.edit_the_lease(LAST_EPOCH)
    if stripped:
        rig.strip_the_fence()
    second = rig.start()
    rig.ask_for_a_stamp("by-the-second")
    until(lambda: rig.stamp("by-the-second"))
    assert second.get("/readyz") == (200, "ok\n")


def test_an_epoch_that_somebody_raised_ends_an_idle_term_too(rig: Rig) -> None:
    """The next proof finds it out: a later term begins, above what was written."""
    operator = rig.start()
    until(lambda: operator.said("leading"))
    rig.edit_the_fence("500")
    until(lambda: [line["epoch"] for line in operator.said("leading")][-1] == 501)
    until(lambda: operator.get("/readyz")[0] == 200)


def test_a_write_that_the_fence_refuses_ends_the_term_and_is_counted(rig: Rig) -> None:
    """The refused write finds it out, long before the next proof."""
    operator = rig.start(prove_every=600)
    until(lambda: operator.said("leading"))
    rig.strip_the_fence()
    time.sleep(1)  # the API server goes by what was there for a moment longer
    rig.ask_for_a_stamp("after")
    until(lambda: rig.stamp("after"))
    assert rig.stamp("after") in operator.epochs[1:]
    assert "shiplift_fence_refusals_total 1.0" in operator.get("/metrics")[1]
    assert operator.get("/readyz") == (200, "ok\n")


@pytest.mark.parametrize(
    "kind", [kinds.VALIDATING_ADMISSION_POLICY, kinds.VALIDATING_ADMISSION_POLICY_BINDING], ids=str
)
def test_a_fence_removed_half_way_stops_it_until_it_is_back(rig: Rig, kind: Kind) -> None:
    operator = rig.start()
    until(lambda: operator.said("leading"))
    rig.remove(kind)
    until(lambda: operator.get("/readyz")[0] == 503, 30)
    assert "leading, but not acting: the fence does not hold" in operator.get("/readyz")[1]
    metrics = operator.get("/metrics")[1]
    assert "shiplift_leading 0.0" in metrics
    assert "shiplift_leading_not_acting 1.0" in metrics
    rig.ask_for_a_stamp("unsafe")
    until(lambda: "apply again what installed shiplift" in rig.why_it_does_not_act())
    assert rig.stamp("unsafe") == ""
    rig.install(kind)
    until(lambda: rig.stamp("unsafe"), 30)
    until(lambda: operator.get("/readyz")[0] == 200)


@pytest.mark.crash
def test_the_api_server_going_away_makes_it_unready_and_restarts_nothing(rig: Rig) -> None:
    operator = rig.start()
    until(lambda: operator.said("leading"))
    rig.cluster.kill(Component.API_SERVER)
    until(lambda: operator.get("/readyz")[0] == 503)
    assert "Namespace is stale" in operator.get("/readyz")[1]
    assert operator.get("/healthz") == (200, "ok\n")
    until(lambda: operator.said("not acting any more"))
    rig.cluster.start(Component.API_SERVER)
    until(lambda: operator.get("/readyz")[0] == 200, 60)
    rig.ask_for_a_stamp("back")
    until(lambda: rig.stamp("back"), 30)
    assert len(operator.said("started")) == 1


@pytest.mark.crash
def test_a_leader_stopped_and_woken_does_no_harm(rig: Rig) -> None:
    """SIGSTOP past its lease: another leads; after SIGCONT the first one writes nothing of its old epoch."""
    first = rig.start(lease=4)
    until(lambda: first.said("leading"))
    first.send(signal.SIGSTOP)
    of_old = first.epochs
    second = rig.start(lease=4)
    until(lambda: second.said("leading"))
    rig.ask_for_a_stamp("meanwhile")
    until(lambda: rig.stamp("meanwhile"))
    assert rig.stamp("meanwhile") in second.epochs
    first.send(signal.SIGCONT)
    until(lambda: first.said("not acting any more"))
    rig.ask_for_a_stamp("later")
    until(lambda: rig.stamp("later"))
    assert rig.stamp("later") not in of_old


@pytest.mark.crash
def test_a_leader_stopped_without_a_rival_begins_anew(rig: Rig) -> None:
    """Its old term ends before the new one begins: nothing of the old one goes on."""
    operator = rig.start(lease=4)
    until(lambda: operator.said("leading"))
    operator.send(signal.SIGSTOP)
    of_old = operator.epochs
    lapsed = time.monotonic() + 5.0
    until(lambda: time.monotonic() > lapsed)
    operator.send(signal.SIGCONT)
    until(lambda: len(operator.epochs) > len(of_old))
    assert len(operator.said("not acting any more")) >= len(of_old)
    rig.ask_for_a_stamp("anew")
    until(lambda: rig.stamp("anew"))
    assert rig.stamp("anew") not in of_old


def test_manifests_grant_no_wildcard_and_no_secret() -> None:
    for manifest in install.manifests(SPACE, [STAMPER]):
        for rule in manifest.get("rules", []):
            assert "*" not in json.dumps(rule)
            assert "secrets" not in rule["resources"]
