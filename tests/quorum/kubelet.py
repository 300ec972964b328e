"""A kubelet of the tests: it runs a real MinIO server for each pod on its node, from the program of the image
that the pod was made of, with the settings of the pod's own spec.

Each pod has an address of its own on loopback, and servers find each other by the names of a headless Service
(a hosts file of theirs alone stands for DNS). What is kept in a drive outlives the pod. A container that ends
is started again from the pod's image, as a kubelet does it: a binary that was swapped in place is lost then.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from shiplift.facts.kinds import LEASE, NODE, POD
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from tests.parents import ENDS_WITH_US
from tests.until import until

Json = dict[str, Any]
PORT = 9000
OPERATOR = "operator.shiplift.test"
"""By which servers may find the operator."""
USER, PASSWORD = "minio-root", "minio-root-password"
_OWN_HOSTS = 'mount --bind "$0" /etc/hosts && exec "$@"'
_GRACE = 5.0


def _placed(program: Path, target: Path) -> None:
    """A link where that can be: a swap puts another file in its place, and leaves this one alone."""
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(program)
    except OSError:
        shutil.copy(program, target)


class Running(msgspec.Struct):
    """One container."""

    uid: str
    image: str
    process: subprocess.Popen[bytes]
    restarts: int = 0
    told: tuple[bool, int] | None = None
    """Ready and restarts, as the pod's status has them."""


