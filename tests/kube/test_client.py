"""The verbs against a real API server: what each precondition is answered, and what each write promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shiplift.engine.barrier import Gone, Seen
from shiplift.facts.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    NAMESPACE,
    POD,
    POD_DISRUPTION_BUDGET,
    Kind,
)
from shiplift.kube import errors
from shiplift.kube.client import APPLY_MANAGER, Client, PatchType, Written
from shiplift.kube.credentials import load
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from tests.kube.objects import deployment, pod, uid
from tests.until import until

OTHER_UID = "00000000-0000-0000-0000-000000000000"
THING = Kind("Thing", "things", "example.com", namespaced=False)
Object = dict[str, Any]


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.credentials(), field_manager="shiplift-7") as made:
        yield made


def version(thing: Object) -> str:
    return thing["metadata"]["resourceVersion"]


def managers(thing: Object) -> set[str]:
    return {entry["manager"] for entry in thing["metadata"]["managedFields"]}


BLUE: list[tuple[PatchType, Any]] = [
    (PatchType.MERGE, {"data": {"colour": "blue"}}),
    (PatchType.STRATEGIC, {"data": {"colour": "blue"}}),
    (PatchType.JSON, [{"op": "replace", "path": "/data/colour", "value": "blue"}]),
]


def test_a_created_object_is_answered_with_its_version_to_wait_for(client: Client, namespace: str) -> None:
    written = client.create(CONFIG_MAP, {"metadata": {"name": "new"}, "data": {"size": "1"}}, namespace)
    assert written.barrier == Seen(CONFIG_MAP, int(version(written.object)))
    assert managers(client.get(CONFIG_MAP, "new", namespace)) == {"shiplift-7"}


def test_a_name_that_is_taken_is_not_created_again(client: Client, namespace: str, config: Object) -> None:
    with pytest.raises(errors.AlreadyExists):
        client.create(CONFIG_MAP, {"metadata": {"name": "settings"}}, namespace)


def test_a_dry_run_leaves_nothing_and_has_nothing_to_wait_for(client: Client, namespace: str) -> None:
    assert client.create(CONFIG_MAP, {"metadata": {"name": "dry"}}, namespace, dry_run=True).barrier is None
    with pytest.raises(errors.NotFound):
        client.get(CONFIG_MAP, "dry", namespace)


@pytest.mark.parametrize(("kind", "patch"), BLUE)
def test_a_patch_changes_the_object_it_means(
    client: Client, namespace: str, config: Object, kind: PatchType, patch: Any
) -> None:
    written = client.patch(
        CONFIG_MAP, "settings", patch, namespace, type=kind, uid=uid(config), resource_version=version(config)
    )
    assert written.object["data"] == {"colour": "blue"}
    assert written.barrier == Seen(CONFIG_MAP, int(version(written.object)))
    assert "shiplift-7" in managers(written.object)


@pytest.mark.parametrize(("kind", "patch"), BLUE)
def test_a_patch_of_another_object_by_the_same_name_fails_its_precondition(
    client: Client, namespace: str, config: Object, kind: PatchType, patch: Any
) -> None:
    with pytest.raises(errors.PreconditionFailed):
        client.patch(CONFIG_MAP, "settings", patch, namespace, type=kind, uid=OTHER_UID)
    assert client.get(CONFIG_MAP, "settings", namespace)["data"] == {"colour": "red"}


@pytest.mark.parametrize(("kind", "patch"), BLUE)
def test_a_patch_of_a_stale_version_conflicts(
    client: Client, namespace: str, config: Object, kind: PatchType, patch: Any
) -> None:
    with pytest.raises(errors.Conflict):
        client.patch(
            CONFIG_MAP, "settings", patch, namespace, type=kind, uid=uid(config), resource_version="1"
        )


def test_a_failed_test_of_the_callers_own_is_invalid_and_not_a_precondition(
    client: Client, namespace: str, config: Object
) -> None:
    own = [{"op": "test", "path": "/data/colour", "value": "green"}]
    with pytest.raises(errors.Invalid):
        client.patch(CONFIG_MAP, "settings", own, namespace, type=PatchType.JSON, uid=uid(config))


def a_deployment(client: Client, namespace: str) -> Object:
    """Where no controller runs, so that nobody else changes it."""
    client.create(NAMESPACE, {"metadata": {"name": namespace}})
    labels = {"app": "web"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pods}
    return client.create(DEPLOYMENT, {"metadata": {"name": "web"}, "spec": spec}, namespace).object


def scale(client: Client, namespace: str, replicas: int, **guards: str) -> Written:
    patch = {"spec": {"replicas": replicas}}
    return client.patch(
        DEPLOYMENT,
        "web",
        patch,
        namespace,
        uid=guards["uid"],
        resource_version=guards.get("version"),
        subresource="scale",
    )


def test_scaling_means_one_version_of_one_object_too(private_cluster: Callable[..., Cluster]) -> None:
    with private_cluster().client() as client:
        made = a_deployment(client, "space")
        with pytest.raises(errors.PreconditionFailed):
            scale(client, "space", 2, uid=OTHER_UID)
        with pytest.raises(errors.Conflict):
            scale(client, "space", 2, uid=uid(made), version="1")
        written = scale(client, "space", 2, uid=uid(made), version=version(made))
        after = client.get(DEPLOYMENT, "web", "space")
    assert after["spec"]["replicas"] == 2
    assert written.barrier == Seen(DEPLOYMENT, int(version(after)))


def test_an_update_replaces_the_version_it_was_read_with(client: Client, config: Object) -> None:
    written = client.update(CONFIG_MAP, {**config, "data": {"shape": "round"}})
    assert written.object["data"] == {"shape": "round"}
    with pytest.raises(errors.Conflict):
        client.update(CONFIG_MAP, {**config, "data": {}})


def test_an_update_of_another_object_by_the_same_name_fails_its_precondition(
    client: Client, config: Object
) -> None:
    with pytest.raises(errors.PreconditionFailed):
        client.update(CONFIG_MAP, {**config, "metadata": {**config["metadata"], "uid": OTHER_UID}})


@pytest.mark.parametrize("missing", ["uid", "resourceVersion"])
def test_an_update_without_its_preconditions_is_never_sent(
    client: Client, config: Object, missing: str
) -> None:
    del config["metadata"][missing]
    with pytest.raises(ValueError, match="needs the uid and resourceVersion"):
        client.update(CONFIG_MAP, config)


def test_apply_owns_its_fields_under_one_name_whatever_the_clients(
    client: Client, namespace: str, config: Object
) -> None:
    ours = {"metadata": {"name": "settings", "namespace": namespace}, "data": {"size": "1"}}
    written = client.apply(CONFIG_MAP, ours, uid=uid(config))
    assert written.object["data"] == {"colour": "red", "size": "1"}
    assert APPLY_MANAGER in managers(written.object)


def test_apply_to_an_object_that_is_gone_creates_no_ghost(
    client: Client, namespace: str, config: Object
) -> None:
    client.delete(CONFIG_MAP, "settings", namespace, uid=uid(config))
    ours = {"metadata": {"name": "settings", "namespace": namespace}, "data": {"size": "1"}}
    with pytest.raises(errors.PreconditionFailed):
        client.apply(CONFIG_MAP, ours, uid=uid(config), resource_version=version(config))
    with pytest.raises(errors.NotFound):
        client.get(CONFIG_MAP, "settings", namespace)


def test_apply_to_another_object_by_the_same_name_fails_its_precondition(
    client: Client, namespace: str, config: Object
) -> None:
    ours = {"metadata": {"name": "settings", "namespace": namespace}, "data": {"size": "1"}}
    with pytest.raises(errors.PreconditionFailed):
        client.apply(CONFIG_MAP, ours, uid=OTHER_UID)


def test_apply_with_a_version_alone_is_never_sent(client: Client, namespace: str) -> None:
    with pytest.raises(ValueError, match="needs the uid too"):
        client.apply(CONFIG_MAP, {"metadata": {"name": "x"}}, uid=None, resource_version="1")


def test_apply_without_a_uid_may_create(client: Client, namespace: str) -> None:
    ours = {"metadata": {"name": "fresh", "namespace": namespace}, "data": {"size": "1"}}
    assert client.apply(CONFIG_MAP, ours, uid=None).object["data"] == {"size": "1"}


def test_apply_conflicts_with_a_field_of_somebody_else_unless_forced(
    client: Client, namespace: str, config: Object
) -> None:
    ours = {"metadata": {"name": "settings", "namespace": namespace}, "data": {"colour": "blue"}}
    with pytest.raises(errors.Conflict, match="colour"):
        client.apply(CONFIG_MAP, ours, uid=uid(config))
    assert client.apply(CONFIG_MAP, ours, uid=uid(config), force=True).object["data"] == {"colour": "blue"}


def test_a_delete_waits_for_the_uid_and_not_for_a_version(
    client: Client, namespace: str, config: Object
) -> None:
    written = client.delete(
        CONFIG_MAP, "settings", namespace, uid=uid(config), resource_version=version(config)
    )
    assert written.barrier == Gone(CONFIG_MAP, uid(config))
    with pytest.raises(errors.NotFound):
        client.get(CONFIG_MAP, "settings", namespace)


def test_a_delete_of_another_object_or_version_is_refused(
    client: Client, namespace: str, config: Object
) -> None:
    with pytest.raises(errors.PreconditionFailed):
        client.delete(CONFIG_MAP, "settings", namespace, uid=OTHER_UID)
    with pytest.raises(errors.Conflict):
        client.delete(CONFIG_MAP, "settings", namespace, uid=uid(config), resource_version="1")
    assert client.get(CONFIG_MAP, "settings", namespace)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_is_none_never_becomes_a_request_for_all_objects(client: Client, name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        client.delete(CONFIG_MAP, name, "default", uid=OTHER_UID)


def test_a_name_with_a_slash_stays_one_name(client: Client, namespace: str) -> None:
    with pytest.raises(errors.NotFound):
        client.get(CONFIG_MAP, "../secrets/x", namespace)


def test_a_namespaced_object_needs_its_namespace(client: Client) -> None:
    with pytest.raises(ValueError, match="needs a namespace"):
        client.get(CONFIG_MAP, "settings")


@pytest.mark.parametrize("limit", [1, 2, 500])
def test_a_list_is_whole_whatever_the_size_of_its_pages(client: Client, namespace: str, limit: int) -> None:
    names = {f"item-{number}" for number in range(5)}
    for name in names:
        client.create(CONFIG_MAP, {"metadata": {"name": name, "labels": {"mine": "yes"}}}, namespace)
    found = client.list(CONFIG_MAP, namespace, label_selector="mine=yes", limit=limit)
    assert {item["metadata"]["name"] for item in found} == names
    one = client.list(CONFIG_MAP, namespace, field_selector="metadata.name=item-3")
    assert [item["metadata"]["name"] for item in one] == ["item-3"]


def test_a_list_whose_pages_were_compacted_says_so(private_cluster: Callable[[], Cluster]) -> None:
    own = private_cluster()
    with Client(own.credentials()) as client:
        for number in range(4):
            client.create(CONFIG_MAP, {"metadata": {"name": f"item-{number}"}}, "default")
        pages = client.list(CONFIG_MAP, "default", limit=2)
        next(pages)
        client.create(CONFIG_MAP, {"metadata": {"name": "later"}}, "default")
        own.compact()
        own.restart(Component.API_SERVER)  # which forgets the past versions that it still served from memory
        with pytest.raises(errors.Gone, match="start it again"):
            list(pages)


@pytest.fixture
def thing(client: Client, namespace: str) -> Object:
    """A custom resource with a status of its own."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {**schema, "properties": {"status": schema}}},
    }
    names = {"plural": "things", "kind": "Thing", "singular": "thing"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [served]}
    body = {"metadata": {"name": "things.example.com"}, "spec": spec}
    client.apply(CUSTOM_RESOURCE_DEFINITION, body, uid=None)

    def created() -> Object | None:
        try:
            return client.create(THING, {"metadata": {"name": namespace}}).object
        except errors.NotFound:
            return None

    return until(created)


