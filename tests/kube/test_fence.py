"""The fence on a real API server, for a real ServiceAccount."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.facts.kinds import (
    CONFIG_MAP,
    LEASE,
    NAMESPACE,
    POD,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    Kind,
)
from shiplift.kube import credentials, fence, lease
from shiplift.kube.claims import TOUCHED
from shiplift.kube.client import APPLY_MANAGER, Client
from shiplift.kube.errors import Forbidden, NotFound
from shiplift.kube.fence import EPOCH, HOME, Fence, FenceError, Names, StaleEpoch
from shiplift.kube.fence import POD as LEADER_POD
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from tests.kube import operator_identity
from tests.until import until

KINDS = {kind.kind: kind for kind in (HOME, VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING)}
WORK = [
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"]},
]


class Setting:
    """A namespace with a ServiceAccount and the fence for it."""

    def __init__(self, cluster: Cluster, admin: Client, namespace: str, folder: Path) -> None:
        self.cluster, self.admin, self.namespace, self.folder = cluster, admin, namespace, folder
        self.names = operator_identity.names(namespace)
        self.rules = [*WORK, *lease.rules(self.names.lease), *fence.rules(self.names)]
        operator_identity.make_service_account(admin, namespace, self.rules)

    def install(self) -> None:
        """For this namespace: a cluster has one fence, and tests that run beside us have theirs."""
        here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}}
        home, policy, binding = fence.manifests(self.names, WORK)
        binding["spec"]["matchResources"] = here
        operator_identity.install(self.admin, [home, policy, binding], KINDS)

    def remove(self) -> None:
        for kind in (VALIDATING_ADMISSION_POLICY_BINDING, VALIDATING_ADMISSION_POLICY):
            with contextlib.suppress(NotFound):
                uid = self.admin.get(kind, self.names.fence)["metadata"]["uid"]
                self.admin.delete(kind, self.names.fence, uid=uid)

    def kubeconfig(self, pod: str = "") -> Path:
        bound = (
            operator_identity.make_pod(self.admin, self.namespace, pod, operator_identity.NAME)
            if pod
            else None
        )
        to = self.folder / f"kubeconfig-{pod or 'plain'}"
        return operator_identity.kubeconfig(self.admin, self.cluster.kubeconfig, to, self.namespace, bound)

    def credentials(self, pod: str = "") -> credentials.Credentials:
        return credentials.load(self.kubeconfig(pod))

    def make_lease(self) -> None:
        self.admin.create(LEASE, {"metadata": {"name": self.names.lease}}, self.namespace)

    def config_map(self, name: str) -> dict[str, Any]:
        return self.admin.get(CONFIG_MAP, name, self.namespace)

    def replace(self, name: str) -> None:
        self.drop(name)
        self.admin.create(CONFIG_MAP, {"metadata": {"name": name}}, self.namespace)

    def drop(self, name: str, kind: Kind = CONFIG_MAP) -> None:
        uid = self.admin.get(kind, name, self.namespace)["metadata"]["uid"]
        self.admin.delete(kind, name, self.namespace, uid=uid)

    def home(self) -> dict[str, Any]:
        return self.admin.get(HOME, self.names.fence, self.namespace)


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


@pytest.fixture
def setting(cluster: Cluster, admin: Client, namespace: str, tmp_path: Path) -> Iterator[Setting]:
    made = Setting(cluster, admin, namespace, tmp_path)
    yield made
    made.remove()


@pytest.fixture
def fenced(setting: Setting) -> Setting:
    setting.install()
    setting.make_lease()
    return setting


def raised(setting: Setting, epoch: int, pod: str = "") -> Fence:
    made = Fence(setting.credentials(pod), setting.names)
    made.raise_epoch(epoch)
    made.wait_effective(epoch, timeout=30)
    return made


def test_a_raised_fence_holds_for_its_epoch_and_no_other(fenced: Setting) -> None:
    made = raised(fenced, 3)
    assert made.epoch() == 3
    assert made.effective(3)
    assert not made.effective(2)
    assert not made.effective(4)


def test_raising_again_changes_nothing_and_going_back_is_refused(fenced: Setting) -> None:
    made = raised(fenced, 3)
    version = fenced.home()["metadata"]["resourceVersion"]
    made.raise_epoch(3)
    assert fenced.home()["metadata"]["resourceVersion"] == version
    with pytest.raises(StaleEpoch, match="epoch 2 is over: a leader of epoch 3"):
        made.raise_epoch(2)


@pytest.mark.parametrize("pod", ["", "leads"])
def test_an_epoch_that_another_process_has_raised_is_not_raised_again(fenced: Setting, pod: str) -> None:
    """Not even by the same user: nobody could tell what one sends from what the other does."""
    raised(fenced, 3, pod)
    with pytest.raises(StaleEpoch, match="epoch 3 may be another leader's"):
        Fence(fenced.credentials(), fenced.names).raise_epoch(3)


@pytest.mark.parametrize(
    ("field_manager", "annotations"),
    [
        ("shiplift-2", {EPOCH: "2"}),
        ("shiplift-3", {EPOCH: "4"}),
        ("shiplift-4", {EPOCH: "4", LEADER_POD: "somebody-else"}),
        ("shiplift-3", {}),
        ("shiplift-x", {EPOCH: "x"}),
        ("shiplift", {EPOCH: "9"}),
    ],
    ids=["down", "as-another-epoch", "for-another-pod", "emptied", "not-a-number", "by-apply-manager"],
)
def test_the_api_server_itself_lets_the_epoch_only_go_up(
    fenced: Setting, field_manager: str, annotations: dict[str, str]
) -> None:
    raised(fenced, 3)
    with Client(fenced.credentials(), field_manager=field_manager) as client:
        found = client.get(HOME, fenced.names.fence, fenced.namespace)
        changed = found | {"metadata": found["metadata"] | {"annotations": annotations}}
        with pytest.raises(Forbidden, match="the epoch goes up only, from 3") as refusal:
            client.update(HOME, changed)
    assert fence.refused(refusal.value, fenced.names)


def test_a_fence_removed_and_installed_again_holds(fenced: Setting) -> None:
    raised(fenced, 3)
    fenced.remove()
    late = {"metadata": {"name": "unfenced"}}
    with Client(fenced.credentials(), field_manager="shiplift-2") as client:
        until(lambda: not fails(lambda: client.create(CONFIG_MAP, late, fenced.namespace, dry_run=True)))
        fenced.install()
        raised(fenced, 4)
        assert fails(lambda: client.create(CONFIG_MAP, late, fenced.namespace, dry_run=True))


def test_the_fence_holds_on_the_oldest_supported_server(
    private_cluster: Callable[[Settings], Cluster], tmp_path: Path
) -> None:
    old = private_cluster(Settings(components=API_ONLY, emulate="1.33"))
    with old.client() as client:
        client.create(NAMESPACE, {"metadata": {"name": "old"}})
        setting = Setting(old, client, "old", tmp_path)
        setting.install()
        setting.make_lease()
        made = raised(setting, 3)
        assert not made.effective(2)


def fails(write: Callable[[], object]) -> bool:
    try:
        write()
    except Forbidden:
        return True
    return False


def test_the_administrator_is_not_fenced(fenced: Setting) -> None:
    raised(fenced, 3)
    fenced.admin.create(CONFIG_MAP, {"metadata": {"name": "free"}}, fenced.namespace)


def test_a_missing_home_stops_the_next_leader_but_nobody_else(
    fenced: Setting,
) -> None:
    made = raised(fenced, 3)
    fenced.drop(fenced.names.fence, HOME)
    fenced.admin.create(CONFIG_MAP, {"metadata": {"name": "free"}}, fenced.namespace)
    with pytest.raises(FenceError, match=r"is missing \(hint: install"):
        made.raise_epoch(4)


def test_a_fence_that_is_not_installed_is_noticed(setting: Setting) -> None:
    setting.make_lease()
    setting.admin.create(HOME, fence.home(setting.names))
    made = Fence(setting.credentials(), setting.names)
    made.raise_epoch(1)
    with pytest.raises(
        FenceError, match=f"ValidatingAdmissionPolicy {setting.names.fence} or its binding is gone"
    ):
        made.wait_effective(1, timeout=0.2)


def test_a_fence_for_another_user_is_noticed(fenced: Setting) -> None:
    made = Fence(fenced.cluster.credentials(), fenced.names)
    with pytest.raises(FenceError, match=f"the fence is for {fenced.names.username}, but"):
        made.raise_epoch(1)


def edit_epoch(setting: Setting, text: str | None) -> None:
    edited = {"metadata": {"annotations": {EPOCH: text}}}
    uid = setting.home()["metadata"]["uid"]
    setting.admin.patch(HOME, setting.names.fence, edited, setting.namespace, uid=uid)


@pytest.mark.parametrize("text", [None, "many", "", "-1", "12345678901"])
def test_an_epoch_that_somebody_took_away_is_written_anew(fenced: Setting, text: str | None) -> None:
    raised(fenced, 7)
    edit_epoch(fenced, text)
    until(lambda: not Fence(fenced.credentials(), fenced.names).effective(7))
    raised(fenced, 8)


def test_the_last_epoch_of_all_is_an_error_with_a_way_out(fenced: Setting) -> None:
    edit_epoch(fenced, "999999999")
    with pytest.raises(FenceError, match=r"no epoch comes after that \(hint: somebody edited it"):
        Fence(fenced.credentials(), fenced.names).raise_epoch(1)


def test_missing_rights_are_named(setting: Setting, cluster: Cluster, tmp_path: Path) -> None:
    setting.install()
    role = setting.admin.get(operator_identity.ROLE, operator_identity.NAME, setting.namespace)
    setting.admin.update(operator_identity.ROLE, role | {"rules": []})
    with pytest.raises(Forbidden, match=f"get and update on ServiceAccount {setting.namespace}/"):
        Fence(setting.credentials(), setting.names).epoch()


def test_the_policy_looks_only_at_what_we_may_write() -> None:
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"], "resourceNames": ["one"]},
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    matched = fence.policy(Names("ns", "me"), rules)["spec"]["matchConstraints"]["resourceRules"]
    assert [(rule["resources"], rule["operations"], rule.get("resourceNames")) for rule in matched] == [
        (["serviceaccounts"], ["UPDATE", "DELETE"], ["shiplift-fence"]),
        (["leases"], ["CREATE", "UPDATE", "DELETE"], ["shiplift"]),
        (["deployments"], ["UPDATE"], None),
        (["pods"], ["DELETE"], ["one"]),
    ]


def test_a_name_with_quotes_cannot_change_the_policy() -> None:
    condition = fence.policy(Names("ns", 'me" || true || "'), [])["spec"]["matchConditions"][0]
    user = 'request.userInfo.username == "me\\" || true || \\""'
    assert condition["expression"].startswith(f"{user} || request.?options")


@pytest.mark.parametrize("verb", ["patch", "patch-applied", "create", "evict"])
def test_nothing_but_an_apply_passes_under_the_manager_of_applies(fenced: Setting, verb: str) -> None:
    raised(fenced, 3)
    uid = operator_identity.make_pod(fenced.admin, fenced.namespace, "target")["metadata"]["uid"]
    with Client(fenced.credentials(), field_manager=APPLY_MANAGER) as client:
        if verb == "patch-applied":
            write(client, "apply", fenced.namespace, uid)
        with pytest.raises(Forbidden, match="field manager shiplift is not of the current epoch 3"):
            write(client, verb.partition("-")[0], fenced.namespace, uid, colour="green")
        write(client, "apply", fenced.namespace, uid)


def test_a_delete_that_does_not_say_which_version_it_means_is_refused(fenced: Setting) -> None:
    raised(fenced, 3)
    meta = operator_identity.make_pod(fenced.admin, fenced.namespace, "target")["metadata"]
    with Client(fenced.credentials(), field_manager="shiplift-3") as client:
        with pytest.raises(Forbidden, match="a delete has to name uid and resourceVersion"):
            client.delete(POD, "target", fenced.namespace, uid=meta["uid"])
        with pytest.raises(Forbidden, match="a delete has to name uid and resourceVersion"):
            client.raw("DELETE", POD.path(fenced.namespace, "target"))
        write(client, "delete", fenced.namespace, meta["uid"])


def test_what_anybody_writes_as_an_epoch_is_fenced_by_it(fenced: Setting) -> None:
    """As what we send by impersonation: the user is somebody else, and runs in no pod."""
    raised(fenced, 3, "leads")
    new = {"metadata": {"name": "new"}}
    for epoch, passes in ((2, False), (3, True)):
        with Client(fenced.cluster.credentials(), field_manager=f"shiplift-{epoch}") as client:
            assert fails(lambda client=client: client.create(CONFIG_MAP, new, fenced.namespace)) != passes


@pytest.mark.parametrize("verb", ["delete", "apply", "patch", "evict"])
def test_only_the_pod_that_leads_may_write(fenced: Setting, verb: str) -> None:
    """A bound token tells which pod asks, so that even what carries no epoch is fenced."""
    leading, other = (fenced.credentials(pod) for pod in ("leads", "follows"))
    made = Fence(leading, fenced.names)
    made.raise_epoch(1)
    made.wait_effective(1, timeout=30)
    uid = operator_identity.make_pod(fenced.admin, fenced.namespace, "target")["metadata"]["uid"]
    with Client(other, field_manager="shiplift-1") as client:
        with pytest.raises(Forbidden, match="is not the leader of epoch 1") as refusal:
            write(client, verb, fenced.namespace, uid)
        assert fence.refused(refusal.value, fenced.names)
    with Client(leading, field_manager="shiplift-1") as client:
        write(client, verb, fenced.namespace, uid)


def write(client: Client, verb: str, namespace: str, uid: str, colour: str = "blue") -> object:
    label = {"metadata": {"name": "target", "namespace": namespace, "labels": {"colour": colour}}}
    return {
        "delete": lambda: client.delete(
            POD,
            "target",
            namespace,
            uid=uid,
            resource_version=client.get(POD, "target", namespace)["metadata"]["resourceVersion"],
        ),
        "create": lambda: client.create(CONFIG_MAP, {"metadata": {"name": "new"}}, namespace),
        "apply": lambda: client.apply(POD, label, uid=uid),
        "patch": lambda: client.patch(POD, "target", label, namespace, uid=uid),
        "evict": lambda: client.evict("target", namespace, uid=uid),
    }[verb]()


# --- two real operators, the leader stopped between its claim and its write ---


class Process:
    """One operator, told what to do on its stdin."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.kube.operator_driver", kubeconfig, namespace],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, command: str) -> dict[str, Any]:
        self.send(command)
        return self.hear()

    def send(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the operator ended"
        return json.loads(line)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


@pytest.fixture
def operators() -> Iterator[Callable[[Path, str], Process]]:
    started: list[Process] = []

    def start(kubeconfig: Path, namespace: str) -> Process:
        started.append(Process(kubeconfig, namespace))
        return started[-1]

    yield start
    for process in started:
        process.close()


FROM_ANYWHERE = {
    "patch": "refused by the fence",
    "evict": "refused by the fence",
    "delete": "Conflict",
    "apply": "accepted",
    "apply-replaced": "PreconditionFailed",
    "apply-removed": "PreconditionFailed",
}
FROM_A_POD = FROM_ANYWHERE | {"apply": "refused by the fence"}


@pytest.mark.crash
@pytest.mark.parametrize(
    ("pods", "expected"), [(("", ""), FROM_ANYWHERE), (("a", "b"), FROM_A_POD)], ids=["anywhere", "in-pods"]
)
def test_a_leader_stopped_between_claim_and_write_does_no_harm_when_it_wakes(
    fenced: Setting,
    operators: Callable[[Path, str], Process],
    pods: tuple[str, str],
    expected: dict[str, str],
) -> None:
    targets = make_targets(fenced)
    first, second = (fenced.kubeconfig(pod) for pod in pods)
    stale = operators(first, fenced.namespace)
    before = stale.hear()["leading"]
    assert set(stale.tell("claim")["claimed"]) == set(expected)
    stale.signal(signal.SIGSTOP)

    fresh = operators(second, fenced.namespace)
    assert fresh.hear()["leading"] > before
    fenced.replace("to-replace")
    fenced.drop("to-remove")
    assert set(fresh.tell("withdraw")["withdrawn"]) == set(expected)

    stale.send("write")
    stale.signal(signal.SIGCONT)
    assert stale.hear() == expected
    assert_unharmed(fenced, targets, applied=expected["apply"] == "accepted", epoch=before)
    assert fresh.tell("stop") == {"stopped": True}


def make_targets(setting: Setting) -> dict[str, str]:
    """The uid of each pod, and the ConfigMaps beside them."""
    for name in ("state", "to-apply", "to-replace", "to-remove"):
        setting.admin.create(CONFIG_MAP, {"metadata": {"name": name}}, setting.namespace)
    pods = ("to-patch", "to-evict", "to-delete")
    return {
        name: operator_identity.make_pod(setting.admin, setting.namespace, name)["metadata"]["uid"]
        for name in pods
    }


def assert_unharmed(setting: Setting, pods: dict[str, str], *, applied: bool, epoch: int) -> None:
    for name, uid in pods.items():
        meta = setting.admin.get(POD, name, setting.namespace)["metadata"]
        assert meta["uid"] == uid
        assert "deletionTimestamp" not in meta
        assert "late" not in meta.get("annotations", {})
        assert TOUCHED not in meta.get("labels", {})
    assert setting.config_map("to-apply").get("data") == ({"by": f"epoch {epoch}"} if applied else None)
    assert "data" not in setting.config_map("to-replace")
    with pytest.raises(NotFound):
        setting.config_map("to-remove")
