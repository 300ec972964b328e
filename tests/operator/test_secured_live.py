"""Metrics are for whom a real API server lets read them, and what is kept of its answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shiplift.facts.kinds import SERVICE_ACCOUNT
from shiplift.kube import rbac
from shiplift.kube import reviews as module
from shiplift.kube.account import Account, ask_token
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.manifests import kind_of
from shiplift.kube.reviews import Reviews, Verdict
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.cluster import Cluster
from shiplift.operator import inside, install, securing
from tests.operator.driver import STAMPER
from tests.operator.secure_serving import got, serving

SPACE = "shiplift-system"


class Site:
    """A cluster with our manifests, and a reader and a stranger in it."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._admin = load(cluster.kubeconfig)
        with cluster.client() as client:
            for one in [*install.manifests(SPACE, [STAMPER]), *inside.access(SPACE, [STAMPER])]:
                client.create(kind_of(one), one)
            for name in ("reader", "stranger"):
                client.create(SERVICE_ACCOUNT, {"metadata": {"name": name}}, SPACE)
            role = rbac.role(inside.READER_ROLE, [])
            binding = rbac.binding(role, "reader", SPACE)
            client.create(kind_of(binding), binding)
        ours = kubeconfig_of(Account(SPACE, install.ACCOUNT), cluster.kubeconfig, folder / "ours")
        self.credentials = load(ours)

    def token(self, name: str) -> str:
        return ask_token(self._admin, Account(SPACE, name)).token


@pytest.fixture
def site(private_cluster: Callable[..., Cluster], tmp_path: Path) -> Site:
    return Site(private_cluster(), tmp_path)


def test_metrics_are_for_whom_the_api_server_lets_read_them(site: Site) -> None:
    with serving(securing.secured(site.credentials, None, "shiplift.test")) as server:
        assert got(server, "/metrics")[0] == 401
        assert got(server, "/metrics", "guessed")[0] == 401
        status, said = got(server, "/metrics", site.token("stranger"))
        takes = f"that takes ClusterRole {inside.READER_ROLE}"
        assert (status, said) == (403, f"this user may not read it: {takes}\n")
        status, said = got(server, "/metrics", site.token("reader"))
        assert status == 200
        assert "shiplift_leading 1.0" in said
        assert got(server, "/healthz") == (200, "ok\n")
        assert got(server, "/readyz") == (503, "not yet\n")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_was_let_in_still_is_while_nobody_can_be_asked_and_nobody_else(site: Site) -> None:
    clock = Clock()
    reader, other = f"Bearer {site.token('reader')}", f"Bearer {site.token('reader')}"
    reviews = Reviews(Client(site.credentials, timeout=5), clock=clock)
    assert reviews.verdict(reader) is Verdict.ALLOWED
    away = Client(site.credentials.at("127.0.0.1", 9, "kubernetes"), timeout=0.5)
    reviews.close()
    reviews._client = away  # pyright: ignore[reportPrivateUsage] - the server is away from here on
    clock.now = 61.0
    assert reviews.verdict(reader) is Verdict.ALLOWED
    assert reviews.verdict(other) is Verdict.UNKNOWN
    clock.now = 901.0
    assert reviews.verdict(reader) is Verdict.UNKNOWN
    reviews.close()


def test_guesses_do_not_push_out_who_was_let_in(site: Site) -> None:
    reviews = Reviews(Client(site.credentials, timeout=5))
    reader = f"Bearer {site.token('reader')}"
    assert reviews.verdict(reader) is Verdict.ALLOWED
    for number in range(module.MOST_KEPT + 8):
        assert reviews.verdict(f"Bearer guess-{number}") is Verdict.NOBODY
    kept = reviews._kept  # pyright: ignore[reportPrivateUsage]
    assert len(kept) == module.MOST_KEPT
    assert [one.verdict for one in kept.values()].count(Verdict.ALLOWED) == 1
    reviews.close()
