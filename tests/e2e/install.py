"""`make e2e ONLY=install`: shiplift runs as real pods on real machines, and is upgraded there from the code
before it, with helm and with kubectl, in the middle of a rollout and in the middle of a migration.

The last line is one JSON object; the exit code is 0 when all was as it should be and no request failed.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import msgspec
import structlog

from shiplift.drain.filters import CORDON
from shiplift.facts import kinds
from shiplift.kube import credentials
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.local import guard
from shiplift.local.machines import Machines, refusal
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.target import OUR_LABELS
from tests import helm
from tests.e2e import keeping, releases, telling
from tests.e2e.releases import Release
from tests.machines import traffic
from tests.machines.rig import NEW, Rig
from tests.machines.traffic import Asking
from tests.machines.witness import Witness
from tests.until import until

Json = dict[str, Any]
SPACE, NAME = "shiplift-system", "shiplift"
SHOP = ("db", "api", "front")
"""Workloads beside the one that is asked all the time, each of which needs the one before it."""
_APPLIED = "/var/tmp/shiplift.yaml"
"""On the control plane."""
_SECONDS = 600.0
_NOT_PULLED = {"ErrImagePull", "ImagePullBackOff"}


class Report(msgspec.Struct, frozen=True):
    """The last line."""

    plans: int
    ended_well: int
    failed: tuple[str, ...]
    failed_requests: int
    requests: int
    minutes: float


class Inside(Rig):
    """The cluster; who upgrades it runs in it."""

    def __enter__(self) -> Self:
        self.prepare()
        self.bootstrap()
        self.client = Client(credentials.load(self.admin))
        until(lambda: all(self.versions(host.name).get("kubelet") for host in self.made.hosts), 90, 0.5)
        return self

    def helm(self, *words: str) -> None:
        done = helm.run(
            *words, "--namespace", SPACE, "--kubeconfig", str(self.admin), "--timeout", "4m", home=self.folder
        )
        if done.returncode:
            raise AssertionError(f"helm {' '.join(words[:2])}: {done.stderr[-600:]}")

    def kubectl(self, manifests: bytes) -> None:
        """As a person at the control plane does."""
        plane = self.made.hosts[0]
        plane.write(_APPLIED, manifests)
        words = ("apply", "--server-side", "--force-conflicts", "-f", _APPLIED)
        done = plane.run("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", *words, check=False)
        if done.returncode:
            raise AssertionError(f"kubectl apply: {done.stderr[-600:]}")

    def runs(self, release: Release) -> bool:
        """Whether two pods of it stand, and there is no other."""
        pods = self._pods()
        return len(pods) == 2 and self._stand(_of(release, pods))

    def is_kept(self, release: Release, instead_of: Release) -> bool:
        """Whether two pods of it stand, while the image of the other cannot be pulled."""
        pods = self._pods()
        why = set[str]().union(*map(telling.reasons, _of(instead_of, pods)))
        return bool(why & _NOT_PULLED) and self._stand(_of(release, pods))

    def _pods(self) -> list[Json]:
        try:
            return telling.operators(self.client, SPACE)
        except KubeError:
            return []

    def _stand(self, pods: list[Json]) -> bool:
        """Whether they are two, and ready, and one of them leads."""
        try:
            lease = self.client.get(kinds.LEASE, NAME, SPACE)
        except KubeError:
            return False
        leader = lease["spec"].get("holderIdentity") or ""
        leads = any(leader.startswith(one["metadata"]["name"]) for one in pods)
        return len(pods) == 2 and all(map(_is_ready, pods)) and leads

    def told(self) -> str:
        """What the operator's pods say, and what is said of them."""
        return telling.told(self.client, SPACE)


def _of(release: Release, pods: list[Json]) -> list[Json]:
    return [one for one in pods if one["spec"]["containers"][0]["image"] == release.image]


def _is_ready(pod: Json) -> bool:
    said = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in said)


