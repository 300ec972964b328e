"""Which release counts as one that runs, and which as kept where the next cannot be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from shiplift.facts import kinds
from shiplift.kube.client import Client
from tests.e2e.install import Inside
from tests.e2e.releases import Release

Json = dict[str, Any]
OLD, NEW = Release("old", Path()), Release("new", Path())


def a_pod(name: str, release: Release, *, waits: str = "") -> Json:
    state = {"waiting": {"reason": waits}} if waits else {"running": {}}
    ready = {"type": "Ready", "status": "False" if waits else "True"}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"image": release.image}]},
        "status": {"conditions": [ready], "containerStatuses": [{"state": state}]},
    }


def a_cluster(pods: tuple[Json, ...], leader: str) -> Inside:
    def listed(kind: kinds.Kind, *_: str, **__: str) -> Iterator[Json]:
        assert kind == kinds.POD
        return iter(pods)

    lease = {"metadata": {}, "spec": {"holderIdentity": f"{leader}_1"}}
    found = Inside.__new__(Inside)
    found.client = cast("Client", SimpleNamespace(list=listed, get=lambda *_: lease))
    return found


A, B = a_pod("a", OLD), a_pod("b", OLD)
WAITS = a_pod("n", NEW, waits="ImagePullBackOff")


def test_a_release_runs_where_its_two_pods_are_all_and_one_of_them_leads() -> None:
    assert a_cluster((A, B), "a").runs(OLD)
    assert not a_cluster((A, B), "a").runs(NEW)
    assert not a_cluster((A, B), "somebody").runs(OLD)
    assert not a_cluster((A, B, WAITS), "a").runs(OLD)
    assert not a_cluster((A, a_pod("n", NEW)), "a").runs(NEW)


def test_a_release_is_kept_where_it_stands_and_the_next_is_not_pulled() -> None:
    assert a_cluster((A, B, WAITS), "a").is_kept(OLD, NEW)
    assert not a_cluster((A, WAITS), "a").is_kept(OLD, NEW)
    assert not a_cluster((A, B, a_pod("n", NEW, waits="ContainerCreating")), "a").is_kept(OLD, NEW)
    assert not a_cluster((A, B), "a").is_kept(OLD, NEW)