def test_the_status_of_a_custom_resource_needs_a_version_because_its_uid_is_not_checked(
    client: Client, thing: Object
) -> None:
    name, change = thing["metadata"]["name"], {"status": {"phase": "done"}}
    ignored = b'{"metadata":{"uid":"%s"},"status":{"phase":"ignored"}}' % OTHER_UID.encode()
    path = THING.path("", name, "status")
    client.raw("PATCH", path, body=ignored, content_type=PatchType.MERGE.value)
    assert client.get(THING, name)["status"] == {"phase": "ignored"}, (
        "the server would check the uid after all"
    )

    with pytest.raises(ValueError, match="needs a resourceVersion"):
        client.patch(THING, name, change, uid=uid(thing), subresource="status")
    with pytest.raises(ValueError, match="needs a resourceVersion"):
        client.apply(THING, {**change, "metadata": {"name": name}}, uid=uid(thing), subresource="status")
    with pytest.raises(errors.Conflict):
        client.patch(
            THING, name, change, uid=uid(thing), resource_version=version(thing), subresource="status"
        )


def test_the_status_of_a_custom_resource_is_json_patched_by_uid(client: Client, thing: Object) -> None:
    name, add = thing["metadata"]["name"], [{"op": "add", "path": "/status", "value": {"phase": "done"}}]
    with pytest.raises(errors.PreconditionFailed):
        client.patch(THING, name, add, type=PatchType.JSON, uid=OTHER_UID, subresource="status")
    written = client.patch(THING, name, add, type=PatchType.JSON, uid=uid(thing), subresource="status")
    assert written.object["status"] == {"phase": "done"}