class Kubelet:
    """The pods of one namespace on one node."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        folder: Path,
        programs: Callable[[str], Path],
        count: int = 4,
        node: str = "harbour",
    ) -> None:
        self._client, self.namespace, self.folder, self._programs = client, namespace, folder, programs
        self.count, self.node = count, node
        self._network = f"127.{random.randint(64, 250)}.{random.randint(1, 250)}"
        self._running: dict[int, Running] = {}
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._beat = 0.0
        self.readiness = "/minio/health/live"
        """What the readiness probe of its pods asks."""
        self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)
        for at in range(count):
            self.write_hosts(at)

    def address(self, at: int) -> str:
        return f"{self._network}.{at + 1}"

    def host(self, at: int) -> str:
        return f"minio-{at}.minio.{self.namespace}.svc.cluster.local"

    def write_hosts(self, at: int, *, knows_us: bool = True) -> None:
        """Whom that server finds by name; in place, for it is mounted."""
        names = [f"{self.address(one)} {self.host(one)}" for one in range(self.count)]
        ours = [f"127.0.0.1 {OPERATOR}"] if knows_us else []
        with (self.folder / f"hosts{at}").open("w") as file:
            file.write("\n".join([*names, "127.0.0.1 localhost", *ours, ""]))

    def start(self) -> None:
        self._make_node()
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(30)
        with self._lock:
            for one in self._running.values():
                one.process.kill()
                one.process.wait()
            self._running.clear()
        self._client.close()
        for at in range(self.count):
            shutil.rmtree(self.program(at).parent, ignore_errors=True)
            shutil.rmtree(self.folder / f"d{at}", ignore_errors=True)

    # --- what tests do to pods ---

    def pid(self, at: int) -> int:
        return self._process(at).pid

    def _process(self, at: int) -> subprocess.Popen[bytes]:
        """Of the server; a pod that is being made anew has one in a moment."""
        found = until(lambda: self._running.get(at), 60, 0.02)
        assert found is not None
        return found.process

    def program(self, at: int) -> Path:
        return self.folder / f"p{at}" / "minio"

    def restart_container(self, at: int) -> None:
        """As after a crash of the server: the pod stays, its image counts again."""
        self._process(at).kill()

    def freeze(self, at: int) -> None:
        self._process(at).send_signal(signal.SIGSTOP)

    def thaw(self, at: int) -> None:
        self._process(at).send_signal(signal.SIGCONT)

    def log(self, at: int) -> str:
        return (self.folder / f"log{at}").read_text(errors="replace")

    # --- its own thread ---

    def _run(self) -> None:
        while not self._over.wait(0.15):
            with contextlib.suppress(KubeError):
                self._heartbeat()
                self._sync()

    def _sync(self) -> None:
        pods = {
            int(pod["metadata"]["name"].rpartition("-")[2]): pod
            for pod in self._client.list(POD, self.namespace, field_selector=f"spec.nodeName={self.node}")
        }
        with self._lock:
            for at in [one for one in self._running if one not in pods]:
                self._end(at)
            for at, pod in pods.items():
                if pod["metadata"].get("deletionTimestamp"):
                    self._remove(at, pod)
                else:
                    self._keep(at, pod)

    def _keep(self, at: int, pod: Json) -> None:
        uid, image = pod["metadata"]["uid"], pod["spec"]["containers"][0]["image"]
        found = self._running.get(at)
        if found is not None and found.uid != uid:
            self._end(at)
            found = None
        if found is None:
            self._running[at] = found = Running(uid, image, self._started(at, pod))
        elif found.process.poll() is not None:
            found.process, found.restarts = self._started(at, pod), found.restarts + 1
        said = (self._is_live(at), found.restarts)
        if said != found.told:
            self._tell(at, pod, *said)
            found.told = said

    def _started(self, at: int, pod: Json) -> subprocess.Popen[bytes]:
        program = self.program(at)
        program.parent.mkdir(exist_ok=True)
        program.with_name(".minio.new").unlink(missing_ok=True)
        container = pod["spec"]["containers"][0]
        _placed(self._programs(container["image"]), program.with_suffix(".copy"))
        program.with_suffix(".copy").replace(program)
        (self.folder / f"d{at}").mkdir(exist_ok=True)
        drives = [f"http://{self.host(one)}:{PORT}{self.folder}/d{one}" for one in range(self.count)]
        server = [program, "server", "--address", f"{self.address(at)}:{PORT}", *drives]
        with (self.folder / f"log{at}").open("ab") as log:
            process = subprocess.Popen(
                [*ENDS_WITH_US, "unshare", "-m", "sh", "-c", _OWN_HOSTS, self.folder / f"hosts{at}", *server],
                env=self._environment(at, container),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=program.parent,
            )
        (self.folder / f"pid{at}").write_text(str(process.pid))
        return process

    def _environment(self, at: int, container: Json) -> dict[str, str]:
        given = {one["name"]: one.get("value", "") for one in container.get("env") or []}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "MINIO_CI_CD": "1",
            "MINIO_BROWSER": "off",
            "MINIO_ROOT_USER": USER,
            "MINIO_ROOT_PASSWORD": PASSWORD,
            "GOMAXPROCS": "2",
            "_MINIO_SERVER_LOCAL": f"{self.host(at)}:{PORT}",
            **given,
        }

    def _is_live(self, at: int) -> bool:
        connection = http.client.HTTPConnection(self.address(at), PORT, timeout=0.5)
        try:
            connection.request("GET", self.readiness)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _tell(self, at: int, pod: Json, ready: bool, restarts: int) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        types = {"PodScheduled": True, "Initialized": True, "ContainersReady": ready, "Ready": ready}
        conditions = [
            {"type": name, "status": str(value), "lastTransitionTime": now} for name, value in types.items()
        ]
        container = pod["spec"]["containers"][0]
        state = {
            "name": container["name"],
            "image": container["image"],
            "imageID": container["image"],
            "ready": ready,
            "started": True,
            "restartCount": restarts,
            "state": {"running": {"startedAt": now}},
        }
        status = {
            "phase": "Running",
            "podIP": self.address(at),
            "podIPs": [{"ip": self.address(at)}],
            "startTime": pod["status"].get("startTime", now),
            "conditions": conditions,
            "containerStatuses": [state],
        }
        about = pod["metadata"]
        self._client.patch(
            POD,
            about["name"],
            {"status": status},
            self.namespace,
            uid=about["uid"],
            resource_version=self._client.get(POD, about["name"], self.namespace)["metadata"][
                "resourceVersion"
            ],
            subresource="status",
        )

    def _remove(self, at: int, pod: Json) -> None:
        self._end(at)
        about = pod["metadata"]
        with contextlib.suppress(NotFound):
            self._client.delete(POD, about["name"], self.namespace, uid=about["uid"], grace=0)

    def _end(self, at: int) -> None:
        """In order, as far as it lets itself be asked."""
        found = self._running.pop(at, None)
        if found is None:
            return
        found.process.send_signal(signal.SIGCONT)
        found.process.terminate()
        try:
            found.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            found.process.kill()
            found.process.wait()

    # --- the node ---

    def _make_node(self) -> None:
        labels = {"kubernetes.io/hostname": self.node, "kubernetes.io/arch": "amd64"}
        with contextlib.suppress(AlreadyExists):
            self._client.create(NODE, {"metadata": {"name": self.node, "labels": labels}})
        until(self._told_node, 60)

    def _told_node(self) -> bool:
        """Controllers write on a new node, too."""
        with contextlib.suppress(Conflict):
            self._tell_node()
            return True
        return False

    def _tell_node(self) -> None:
        about = self._client.get(NODE, self.node)["metadata"]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        room = {"cpu": "64", "memory": "256Gi", "pods": "500", "ephemeral-storage": "1Ti"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now}
        status = {
            "capacity": room,
            "allocatable": room,
            "conditions": [{**ready, "lastTransitionTime": now}],
            "nodeInfo": {"kubeletVersion": "v1.36.3"},
        }
        self._client.patch(
            NODE,
            self.node,
            {"status": status},
            uid=about["uid"],
            resource_version=about["resourceVersion"],
            subresource="status",
        )

    def _heartbeat(self) -> None:
        if time.monotonic() - self._beat < 5:
            return
        self._beat = time.monotonic()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self.node, "leaseDurationSeconds": 40, "renewTime": now}
        space = "kube-node-lease"
        try:
            found = self._client.get(LEASE, self.node, space)
        except NotFound:
            with contextlib.suppress(AlreadyExists):
                self._client.create(LEASE, {"metadata": {"name": self.node}, "spec": spec}, space)
            return
        self._client.patch(LEASE, self.node, {"spec": spec}, space, uid=found["metadata"]["uid"])
