"""The work on an order: done by a process of its own, which holds a lock for as long as it lives.

Whoever finds the lock free and no result knows that the work was never begun or that its process has died,
and may begin it again: each operation comes to the same end from wherever it was interrupted. The result is
written last; work that has one is not done again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import etcd, images, kubeadm, locks, versions
from shiplift.agent.machine.journal import Journal
from shiplift.agent.machine.packages import Packages
from shiplift.agent.model import Progress, Record, Work
from shiplift.agent.protocol import Operation
from shiplift.agent.settings import KUBECONFIG, Settings

LOCK = "work.lock"
MOST_TRIES = 10
"""Work that never comes to its end, whatever ends it, is given up."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Bench:
    """What the work is done with."""

    journal: Journal
    packages: Packages
    settings: Settings
    archives: Path
    member: etcd.Member = etcd.OF_KUBEADM

    def archive_of(self, name: str, version: str) -> Path | None:
        """The archive of a package that was fetched, of the newest revision that the version may mean."""
        found = sorted(self.archives.glob(f"{name}_{version}[_-]*.deb")) if version else []
        return found[-1] if found else None


def work(bench: Bench) -> None:
    """The work on the record; where another process has it in hand, or it has a result, nothing is done."""
    lock = locks.taken(bench.journal.folder / LOCK)
    record = bench.journal.record()
    if lock is None or record is None or bench.journal.result(record.token) is not None:
        return
    if bench.journal.count_try(record.token) > MOST_TRIES:
        bench.journal.finish(record.token, Work(Progress.FAILED, _GIVEN_UP))
        return
    _log.info("order %s: the work begins", record.token)
    result = _done(bench, record)
    _log.info("order %s: %s. %s", record.token, result.progress.value, result.message)
    bench.journal.finish(record.token, result)


_GIVEN_UP = f"the work was interrupted {MOST_TRIES} times, and is given up"


def _done(bench: Bench, record: Record) -> Work:
    try:
        return _OPERATIONS[record.order.token.operation](bench, record)
    except AgentError as error:
        return Work(Progress.FAILED, str(error))
    except Exception as error:
        _log.exception("order %s: a fault of the agent", record.token)
        return Work(Progress.FAILED, f"a fault of the agent: {type(error).__name__}: {error}")


def _prepare(bench: Bench, record: Record) -> Work:
    prepared = bench.packages.prepare(record.desired, older=record.order.back)
    said = [f"{len(prepared.changes)} packages are fetched"] if record.desired else []
    if record.order.version:
        package = bench.archive_of(versions.KUBEADM, prepared.exact.get(versions.KUBEADM, ""))
        cluster = images.configuration()
        pulled = images.pull(record.order.version, package, cluster, control_plane=is_control_plane())
        said.append(f"{pulled} images are pulled")
    return Work(Progress.DONE, ", ".join(said))


def _snapshot(bench: Bench, record: Record) -> Work:
    path = etcd.snapshot(bench.member, bench.journal.folder / "snapshots", record.token)
    members = ", ".join(etcd.members(bench.member))
    return Work(Progress.DONE, f"{path.stat().st_size} bytes; the members of etcd are {members}", str(path))


def _upgrade_apply(bench: Bench, record: Record) -> Work:
    said = _kubeadm_installed(bench, record)
    kubeadm.apply(record.order.version, bench.settings)
    return Work(Progress.DONE, said)


def _upgrade_node(bench: Bench, record: Record) -> Work:
    said = _kubeadm_installed(bench, record)
    kubeadm.node(bench.settings)
    return Work(Progress.DONE, said)


def _kubeadm_installed(bench: Bench, record: Record) -> str:
    """The desired kubeadm and nothing else: the kubelet of this machine has its own turn."""
    wanted = {name: text for name, text in record.desired.items() if name == versions.KUBEADM}
    return bench.packages.bring(record.token, wanted) if wanted else ""


def _packages(bench: Bench, record: Record) -> Work:
    configure = partial(kubeadm.node, bench.settings) if _is_configured(record) else None
    said = bench.packages.bring(record.token, record.desired, back=record.order.back, configure=configure)
    return Work(Progress.DONE, said)


def _is_configured(record: Record) -> bool:
    """Whether kubeadm brings the configuration of this kubelet to what its cluster says: of a control plane
    it has done so with its own upgrade, and where packages become older what is there stays."""
    newer = versions.KUBEADM in record.desired and not record.order.back
    return newer and KUBECONFIG.exists() and not is_control_plane()


_OPERATIONS = {
    Operation.PREPARE: _prepare,
    Operation.SNAPSHOT: _snapshot,
    Operation.UPGRADE_APPLY: _upgrade_apply,
    Operation.UPGRADE_NODE: _upgrade_node,
    Operation.PACKAGES: _packages,
}


def is_control_plane() -> bool:
    return (versions.MANIFESTS / "kube-apiserver.yaml").exists()


def has_etcd() -> bool:
    return (versions.MANIFESTS / "etcd.yaml").exists()
