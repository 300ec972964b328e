"""Requests are recognised as calls that mean the same in every run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.crash.calls import Sort, recognise, recognise_beside, stable_name

GROUP = "/apis/shiplift.dev/v1alpha1"
EVICTION = {"kind": "Eviction", "deleteOptions": {"preconditions": {"uid": "u"}}}
CASES: list[tuple[str, str, Any, str, str]] = [
    ("GET", "/api/v1/nodes/new-0", None, "get nodes", "new-0"),
    ("GET", "/api/v1/namespaces/shop", None, "get namespaces", "shop"),
    ("GET", "/apis/apps/v1/deployments?limit=500", None, "list deployments", ""),
    ("GET", "/version", None, "list /version", ""),
    ("GET", "/api/v1/pods?watch=1&resourceVersion=7", None, "watch pods", ""),
    (
        "PATCH",
        "/api/v1/nodes/n",
        {"metadata": {"uid": "u", "labels": {"a": "b"}}},
        "patch nodes [labels]",
        "n",
    ),
    ("PATCH", "/api/v1/nodes/n", {"metadata": {"labels": {"a": None}}}, "patch nodes [-labels]", "n"),
    (
        "PATCH",
        "/api/v1/nodes/n",
        [
            {"op": "test", "path": "/metadata/uid", "value": "u"},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
            {"op": "remove", "path": "/metadata/labels/a~1b"},
            {"op": "add", "path": "/spec/taints/-", "value": {}},
        ],
        "patch nodes [-labels+spec.taints]",
        "n",
    ),
    (
        "PATCH",
        f"{GROUP}/workloadmigrations/cluster/status?fieldManager=shiplift-3",
        {"status": {"state": "Upgrade"}},
        "patch workloadmigrations/status",
        "cluster",
    ),
    (
        "POST",
        f"{GROUP}/namespaces/shop/workloadplacements",
        {"metadata": {"name": "shiplift"}},
        "create workloadplacements",
        "shop/shiplift",
    ),
    (
        "POST",
        "/api/v1/namespaces/shop/pods/web-6d4cf56db6-x8k2p/eviction",
        EVICTION,
        "create pods/eviction",
        "shop/web",
    ),
    ("POST", "/api/v1/namespaces/shop/pods/db-0/eviction", EVICTION, "create pods/eviction", "shop/db-0"),
]


@pytest.mark.parametrize(("method", "target", "body", "step", "about"), CASES)
def test_a_request_is_a_step_on_an_object(method: str, target: str, body: Any, step: str, about: str) -> None:
    call = recognise(method, target, msgspec.json.encode(body) if body else b"")
    assert (call.step, call.about) == (step, about)


def test_what_only_asks_is_told_from_what_writes() -> None:
    path = f"{GROUP}/namespaces/shop/workloadplacements/shiplift"
    assert recognise("PATCH", path, b"{}").sort is Sort.WRITE
    assert recognise("PATCH", f"{path}?dryRun=All", b"{}").sort is Sort.REHEARSAL
    dry = {"deleteOptions": {"dryRun": ["All"]}}
    eviction = "/api/v1/namespaces/shop/pods/db-0/eviction"
    assert recognise("POST", eviction, msgspec.json.encode(dry)).sort is Sort.REHEARSAL
    assert recognise("GET", path, b"").sort is Sort.READ


@pytest.mark.parametrize(
    "target",
    [
        "/apis/coordination.k8s.io/v1/namespaces/shiplift-system/leases/shiplift",
        "/apis/events.k8s.io/v1/namespaces/shop/events",
        "/api/v1/namespaces/shiplift-system/serviceaccounts/shiplift-fence",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    ],
)
def test_what_keeps_an_operator_alive_is_apart(target: str) -> None:
    assert recognise("PUT", target, b"{}").sort is Sort.APART


def test_the_lease_of_a_node_is_read_and_its_renewal_is_apart() -> None:
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n-0"
    assert (recognise("GET", lease, b"").sort, recognise("GET", lease, b"").step) == (Sort.READ, "get leases")
    assert recognise("PATCH", lease, b"{}").sort is Sort.APART
    own = "/apis/coordination.k8s.io/v1/namespaces/shiplift-system/leases/shiplift"
    assert recognise("GET", own, b"").sort is Sort.APART


def test_calls_of_a_program_beside_the_operator_are_told_from_those_of_the_operator() -> None:
    call = recognise_beside("agents", "PATCH", "/api/v1/nodes/n-0/status", b"{}")
    assert (call.step, call.about, call.by) == ("agents: patch nodes/status", "n-0", "agents")
    watch = recognise_beside("agents", "GET", "/api/v1/nodes?watch=1", b"")
    assert (watch.sort, watch.resource) == (Sort.WATCH, "agents: nodes")


def test_a_removal_that_names_no_uid_is_noticed() -> None:
    eviction = "/api/v1/namespaces/shop/pods/db-0/eviction"
    assert recognise("POST", eviction, msgspec.json.encode(EVICTION)).guarded
    assert not recognise("POST", eviction, b"{}").guarded
    assert not recognise("DELETE", "/api/v1/namespaces/shop/pods/db-0", b"").guarded
    with_uid = msgspec.json.encode({"preconditions": {"uid": "u"}})
    assert recognise("DELETE", "/api/v1/namespaces/shop/pods/db-0", with_uid).guarded


def test_only_generated_names_are_cut() -> None:
    assert stable_name("web-6d4cf56db6-x8k2p") == "web"
    assert stable_name("old-node-1") == "old-node-1"
    assert stable_name("database-0") == "database-0"