class Pods:
    """Somebody who looks at the pods of the shop all the time."""

    def __init__(self, rig: Inside) -> None:
        self._rig, self._over = rig, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.seen: dict[str, dict[str, str]] = {}
        """By workload, by the uid of the pod: the node that it was on."""
        self.came: list[tuple[str, str]] = []
        """Workload and node, as pods came to be there."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def _look(self) -> None:
        with Client(credentials.load(self._rig.admin)) as client:
            while not self._over.wait(0.25):
                try:
                    pods = list(client.list(kinds.POD, traffic.SPACE))
                except KubeError:
                    continue
                for one in pods:
                    self._note(one)

    def _note(self, pod: Json) -> None:
        """One that is on its way out when it is first seen went before anything was begun."""
        node, app = pod["spec"].get("nodeName", ""), pod["metadata"]["labels"]["app"]
        seen = self.seen.setdefault(app, {})
        if node and "deletionTimestamp" not in pod["metadata"] and pod["metadata"]["uid"] not in seen:
            seen[pod["metadata"]["uid"]] = node
            self.came.append((app, node))


# --- the shop ---


def open_shop(client: Client) -> None:
    traffic.serve(client)
    for name in SHOP:
        labels = {"app": name}
        deployment = client.get(kinds.DEPLOYMENT, traffic.NAME, traffic.SPACE)
        pod = {
            "containers": deployment["spec"]["template"]["spec"]["containers"],
            "terminationGracePeriodSeconds": 30,
        }
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        client.create(kinds.DEPLOYMENT, {"metadata": {"name": name}, "spec": spec}, traffic.SPACE)
    until(lambda: all(_available(client, name) for name in SHOP), 120, 0.5)


def _available(client: Client, name: str) -> int:
    found = client.get(kinds.DEPLOYMENT, name, traffic.SPACE)
    return (found.get("status") or {}).get("availableReplicas", 0)


def needs(client: Client) -> None:
    """Who needs whom."""
    entries: list[Json] = []
    for name, needed in zip(SHOP[1:], SHOP, strict=False):
        entries.append(
            {"kind": "Deployment", "name": name, "dependsOn": [{"kind": "Deployment", "name": needed}]}
        )
    body = {"metadata": {"name": "shop"}, "spec": {"workloads": entries}}
    client.create(kinds.WORKLOAD_ORDER, body, traffic.SPACE)


def back_to(rig: Inside, node: str, other: str) -> None:
    """All pods of the shop are on one node, by hand."""
    _cordon(rig, other, on=True)
    for one in list(rig.client.list(kinds.POD, traffic.SPACE)):
        if one["spec"].get("nodeName") == other and "deletionTimestamp" not in one["metadata"]:
            _made_anew(rig.client, one["metadata"])
    _cordon(rig, other, on=False)
    until(lambda: _places(rig.client) == {node}, 120, 0.5)


def _made_anew(client: Client, about: Json) -> None:
    """One pod, which no budget keeps: while it is there, its workload may not know yet that it goes."""
    client.delete(kinds.POD, about["name"], traffic.SPACE, uid=about["uid"])
    until(lambda: about["uid"] not in _uids(client) and _all_there(client), 120, 0.5)


def _uids(client: Client) -> set[str]:
    return {one["metadata"]["uid"] for one in client.list(kinds.POD, traffic.SPACE)}


def _cordon(rig: Inside, node: str, *, on: bool) -> None:
    """Its taint tells that controllers have seen it: who gives out nodes may not have, a moment before."""
    uid = rig.node(node)["metadata"]["uid"]
    rig.client.patch(kinds.NODE, node, {"spec": {"unschedulable": on or None}}, uid=uid)
    until(lambda: _is_closed(rig.node(node)) is on, 60, 0.1)


def _is_closed(node: Json) -> bool:
    return any(one["key"] == CORDON.key for one in node["spec"].get("taints") or [])


def _all_there(client: Client) -> bool:
    return traffic.available(client) == 2 and all(_available(client, name) for name in SHOP)


def _places(client: Client) -> set[str]:
    """Nodes that pods of the shop are on."""
    pods = client.list(kinds.POD, traffic.SPACE)
    return {one["spec"].get("nodeName", "") for one in pods if "deletionTimestamp" not in one["metadata"]}


# --- what is done, and what is changed half-way ---

Change = Callable[[], None]


def tried(rig: Inside, change: Change) -> list[str]:
    """What was wrong with it: whatever became of it, what is under way has to come to its end."""
    try:
        change()
    except Exception as error:
        _say(f"  half-way: {_named(error)}")
        _say_all(rig)
        return [_named(error)]
    return []


def rolled(rig: Inside, node: str, change: Change) -> list[str]:
    """One worker is upgraded; the operator is, while that node is being emptied: a pod cannot go before."""
    name = f"roll-{node}"
    with Witness(rig) as witness:
        with keeping.a_kept_pod(rig.client, node):
            selector = {"matchLabels": {"kubernetes.io/hostname": node}}
            rig.roll(name, version=NEW, nodeSelector=selector)
            until(lambda: rig.cordoned(node), 120, 0.1)
            wrong = tried(rig, change)
            wrong += [] if rig.cordoned(node) else ["its node was given back before"]
        rig.until_phase(name, "Complete", _SECONDS)
    orders = [one for one in witness.orders() if one[1] == "Packages"]
    wrong += [] if orders == [(node, "Packages")] else [f"orders were {witness.orders()}"]
    wrong += [] if witness.most_away == 1 else [f"{witness.most_away} nodes were away at once"]
    wrong += [] if rig.kubelet(node) == NEW else [f"{node} runs {rig.kubelet(node)}"]
    rig.forget(name)
    return wrong + [f"left on {one}" for one in rig.residue()]


def migrated(rig: Inside, old: str, new: str, change: Change) -> list[str]:
    """Workloads move from one node to the other; the operator is upgraded when the first have: the last of
    them cannot go before."""
    back_to(rig, old, new)
    with Pods(rig) as pods:
        until(lambda: len(pods.seen) == len(SHOP) + 1, 30, 0.1)
        body = {"metadata": {"name": MIGRATION}, "spec": {"target": NEW, "waitForNodes": {"settle": "0s"}}}
        with keeping.kept(rig.client, {"app": SHOP[-1]}, traffic.SPACE):
            uid = rig.client.create(kinds.WORKLOAD_MIGRATION, body).object["metadata"]["uid"]
            until(lambda: _came(pods, new), 180, 0.1)
            wrong = tried(rig, change)
            wrong += ["all had moved before"] if SHOP[-1] in _came(pods, new) else []
        until(lambda: _places(rig.client) == {new} and _all_there(rig.client), _SECONDS, 0.5)
        time.sleep(10)
    rig.client.delete(kinds.WORKLOAD_MIGRATION, MIGRATION, uid=uid)
    until(lambda: _is_gone(rig.client), 120, 0.5)
    expected = {name: [old, new] for name in SHOP} | {traffic.NAME: [old, old, new, new]}
    found = {name: [*there.values()] for name, there in pods.seen.items()}
    wrong += [] if found == expected else [f"pods were {found}"]
    order = [app for app in _came(pods, new) if app in SHOP]
    wrong += [] if order == [*SHOP] else [f"they went in the order {order}"]
    return wrong + [f"left: {one}" for one in _left(rig.client)]


def _came(pods: Pods, node: str) -> list[str]:
    """Workloads whose pods came to a node, in that order."""
    return [app for app, at in pods.came if at == node]


def _left(client: Client) -> list[str]:
    """What of a migration is in the cluster."""
    found = [f"placement in {one['metadata']['namespace']}" for one in client.list(kinds.WORKLOAD_PLACEMENT)]
    for node in client.list(kinds.NODE):
        labels = (key for key in OUR_LABELS if key in node["metadata"]["labels"])
        found += [f"{key} on {node['metadata']['name']}" for key in labels]
    return found


def _is_gone(client: Client) -> bool:
    try:
        client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)
    except NotFound:
        return True
    return False


# --- the plans ---


class Campaign:
    """What came of each plan; what a plan raises is wrong with it, and the next begins."""

    def __init__(self, rig: Inside, asking: Asking) -> None:
        self._rig, self._asking = rig, asking
        self.ended: dict[str, str] = {}
        self._failed = 0
        """Requests, so far."""

    @contextmanager
    def plan(self, name: str) -> Iterator[list[str]]:
        begun, wrong = time.monotonic(), list[str]()
        try:
            yield wrong
        except Exception as error:  # whatever a machine, helm or the cluster has raised
            wrong.append(_named(error))
        self.ended[name] = "; ".join(wrong)
        _say(f"{name}: {self.ended[name] or 'well'} ({time.monotonic() - begun:.0f} s)")
        if wrong:
            _say_all(self._rig)
        self._tell_failed()

    def _tell_failed(self) -> None:
        """Requests that have failed since the plan before."""
        try:
            before, self._failed = self._failed, len(self._asking.so_far().failed)
            if self._failed > before:
                _say(f"  {self._failed - before} requests failed: {traffic.told(self._rig.client)}")
        except Exception as error:  # the report counts them once more
            _say(f"  it cannot be told which requests failed: {_named(error)}")


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1500]


def _say_all(rig: Inside) -> None:
    """What can be seen of the operator now: later it may be another."""
    try:
        _say(rig.told())
    except Exception as error:  # whoever looks for the reason of one thing stumbles over no other
        _say(f"  it cannot be told how the operator is: {_named(error)}")


def play(rig: Inside, asking: Asking, before: Release, this: Release) -> dict[str, str]:
    """The worker m3 goes first; then workloads go from m2, which is behind, to it; in the end m2 goes."""
    told = Campaign(rig, asking)
    older, newer = before.manifests(), this.manifests()  # made now: a node may be empty in seconds

    def until_it_runs(release: Release) -> None:
        until(lambda: rig.runs(release), 240, 0.5)

    def by_helm() -> None:
        rig.helm("upgrade", NAME, str(this.chart), *this.values(), "--wait")
        until_it_runs(this)

    def by_kubectl() -> None:
        rig.kubectl(newer)
        until_it_runs(this)

    with told.plan("helm install"):
        rig.helm("install", NAME, str(before.chart), *before.values(), "--create-namespace", "--wait")
        until_it_runs(before)
        needs(rig.client)
    with told.plan("helm upgrade during a rollout") as wrong:
        wrong.extend(rolled(rig, "m3", by_helm))
    with told.plan("helm test"):
        rig.helm("test", NAME)
    with told.plan("helm rollback"):
        rig.helm("rollback", NAME, "1", "--wait")
        until_it_runs(before)
    with told.plan("helm upgrade to an image that cannot be pulled, and back"):
        nowhere = this._replace(tag="nowhere")
        rig.helm("upgrade", NAME, str(nowhere.chart), *nowhere.values())
        until(lambda: rig.is_kept(before, nowhere), 120, 0.5)
        rig.helm("rollback", NAME, "--wait")
        until_it_runs(before)
    with told.plan("helm upgrade during a migration") as wrong:
        wrong.extend(migrated(rig, "m2", "m3", by_helm))
    with told.plan("helm uninstall, and the older one by kubectl apply"):
        rig.helm("uninstall", NAME, "--wait")
        rig.kubectl(older)
        until_it_runs(before)
    with told.plan("kubectl apply during a migration") as wrong:
        wrong.extend(migrated(rig, "m2", "m3", by_kubectl))
    with told.plan("the older one by kubectl apply, over the newer one"):
        rig.kubectl(older)
        until_it_runs(before)
    with told.plan("kubectl apply during a rollout") as wrong:
        wrong.extend(rolled(rig, "m2", by_kubectl))
    return told.ended


def main() -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tempfile.TemporaryDirectory(prefix="shiplift-install-") as name:
        folder = Path(name)
        if why := refusal(folder):
            _say(f"skipped: {why.message} ({why.hint})")
            return 0
        if (before := releases.before(folder)) is None:
            _say(f"skipped: the history of this checkout does not go back to {releases.BEFORE}")
            return 0
        guard.own(folder)
        guard.start_once(folder)
        try:
            return _run(folder, before)
        finally:
            guard.sweep(folder)
            guard.stop(folder)


def _run(folder: Path, before: Release) -> int:
    begun, this = time.monotonic(), releases.this()
    made = Machines("install", folder)
    made.up(3, _say)
    (folder / "rig").mkdir()
    with Inside(made, folder / "rig") as rig:
        for release in (before, this):
            release.publish(made)
        rig.publish_news()
        open_shop(rig.client)
        asking = Asking(made.depot, made.host("m1").address)
        asking.start()
        _say(f"a cluster of three machines after {(time.monotonic() - begun) / 60:.1f} minutes")
        ended = play(rig, asking, before, this)
        seen = asking.stop()
    for one in seen.failed[:20]:
        _say(f"a request failed: {one}")
    report = Report(
        plans=len(ended),
        ended_well=sum(not wrong for wrong in ended.values()),
        failed=tuple(f"{name}: {wrong}" for name, wrong in ended.items() if wrong),
        failed_requests=len(seen.failed),
        requests=seen.asked,
        minutes=round((time.monotonic() - begun) / 60, 1),
    )
    sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    return 1 if report.failed or report.failed_requests else 0


def _say(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
