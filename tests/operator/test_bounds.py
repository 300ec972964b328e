"""Six layers in one operator, five of them with every step held up by a webhook that never answers."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shiplift.engine.workers import SIZE, SURE_ASIDE, SURE_OPERATIONS, SURE_STEPS
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.kube.transport import CONNECTIONS
from shiplift.operator import install
from tests.operator.hanging import HANGS
from tests.operator.rig import SPACE, Process, Rig
from tests.until import until

WEBHOOKS = Kind(
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    "v1",
    namespaced=False,
)
FLOWS = Kind("FlowSchema", "flowschemas", "flowcontrol.apiserver.k8s.io", "v1", namespaced=False)
NAME = "never.example.com"
SURE = SURE_STEPS + SURE_ASIDE + SURE_OPERATIONS


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where connections are made and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        yield listener.getsockname()[1]


def hold_up(client: Client, port: int) -> None:
    """Whoever changes the namespace waits for a word that never comes."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["namespaces"]}
    webhook = {
        "name": NAME,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 30,
        "failurePolicy": "Fail",
        "rules": [rule],
        "objectSelector": {"matchLabels": {"kubernetes.io/metadata.name": HANGS}},
        "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
    }
    client.create(WEBHOOKS, {"metadata": {"name": NAME}, "webhooks": [webhook]})


def exempt(client: Client) -> None:
    """Without it the API server itself queues what the account sends while so many of its requests hang, the
    renewal of its Lease included: its priority and fairness is not what is looked at here."""
    account = {"namespace": SPACE, "name": install.ACCOUNT}
    anything = {
        "verbs": ["*"],
        "apiGroups": ["*"],
        "resources": ["*"],
        "namespaces": ["*"],
        "clusterScope": True,
    }
    rule = {
        "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
        "resourceRules": [anything],
    }
    spec = {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 2,
        "rules": [rule],
    }
    client.create(FLOWS, {"metadata": {"name": "operator-exempt"}, "spec": spec})


class Counted:
    """The threads and sockets of a process, each time they are looked at, and the most of each so far."""

    def __init__(self, process: Process) -> None:
        self._folder = Path("/proc") / str(process.pid)
        self.most_threads = self.most_sockets = 0

    def threads(self) -> int:
        number = sum(1 for _ in (self._folder / "task").iterdir())
        self.most_threads = max(self.most_threads, number)
        return number

    def sockets(self) -> int:
        number = sum("socket:" in _target(one) for one in (self._folder / "fd").iterdir())
        self.most_sockets = max(self.most_sockets, number)
        return number


def _target(handle: Path) -> str:
    try:
        return str(handle.readlink())
    except FileNotFoundError:
        return ""


def stamped(rig: Rig, counted: Counted, name: str) -> Callable[[], bool]:
    def look() -> bool:
        counted.threads()
        counted.sockets()
        return bool(rig.stamp(name))

    return look


def test_layers_that_hang_stay_within_the_bound_and_leave_another_its_share(rig: Rig, silent: int) -> None:
    exempt(rig.client)
    operator = rig.start(prove_every=600, hanging=5)
    until(lambda: operator.said("leading"))
    counted = Counted(operator)
    idle = counted.threads()
    hold_up(rig.client, silent)
    rig.client.create(kinds.NAMESPACE, {"metadata": {"name": HANGS}})
    hanging = SIZE - SURE
    until(lambda: counted.threads() >= hanging and counted.sockets() >= hanging, 8)
    for number in range(5):
        rig.ask_for_a_stamp(f"asked-{number}")
        until(stamped(rig, counted, f"asked-{number}"), 4)
    assert counted.most_threads <= idle + SIZE
    assert counted.most_threads < CONNECTIONS
    assert counted.most_sockets < CONNECTIONS
    operator.send(signal.SIGTERM)
    assert operator.wait() == 0
