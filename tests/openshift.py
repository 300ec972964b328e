"""OpenShift's own definition of ClusterVersion, out of the Go module that has it, and a scripted operator:
the cluster-version operator itself cannot run here."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import msgspec
import yaml

from shiplift.facts.kinds import CLUSTER_VERSION, CUSTOM_RESOURCE_DEFINITION, MACHINE_CONFIG_POOL, Kind
from shiplift.kube.client import Client, PatchType
from shiplift.kube.errors import AlreadyExists, Conflict, NotFound
from shiplift.local import golang, paths
from shiplift.local.lock import locked
from tests.until import until

Json = dict[str, Any]
_MODULE = "github.com/openshift/api@v0.0.0-20250320115527-3aa9dd5b9002"
_SUM = "h1:AP8WxjiCyGlyhRlDG83cuk789Gy96IdYNuTO/sAMwl0="
_FILES = {
    CLUSTER_VERSION: "config/v1/zz_generated.crd-manifests/"
    "0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml",
    MACHINE_CONFIG_POOL: "machineconfiguration/v1/zz_generated.crd-manifests/"
    "0000_80_machine-config_01_machineconfigpools-Default.crd.yaml",
}
_NAME = "version"
_AT = "2026-11-17T12:00:00Z"


class _Downloaded(msgspec.Struct, rename="pascal"):
    dir: str
    sum: str


def definition(kind: Kind = CLUSTER_VERSION) -> Json:
    """As OpenShift installs it; downloaded once, and compared with the checksum that is pinned here."""
    path = paths.cache_root() / "openshift" / f"{kind.plural}-{_MODULE.rpartition('-')[2]}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent / "lock"):
        if not path.exists():
            _fetch(path, _FILES[kind])
    return yaml.safe_load(path.read_text())


def _fetch(path: Path, file: str) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="getting-") as temporary:
        environment = {"HOME": str(Path.home()), **os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off"}
        done = subprocess.run(
            [golang.find(print), "mod", "download", "-json", _MODULE],
            cwd=temporary,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-600:]
        found = msgspec.json.decode(done.stdout, type=_Downloaded)
        assert found.sum == _SUM, f"{_MODULE} is {found.sum}, not {_SUM}"
        copied = Path(temporary, "made.yaml")
        shutil.copyfile(Path(found.dir, file), copied)
        copied.rename(path)


def install(client: Client) -> None:
    for kind in _FILES:
        with contextlib.suppress(AlreadyExists):
            client.create(CUSTOM_RESOURCE_DEFINITION, definition(kind))
        until(lambda kind=kind: _is_served(client, kind), 30)


def _is_served(client: Client, kind: Kind) -> bool:
    try:
        list(client.list(kind))
    except NotFound:
        return False
    return True


def tell_pool(client: Client, name: str, machines: int, updated: int) -> None:
    """A pool as the machine-config operator tells of it."""
    with contextlib.suppress(AlreadyExists):
        client.create(MACHINE_CONFIG_POOL, {"metadata": {"name": name}, "spec": {}})
    about = client.get(MACHINE_CONFIG_POOL, name)["metadata"]
    counts = ("machineCount", "updatedMachineCount", "readyMachineCount", "unavailableMachineCount")
    status = dict(zip(counts, (machines, updated, updated, machines - updated), strict=True))
    done = _condition("Updated", holds=updated == machines, message="")
    said = {**status, "observedGeneration": about["generation"], "conditions": [done]}
    client.patch(
        MACHINE_CONFIG_POOL,
        name,
        {"status": said},
        uid=about["uid"],
        resource_version=about["resourceVersion"],
        subresource="status",
    )


class ScriptedOperator:
    """Does with ClusterVersion what the cluster-version operator would: offers releases by channel, goes to
    the one that is wanted, and says how far it is."""

    def __init__(self, client: Client, runs: str, offers: dict[str, tuple[str, ...]]) -> None:
        self._client, self._offers = client, offers
        self._over = threading.Event()
        self.goes = threading.Event()
        """Set when it may finish what it has begun."""
        self.fails = ""
        self._thread = threading.Thread(target=self._run, daemon=True)
        spec = {"clusterID": "11111111-2222-3333-4444-555555555555", "channel": "stable-4.19"}
        client.create(CLUSTER_VERSION, {"metadata": {"name": _NAME}, "spec": spec})
        self._history = [_entry(runs, "Completed")]
        self._look()

    def __enter__(self) -> ScriptedOperator:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(10)
        uid = self.found()["metadata"]["uid"]
        self._client.delete(CLUSTER_VERSION, _NAME, uid=uid)

    def found(self) -> Json:
        return self._client.get(CLUSTER_VERSION, _NAME)

    def _run(self) -> None:
        while not self._over.wait(0.1):
            with contextlib.suppress(Conflict):
                self._look()

    def _look(self) -> None:
        live = self.found()
        wanted = (live["spec"].get("desiredUpdate") or {}).get("version")
        newest = self._history[0]
        if wanted and wanted != newest["version"]:
            self._history.insert(0, _entry(wanted, "Partial"))
        elif newest["state"] == "Partial" and self.goes.is_set() and not self.fails:
            self._history[0] = _entry(newest["version"], "Completed")
        self._tell(live)

    def _tell(self, live: Json) -> None:
        newest, offers = self._history[0], self._offers.get(live["spec"].get("channel", ""), ())
        works = newest["state"] == "Partial"
        status = {
            "desired": {"version": newest["version"], "image": "example/release"},
            "history": self._history,
            "observedGeneration": live["metadata"]["generation"],
            "versionHash": "x",
            "availableUpdates": [{"version": one, "image": f"example/{one}"} for one in offers],
            "conditions": [
                _condition("Available", holds=True, message="Done"),
                _condition("Progressing", holds=works, message=f"Working towards {newest['version']}"),
                _condition("Failing", holds=bool(self.fails), message=self.fails),
            ],
        }
        if live.get("status") != status:
            about = live["metadata"]
            # a merge patch would take out the times that are null, and have to be there
            self._client.patch(
                CLUSTER_VERSION,
                _NAME,
                [{"op": "add", "path": "/status", "value": status}],
                type=PatchType.JSON,
                uid=about["uid"],
                resource_version=about["resourceVersion"],
                subresource="status",
            )


def _entry(version: str, state: str) -> Json:
    done = _AT if state == "Completed" else None
    return {
        "version": version,
        "state": state,
        "startedTime": _AT,
        "completionTime": done,
        "image": f"example/{version}",
        "verified": True,
    }


def _condition(kind: str, *, holds: bool, message: str) -> Json:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "lastTransitionTime": _AT,
        "reason": "Said",
        "message": message,
    }