def test_a_scale_is_patched_by_uid(client: Client, namespace: str) -> None:
    made = client.create(DEPLOYMENT, deployment("web", 0), namespace).object
    change = {"spec": {"replicas": 1}}
    with pytest.raises(errors.PreconditionFailed):
        client.patch(DEPLOYMENT, "web", change, namespace, uid=OTHER_UID, subresource="scale")
    written = client.patch(DEPLOYMENT, "web", change, namespace, uid=uid(made), subresource="scale")
    assert written.object["spec"]["replicas"] == 1


def running_pod(client: Client, namespace: str, name: str = "web") -> Object:
    """A pod that the budgets count, though no kubelet has ever heard of it."""
    made = client.create(POD, pod(name, labels={"app": "web"}, schedulerName="nobody"), namespace).object
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    return client.patch(POD, name, ready, namespace, uid=uid(made), subresource="status").object


def budget(client: Client, namespace: str, name: str = "web") -> Object:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    return client.create(POD_DISRUPTION_BUDGET, {"metadata": {"name": name}, "spec": spec}, namespace).object


def test_an_eviction_waits_for_the_uid(client: Client, namespace: str) -> None:
    made = running_pod(client, namespace)
    asked = client.evict("web", namespace, uid=uid(made), dry_run=True)
    assert asked.barrier is None
    assert "deletionTimestamp" not in client.get(POD, "web", namespace)["metadata"]
    assert client.evict("web", namespace, uid=uid(made)).barrier == Gone(POD, uid(made))


