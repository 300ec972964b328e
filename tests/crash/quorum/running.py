"""Runs plans: for each a service of its own on one cluster, with one registry, and an operator that is a
process."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from shiplift.kube.errors import KubeError
from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from shiplift.local.ports import free_ports
from tests import registry as registries
from tests.crash.quorum import plans
from tests.crash.quorum.plans import Plan
from tests.crash.quorum.process import Process
from tests.minio import builds
from tests.minio.keys import Key
from tests.quorum.kubelet import OPERATOR
from tests.quorum.rig import NEW, OLD, REPOSITORY, Rig, Service, Writer, image_of, served
from tests.until import Deadline, until

LIMIT = 400.0
"""Seconds for a swap, whatever goes wrong."""


class Result(msgspec.Struct, frozen=True):
    """What came of a plan."""

    plan: Plan
    seconds: float
    found: tuple[str, ...]
    fired: bool
    reasons: tuple[str, ...] = ()


class Ground:
    """The cluster, the registry and the operator that plans share."""

    def __init__(self, rig: Rig, folder: Path) -> None:
        self.rig, self._folder = rig, folder
        self._programs = {one.tag: builds.program(one) for one in (OLD, NEW)}
        [self._port] = free_ports(1)

    def perform(self, plan: Plan, code: Path | None = None) -> Result:
        name = f"plan-{uuid.uuid4().hex[:8]}"
        folder = self._folder / name
        folder.mkdir(parents=True)
        authority = self.rig.registry.folder / "ca.crt"
        operator = Process(self.rig.kubeconfig, folder, authority, code)
        self.rig.configure({"listen": f"127.0.0.1:{self._port}", "cache": str(operator.cache)})
        began = time.monotonic()
        try:
            with served(self.rig, name, folder, self._programs, _prepare) as service:
                operator.start()
                fired, reasons, found = self._run(plan, service, operator)
                if found:
                    found = [*found, f"reasons: {reasons}", *operator.last_lines()]
        finally:
            operator.stop()
            shutil.rmtree(folder / "cache", ignore_errors=True)
        return Result(plan, time.monotonic() - began, tuple(found), fired, tuple(reasons))

    def _run(self, plan: Plan, service: Service, operator: Process) -> tuple[bool, list[str], list[str]]:
        try:
            return self._swapped(plan, service, operator)
        except (AssertionError, KubeError) as error:
            return True, [], [f"{type(error).__name__}: {error}"]

    def _swapped(self, plan: Plan, service: Service, operator: Process) -> tuple[bool, list[str], list[str]]:
        reasons: list[str] = []
        fired = False
        with Writer(service) as writer:
            service.make(servingURL=f"http://{OPERATOR}:{self._port}")
            deadline = Deadline(LIMIT)
            while not plans.over(service):
                reason = service.reason()
                if reason and (not reasons or reasons[-1] != reason):
                    reasons.append(reason)
                if not fired and plans.reached(service, plan.when):
                    fired = True
                    plans.strike(plan, service, operator)
                if deadline.over:
                    return fired, reasons, [f"it does not end: {service.service().status}"]
                time.sleep(0.05)
        until(service.all_sing, 60, 0.5)
        return fired, reasons, plans.wrong(service, writer.lost())


def _prepare(service: Service) -> None:
    service.grant()
    service.make_set()


@contextmanager
def ground(clusters: Path, folder: Path) -> Iterator[Ground]:
    """Until the end of the block."""
    key = Key()
    signature = key.sign(builds.program(NEW))
    cluster = Cluster(f"quorum-{uuid.uuid4().hex[:8]}", clusters)
    cluster.up(Settings())
    (folder / "registry").mkdir(parents=True)
    try:
        with registries.running(folder / "registry") as registry:
            registry.put(REPOSITORY, NEW.tag, image_of(builds.program(NEW).read_bytes(), signature, NEW.tag))
            rig = Rig(cluster, registry, folder, key)
            try:
                yield Ground(rig, folder)
            finally:
                rig.close()
    finally:
        cluster.down()
