"""Who may approve and who may write hooks, asked by a real API server of real users."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import PROVIDER_LABEL
from shiplift.facts.kinds import (
    NAMESPACE,
    NODE_ROLLOUT,
    OPERATOR_VERSION,
    UPGRADE_CONFIG,
    Kind,
)
from shiplift.kube import authors, credentials, rbac
from shiplift.kube.account import Account
from shiplift.kube.client import Client, PatchType
from shiplift.kube.errors import Forbidden
from shiplift.kube.fence import HOME, service_account
from shiplift.kube.manifests import kind_of
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.cluster import Cluster
from tests.api.api_examples import changed, full, minimal
from tests.until import until

Json = dict[str, Any]
PEOPLE = "people"
DIGEST = "sha256:" + "a" * 64
OURS = rbac.rule(UPGRADE_CONFIG.group, ["*"], ["get", "create", "update", "patch", "delete"])
JOBS = rbac.rule("batch", ["jobs"], ["create"])
APPROVES = rbac.rule(UPGRADE_CONFIG.group, [UPGRADE_CONFIG.plural], [authors.APPROVE])


class People:
    """Users with rights of their own, each a ServiceAccount."""

    def __init__(self, admin: Client, like: Path, folder: Path) -> None:
        self._admin, self._like, self._folder = admin, like, folder
        self._clients: list[Client] = []
        admin.create(NAMESPACE, {"metadata": {"name": PEOPLE}})

    def client(self, name: str, *rules: Mapping[str, Any], jobs_in: str = "") -> Client:
        self._admin.create(HOME, {"metadata": {"name": name}}, PEOPLE)
        self._grant(rbac.role(name, [OURS, *rules]), name)
        if jobs_in:
            self._grant(rbac.role(name, [JOBS], jobs_in), name)
        client = Client(
            credentials.load(kubeconfig_of(Account(PEOPLE, name), self._like, self._folder / name))
        )
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def _grant(self, role: Json, name: str) -> None:
        for manifest in (role, rbac.binding(role, name, PEOPLE)):
            self._admin.create(kind_of(manifest), manifest, manifest["metadata"].get("namespace", ""))


@pytest.fixture(scope="module")
def people(client: Client, api_server: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    there = [
        *authors.approvals(),
        *authors.turn_hooks(),
        *authors.node_hooks(),
        *authors.hand_overs(),
    ]
    for manifest in there:
        client.create(kind_of(manifest), manifest)
    found = People(client, api_server.kubeconfig, tmp_path_factory.mktemp("people"))
    yield found
    found.close()
    for manifest in there:
        kind, name = kind_of(manifest), manifest["metadata"]["name"]
        client.delete(kind, name, uid=client.get(kind, name)["metadata"]["uid"])
    # other tests share the server, which forgets policies a moment later
    for kind in (UPGRADE_CONFIG, NODE_ROLLOUT, OPERATOR_VERSION):
        until(lambda kind=kind: not refused(lambda: create(client, full(kind))), 60)


@pytest.fixture(scope="module")
def editor(people: People) -> Client:
    """May write all of our kinds, and nothing else; the policies are in force once it is refused."""
    editor = people.client("editor")
    until(lambda: refused(lambda: create(editor, approved(minimal(UPGRADE_CONFIG), "nobody"))))
    until(lambda: refused(lambda: create(editor, hooked("default"))))
    until(lambda: refused(lambda: create(editor, full(OPERATOR_VERSION))))
    return editor


def create(client: Client, body: Json) -> Json:
    return client.create(kind_of(body), body, body["metadata"].get("namespace", ""), dry_run=True).object


def refused(what: Callable[[], object]) -> bool:
    try:
        what()
    except Forbidden:
        return True
    return False


@contextmanager
def stored(client: Client, body: Json) -> Generator[Json]:
    kind, space = kind_of(body), body["metadata"].get("namespace", "")
    made = client.create(kind, body, space).object
    try:
        yield made
    finally:
        client.delete(kind, made["metadata"]["name"], space, uid=made["metadata"]["uid"])


def patch(client: Client, of: Json, spec: Json) -> Json:
    kind, about = kind_of(of), of["metadata"]
    return client.patch(
        kind,
        about["name"],
        {"spec": spec},
        type=PatchType.MERGE,
        uid=about["uid"],
        resource_version=about["resourceVersion"],
        dry_run=True,
    ).object


def approval(by: str) -> Json:
    return {"version": "v1.36.3", "planDigest": DIGEST, "by": by}


def approved(config: Json, by: str) -> Json:
    return changed(config, "spec.approved", approval(by))


def manual() -> Json:
    return changed(minimal(UPGRADE_CONFIG), "spec.approval", "Manual")


def hooked(*namespaces: str, where: str = "before") -> Json:
    hooks = [
        {"name": f"hook-{number}", "namespace": space, "serviceAccountName": "hooks", "job": {}}
        for number, space in enumerate(namespaces)
    ]
    return changed(minimal(NODE_ROLLOUT), "spec.hooks", {where: hooks})


# --- approvals ---


def test_who_may_only_edit_cannot_approve_and_is_told_what_it_takes(client: Client, editor: Client) -> None:
    user = service_account(PEOPLE, "editor")
    with stored(client, manual()) as config, pytest.raises(Forbidden) as refusal:
        patch(editor, config, {"approved": approval(user)})
    assert f"user {user} may not approve upgrades" in refusal.value.message
    assert "the verb approve on upgradeconfigs.shiplift.dev" in refusal.value.message


def test_who_may_approve_does_so_in_their_own_name_only(
    client: Client, people: People, editor: Client
) -> None:
    approver, user = people.client("approver", APPROVES), service_account(PEOPLE, "approver")
    with stored(client, manual()) as config:
        assert patch(approver, config, {"approved": approval(user)})["spec"]["approved"]["by"] == user
        with pytest.raises(Forbidden, match=f"approved.by of UpgradeConfig cluster must be who asks: {user}"):
            patch(approver, config, {"approved": approval("the-boss")})
        assert patch(editor, config, {"paused": True}), "what is not about approval needs no such right"


def test_who_may_not_approve_cannot_do_away_with_approvals(client: Client, editor: Client) -> None:
    with stored(client, manual()) as config, pytest.raises(Forbidden, match="may not approve upgrades"):
        patch(editor, config, {"approval": "Automatic"})


def test_who_brings_what_a_provider_says_takes_manual_off_of_that_alone(
    client: Client, people: People
) -> None:
    """As the operator does where a policy no longer asks for approval; it approves nothing by that."""
    provides = rbac.rule(UPGRADE_CONFIG.group, [UPGRADE_CONFIG.plural], [authors.PROVIDE])
    operator = people.client("operator", provides)
    with stored(client, manual()) as config:
        assert refused(lambda: patch(operator, config, {"approval": "Automatic"}))
    labels = {PROVIDER_LABEL: "HTTP"}
    with stored(client, changed(manual(), "metadata.labels", labels)) as config:
        for way in ("Automatic", None):
            assert patch(operator, config, {"approval": way})["spec"].get("approval") != "Manual"
        asked = {"approval": "Automatic", "approved": approval(name_of(operator))}
        assert refused(lambda: patch(operator, config, asked))


def test_an_approval_that_is_there_stays_when_something_else_changes(client: Client, editor: Client) -> None:
    with stored(client, manual()) as config:
        given = patch_for_good(client, config, {"approved": approval(name_of(client))})
        assert patch(editor, given, {"paused": True})["spec"]["approved"]
        assert "approved" not in patch(editor, given, {"approved": None})["spec"], "it can be withdrawn"


def name_of(client: Client) -> str:
    """Whom the API server takes us for."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = client.raw("POST", path, body=msgspec.json.encode(body))
    return msgspec.json.decode(answer)["status"]["userInfo"]["username"]


