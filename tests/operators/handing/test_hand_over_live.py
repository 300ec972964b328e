"""A hand-over on a real API server beside the real garbage collector, interrupted after each write."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shiplift.api import crd
from shiplift.facts.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    NAMESPACE,
    OPERATOR_VERSION,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    Kind,
)
from shiplift.kube.client import Client
from shiplift.kube.errors import NotFound
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component, Settings
from shiplift.operators.handing.acting import act
from shiplift.operators.handing.ownership import OWNER, Owner, owned_meta, reference
from shiplift.operators.handing.steps import HandOver, step
from shiplift.operators.model import Owned
from shiplift.operators.observe import pieces
from tests.operators.crds.test_existing_live import served
from tests.until import until

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
ROLE, ROLE_BINDING = Kind("Role", "roles", RBAC), Kind("RoleBinding", "rolebindings", RBAC)
CLUSTER_ROLE = Kind("ClusterRole", "clusterroles", RBAC, namespaced=False)
CLUSTER_ROLE_BINDING = Kind("ClusterRoleBinding", "clusterrolebindings", RBAC, namespaced=False)
WEBHOOK = Kind(
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    namespaced=False,
)
COLLECTED = Settings(components=(Component.ETCD, Component.API_SERVER, Component.CONTROLLERS))
OPS, ELSEWHERE = "ops", "elsewhere"
Made = tuple[Kind, str, str]
"""Kind, namespace and name of an object."""


def bodies(name: str) -> list[tuple[Kind, str, Json]]:
    """Twelve objects: in the operator's namespace, in another, and in none."""
    pod = {"containers": [{"name": "main", "image": "example/app"}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    deployment = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
    names = {"kind": "Buoy", "plural": f"{name}s"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    group = f"{name}.harbour.example"
    definition = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return [
        (CONFIG_MAP, OPS, {}),
        (SECRET, OPS, {}),
        (SERVICE, OPS, {"spec": {"ports": [{"port": 80}]}}),
        (SERVICE_ACCOUNT, OPS, {}),
        (DEPLOYMENT, OPS, {"spec": deployment}),
        (ROLE, OPS, {}),
        (ROLE_BINDING, OPS, {"roleRef": role}),
        (CONFIG_MAP, ELSEWHERE, {}),
        (CLUSTER_ROLE, "", {}),
        (CLUSTER_ROLE_BINDING, "", {"roleRef": role}),
        (WEBHOOK, "", {}),
        (CUSTOM_RESOURCE_DEFINITION, "", {"spec": definition, "name": f"{name}s.{group}"}),
    ]


class Harbour:
    """Two versions of an operator, and what the first of them owns."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.old, self.new = (self._owner(name) for name in ("app.v1.0.0", "app.v1.1.0"))

    def _owner(self, name: str) -> Owner:
        deployment = {"name": "app", "spec": {}}
        spec = {
            "appType": "app",
            "package": "app",
            "version": name.removeprefix("app.v"),
            "installStrategy": {"deployments": [deployment]},
        }
        made = self.client.create(OPERATOR_VERSION, {"metadata": {"name": name}, "spec": spec}, OPS).object
        return Owner(OPS, name, made["metadata"]["uid"])

    def make(self, prefix: str) -> list[Made]:
        return [self._make(*one) for number in (1, 2) for one in self._named(f"{prefix}n{number}")]

    def _named(self, name: str) -> Iterator[tuple[Kind, str, str, Json]]:
        for kind, namespace, body in bodies(name):
            yield kind, namespace, body.pop("name", name), body

    def _make(self, kind: Kind, namespace: str, name: str, body: Json) -> Made:
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        self.client.create(kind, {**body, "metadata": owned_meta(meta, self.old)}, namespace)
        return kind, namespace, name

    def make_plainly(self, count: int) -> list[Made]:
        """Of five kinds, one of them in no namespace."""
        kinds = (CONFIG_MAP, SECRET, SERVICE_ACCOUNT, ROLE, CLUSTER_ROLE)
        found: list[Made] = []
        for number in range(count):
            kind = kinds[number % len(kinds)]
            found.append(self._make(kind, OPS if kind.namespaced else "", f"n{number}", {}))
        return found

    def _found(self, made: list[Made]) -> dict[str, Owned]:
        """All that belongs to either, by uid."""
        kinds = sorted({kind for kind, _, _ in made})
        owned = pieces.owned(self.client, kinds, {self.old: (), self.new: ()})
        every = [one for listed in owned.values() for one in listed if one.meta["name"] != "sentinel"]
        return {one.meta["uid"]: one for one in every}

    def left(self, made: list[Made]) -> list[HandOver]:
        steps = [
            step(one.kind, {"metadata": one.meta}, self.old, self.new) for one in self._found(made).values()
        ]
        return [one for one in steps if one is not None]

    def check_all(self, made: list[Made]) -> list[str]:
        """Each is there, belongs to one of both, and is controlled by one where that can be said."""
        found = self._found(made)
        assert len(found) == len(made)
        for one in found.values():
            controls = [each.get("controller") for each in one.meta.get("ownerReferences") or ()]
            assert sum(map(bool, controls)) == (1 if one.kind.namespaced else 0)
            assert not one.leaving
        return list(found)

    def hand_over(self, objects: list[Made], most: int | None = None) -> int:
        """As many writes as are left, or as many as somebody gets to make; how many were made."""
        writes = 0
        for kind, namespace, name in objects:
            while wanted := step(kind, self.live(kind, namespace, name), self.old, self.new):
                if writes == most:
                    return writes
                assert act(self.client, wanted).ok
                writes += 1
                self.check(kind, namespace, name)
        return writes

    def live(self, kind: Kind, namespace: str, name: str) -> Json:
        return self.client.get(kind, name, namespace)

    def check(self, kind: Kind, namespace: str, name: str) -> None:
        """Owned by somebody who is there, controlled by one at most; no reference where it is deadly."""
        meta = self.live(kind, namespace, name)["metadata"]
        references = meta.get("ownerReferences", [])
        assert "deletionTimestamp" not in meta
        assert meta["labels"][OWNER] in (self.old.label, self.new.label)
        assert bool(references) is (namespace == OPS)
        assert {one["uid"] for one in references} <= {self.old.uid, self.new.uid}
        assert sum(one.get("controller", False) for one in references) <= 1

    def delete_old(self) -> None:
        """As bluntly as anybody can: the collector deletes whatever has no other owner."""
        self.client.delete(OPERATOR_VERSION, self.old.name, OPS, uid=self.old.uid)

    def is_gone(self, kind: Kind, namespace: str, name: str) -> bool:
        try:
            self.live(kind, namespace, name)
        except NotFound:
            return True
        return False


@pytest.fixture
def harbour(private_cluster: Callable[..., Cluster]) -> Iterator[Harbour]:
    with private_cluster(COLLECTED).client() as client:
        client.create(CUSTOM_RESOURCE_DEFINITION, crd.manifest(OPERATOR_VERSION))
        served(client, OPERATOR_VERSION)
        for namespace in (OPS, ELSEWHERE):
            client.create(NAMESPACE, {"metadata": {"name": namespace}})
        yield Harbour(client)


@pytest.mark.long(seconds=45)
def test_wherever_it_is_interrupted_nothing_is_lost(harbour: Harbour) -> None:
    sentinel = {"name": "sentinel", "ownerReferences": [reference(harbour.old, controller=True)]}
    harbour.client.create(CONFIG_MAP, {"metadata": sentinel}, OPS)
    objects: list[Made] = []
    for interrupted in itertools.count():
        made = harbour.make(f"i{interrupted}")
        objects += made
        writes = harbour.hand_over(made, interrupted)
        rest = harbour.hand_over(made)
        assert harbour.hand_over(made) == 0
        assert writes + rest == 38, "14 in the namespace with two writes each, 10 elsewhere with one"
        if not rest:
            break
    assert interrupted == 38
    harbour.delete_old()
    until(lambda: harbour.is_gone(CONFIG_MAP, OPS, "sentinel"), 120)
    assert len(objects) == 39 * 24
    assert [one for one in objects if harbour.is_gone(*one)] == []
    for one in objects:
        harbour.check(*one)


def test_of_five_hundred_objects_none_is_lost_wherever_fifty_are_interrupted(harbour: Harbour) -> None:
    """Whoever comes next finds by their labels what is left to do, as the layer does."""
    made = harbour.make_plainly(500)
    sentinel = {"name": "sentinel", "ownerReferences": [reference(harbour.old, controller=True)]}
    harbour.client.create(CONFIG_MAP, {"metadata": sentinel}, OPS)
    moments = sorted(random.Random(20).sample(range(1, 800), 50))
    writes = 0
    for last in [*moments, None]:
        for wanted in harbour.left(made):
            if writes == last:
                break
            assert act(harbour.client, wanted).ok
            writes += 1
        while last is None and (rest := harbour.left(made)):
            writes += sum(act(harbour.client, one).ok for one in rest)
        harbour.check_all(made)
    assert writes == 400 * 2 + 100, "two writes each in the namespace, one each elsewhere"
    harbour.delete_old()
    until(lambda: harbour.is_gone(CONFIG_MAP, OPS, "sentinel"), 120)
    assert len(harbour.check_all(made)) == 500


def test_without_a_hand_over_the_collector_would_delete_what_the_old_version_owns(harbour: Harbour) -> None:
    """What the test above would see, were a reference forgotten."""
    made = harbour.make("lost")
    inside = [one for one in made if one[1] == OPS]
    harbour.delete_old()
    until(lambda: all(harbour.is_gone(*one) for one in inside), 120)
    assert not any(harbour.is_gone(*one) for one in made if one[1] != OPS)