def test_an_eviction_of_another_pod_by_the_same_name_fails_its_precondition(
    client: Client, namespace: str
) -> None:
    running_pod(client, namespace)
    with pytest.raises(errors.PreconditionFailed):
        client.evict("web", namespace, uid=OTHER_UID)
    assert client.get(POD, "web", namespace)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_budget_that_allows_nothing_says_what_it_needs(
    client: Client, namespace: str, dry_run: bool
) -> None:
    made = running_pod(client, namespace)
    budget(client, namespace)
    until(lambda: "conditions" in client.get(POD_DISRUPTION_BUDGET, "web", namespace).get("status", {}))
    with pytest.raises(errors.BudgetExhausted, match="budget web needs 1 healthy pods and has 1 currently"):
        client.evict("web", namespace, uid=uid(made), dry_run=dry_run)


@pytest.mark.parametrize("dry_run", [True, False])
def test_two_budgets_on_a_pod_are_told_apart_from_a_server_in_trouble(
    client: Client, namespace: str, dry_run: bool
) -> None:
    made = running_pod(client, namespace)
    budget(client, namespace, "one")
    budget(client, namespace, "two")
    with pytest.raises(errors.TwoBudgets):
        client.evict("web", namespace, uid=uid(made), dry_run=dry_run)


def test_a_budget_that_no_controller_has_seen_yet_asks_for_patience(
    private_cluster: Callable[[], Cluster],
) -> None:
    with Client(private_cluster().credentials()) as client:
        account = b'{"metadata":{"name":"default"}}'
        client.raw("POST", "/api/v1/namespaces/default/serviceaccounts", body=account)
        made = running_pod(client, "default")
        budget(client, "default")
        with pytest.raises(errors.BudgetPending) as refusal:
            client.evict("web", "default", uid=uid(made))
        assert refusal.value.retry_after == 10


def test_an_answer_larger_than_its_limit_is_not_read_to_the_end(
    cluster: Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = load(cluster.kubeconfig)
    assert credentials.compression, "what counts is the size after unpacking"
    with Client(credentials) as client:
        client.create(CONFIG_MAP, {"metadata": {"name": "big"}, "data": {"x": "y" * 300_000}}, namespace)
        assert len(client.get(CONFIG_MAP, "big", namespace)["data"]["x"]) == 300_000
        monkeypatch.setattr("shiplift.kube.client.LIST_LIMIT", 250_000)
        with pytest.raises(errors.BadAnswer, match="larger than 250000 bytes"):
            list(client.list(CONFIG_MAP, namespace))