def patch_for_good(client: Client, of: Json, spec: Json) -> Json:
    about = of["metadata"]
    version = about["resourceVersion"]
    kind = kind_of(of)
    return client.patch(
        kind, about["name"], {"spec": spec}, uid=about["uid"], resource_version=version
    ).object


# --- hooks ---


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_hook_is_written_only_by_who_may_create_jobs_there(
    people: People, editor: Client, where: str
) -> None:
    runner = people.client(f"runner-{where}", jobs_in="default")
    assert create(runner, hooked("default", where=where))
    with pytest.raises(Forbidden) as refusal:
        create(runner, hooked(*["default"] * 7, "kube-system", where=where))
    user = service_account(PEOPLE, f"runner-{where}")
    assert (
        f"hook {where}[7] of NodeRollout to-v1.36: user {user} may not create Jobs in namespace kube-system"
        in str(refusal.value.message)
    )


def test_as_many_hooks_as_there_may_be_are_within_what_a_policy_may_cost(people: People) -> None:
    runner = people.client("runner", jobs_in="default")
    body = hooked(*["default"] * 8)
    body["spec"]["hooks"]["after"] = body["spec"]["hooks"]["before"]
    assert create(runner, body)


def test_a_rollout_with_hooks_is_paused_by_who_may_not_write_them(client: Client, editor: Client) -> None:
    with stored(client, hooked("default")) as rollout:
        assert patch(editor, rollout, {"paused": True})["spec"]["paused"]


def test_the_hook_of_a_turn_is_written_only_by_who_may_create_jobs_there(
    people: People, editor: Client
) -> None:
    hook = {"name": "begin", "namespace": "default", "serviceAccountName": "default", "job": {}}
    body = minimal(UPGRADE_CONFIG)
    body["spec"]["turnHook"] = hook
    with pytest.raises(
        Forbidden, match=r"turnHook of UpgradeConfig cluster: user .*editor may not create Jobs in namespace"
    ):
        create(editor, body)
    assert create(people.client("turner", jobs_in="default"), body)


def test_a_hand_over_is_written_only_by_who_may_create_jobs_in_its_namespace(
    people: People, editor: Client
) -> None:
    body = full(OPERATOR_VERSION)
    with pytest.raises(
        Forbidden, match=r"handOver of OperatorVersion .*: user .*editor may not create Jobs in namespace"
    ):
        create(editor, body)
    assert create(people.client("installer", jobs_in=body["metadata"]["namespace"]), body)
    assert create(editor, minimal(OPERATOR_VERSION))


def test_while_they_cannot_be_asked_nothing_is_let_through() -> None:
    for manifest in (
        *authors.approvals(),
        *authors.turn_hooks(),
        *authors.node_hooks(),
        *authors.hand_overs(),
    ):
        if manifest["kind"] == "ValidatingAdmissionPolicy":
            assert manifest["spec"]["failurePolicy"] == "Fail"
        elif manifest["kind"] == "ValidatingAdmissionPolicyBinding":
            assert manifest["spec"]["validationActions"] == ["Deny"]


def test_no_policy_of_these_meets_what_is_not_its_kind(editor: Client) -> None:
    kinds: tuple[Kind, ...] = (UPGRADE_CONFIG, NODE_ROLLOUT, OPERATOR_VERSION)
    assert all(create(editor, minimal(kind)) for kind in kinds)
