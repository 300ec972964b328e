"""A rollout by hand: `kubectl drain`, an order for the agent, `kubectl uncordon`, some nodes at a time.

What a careful script does: it orders with the same protocol, waits for the agent with a watch, and begins the
next node as soon as one is through. It looks at no Lease and writes nothing down.
"""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
import uuid
from collections.abc import Generator, Mapping

from benchmarks.rig.cluster import Rig
from benchmarks.rig.programs import end
from benchmarks.rollout.plan import NEW_VERSION
from shiplift.agent.protocol import CHANGES_ALLOWED, READY, Operation, Order, Token, desired_key
from shiplift.facts.kinds import NODE

_KUBELET = desired_key("kubelet")
_PATIENCE = 60.0
_ORDER_SECONDS = 600


class Script:
    """Changes nodes, given by name with their uids, so many at a time; the first failure ends it."""

    def __init__(self, rig: Rig, nodes: Mapping[str, str], at_once: int) -> None:
        self._kubectl = [rig.kubectl, "--kubeconfig", str(rig.guest)]
        self._environment = rig.environment
        self._uids, self._rollout = dict(nodes), str(uuid.uuid4())
        self._left: queue.SimpleQueue[str] = queue.SimpleQueue()
        for name in nodes:
            self._left.put(name)
        self._failure = ""
        self._stopping = False
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(at_once)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def finished(self) -> bool:
        if self._failure:
            raise RuntimeError(self._failure)
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        self._stopping = True
        with self._lock:
            running = list(self._running)
        for process in running:
            end(process)
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_PATIENCE)

    def _work(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                for words in commands(name := self._left.get_nowait(), self._uids[name], self._rollout):
                    if self._stopping or self._failure or not self._run(words):
                        return

    def _run(self, words: list[str]) -> bool:
        with subprocess.Popen(
            [*self._kubectl, *words],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            with self._lock:
                self._running.add(process)
            said = process.communicate()[0]
        with self._lock:
            self._running.discard(process)
        if process.returncode and not self._stopping:
            self._failure = f"kubectl {' '.join(words[:3])} failed: {said.decode(errors='replace')[-2000:]}"
        return not process.returncode


def commands(name: str, uid: str, rollout: str) -> list[list[str]]:
    """What is done to one node, one after the other."""
    token = Token(rollout, uid, Operation.PACKAGES, 1)
    answered = "{.metadata.annotations." + READY.replace(".", "\\.") + "}"
    return [
        ["drain", name, "--ignore-daemonsets", "--delete-emptydir-data"],
        [
            "annotate",
            "node",
            name,
            f"{_KUBELET}={NEW_VERSION.removeprefix('v')}",
            f"{CHANGES_ALLOWED}={Order(token).written()}",
        ],
        ["wait", f"node/{name}", f"--for=jsonpath={answered}=true {token}", f"--timeout={_ORDER_SECONDS}s"],
        ["annotate", "node", name, f"{_KUBELET}-", f"{CHANGES_ALLOWED}-"],
        ["uncordon", name],
    ]


@contextlib.contextmanager
def script(rig: Rig, names: list[str], at_once: int) -> Generator[Script]:
    """Waiting for its start; ended afterwards."""
    with rig.cluster.client() as client:
        uids = {name: client.get(NODE, name)["metadata"]["uid"] for name in names}
    made = Script(rig, uids, at_once)
    try:
        yield made
    finally:
        made.stop()
