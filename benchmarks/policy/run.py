"""The benchmark: a provider whose policy changes at random moments, and when each change is on the cluster.

The operator runs as a process with its own account; the audit log of the API server tells what it wrote, and
a watch of our own whether there was a moment without an UpgradeConfig.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import timedelta

import yaml

from benchmarks import machine
from benchmarks.policy import outage
from benchmarks.policy.provider import Provider, provided
from benchmarks.progress import quiet, say
from benchmarks.recipe.base import Json
from benchmarks.rig import cluster as rigs
from benchmarks.rig import identities
from benchmarks.rig.cluster import Rig
from benchmarks.rig.programs import operator
from benchmarks.verdict import verdict
from shiplift.facts.kinds import CONFIG_MAP, UPGRADE_CONFIG
from shiplift.kube.client import Client
from shiplift.kube.errors import NotFound

DESCRIPTION = "policies from a provider: how soon they are on the cluster, and what an outage costs"
PERIOD, CHANGES, SHORT_CHANGES = 10.0, 20, 4
SLACK = 1.0
AT_MOST = {
    "change_vs_period": 1.1 + SLACK / PERIOD,
    "calls_in_outage_vs_backoff": 1.0,
    "recovery_steps": 1.0,
    "writes_without_change": 0.0,
    "gap_s": 0.0,
}
_WRITES = frozenset({"create", "update", "patch", "delete"})
_NAME = "cluster"


def run(changes: int = CHANGES) -> Json:
    quiet()
    about = machine.describe()
    with rigs.built("policy", []) as rig, provided(rig.folder / "provider") as provider:
        _prepare(rig, provider)
        waits, writes, gap = _measured(rig, provider, changes)
    calls, recovery = outage.worst(timedelta(seconds=PERIOD))
    found = {
        "change_vs_period": max(waits) / PERIOD,
        "calls_in_outage_vs_backoff": calls,
        "recovery_steps": recovery,
        "writes_without_change": float(writes),
        "gap_s": gap,
    }
    print(verdict(found, AT_MOST, judged=changes >= CHANGES, meant_for=f"{CHANGES} changes"))
    return found | {"limits": {"at_most": AT_MOST}, "waits_s": waits, "machine": about}


def _prepare(rig: Rig, provider: Provider) -> None:
    rig.install("policy")
    section = {
        "provider": "HTTP",
        "watchInterval": f"{PERIOD:.0f}s",
        "http": {"url": provider.url},
        "reach": {"private": ["127.0.0.0/8"], "authority": provider.authority},
    }
    text = yaml.safe_dump({"configManager": section})
    body = {"metadata": {"name": "shiplift-config"}, "data": {"config.yaml": text}}
    with rig.cluster.client() as client:
        client.create(CONFIG_MAP, body, identities.OPERATOR.namespace)


def _measured(rig: Rig, provider: Provider, changes: int) -> tuple[list[float], int, float]:
    dice = random.Random(18)
    with (
        rig.cluster.client() as client,
        operator("policy", rig.operator, rig.folder / "operator.log") as process,
    ):
        waits = [_changed(client, provider, "v1.36.0")]
        with _watched(rig) as gaps:
            for number in range(1, changes):
                time.sleep(dice.uniform(0, PERIOD))
                waits.append(_changed(client, provider, f"v1.36.{number}"))
                say(f"change {number} was on the cluster after {waits[-1]:.1f} s")
        process.still_runs()
        return waits, _idle_writes(rig, provider), sum(gaps)


def _changed(client: Client, provider: Provider, version: str) -> float:
    """Seconds from the change at the provider until it is on the cluster."""
    begun = time.monotonic()
    provider.version = version
    while time.monotonic() < begun + 10 * PERIOD:
        with suppress(NotFound):
            if client.get(UPGRADE_CONFIG, _NAME)["spec"]["desired"]["version"] == version:
                return time.monotonic() - begun
        time.sleep(0.02)
    raise TimeoutError(f"version {version} did not come to the cluster")


@contextmanager
def _watched(rig: Rig) -> Generator[list[float]]:
    """Seconds without an UpgradeConfig, a look every few milliseconds."""
    gaps: list[float] = []
    over = threading.Event()
    with rig.cluster.client() as client:
        watcher = threading.Thread(target=_watch, args=(client, gaps, over), daemon=True)
        watcher.start()
        try:
            yield gaps
        finally:
            over.set()
            watcher.join(10)


def _watch(client: Client, gaps: list[float], over: threading.Event) -> None:
    last = time.monotonic()
    while not over.wait(0.005):
        try:
            client.get(UPGRADE_CONFIG, _NAME)
        except NotFound:
            gaps.append(time.monotonic() - last)
        last = time.monotonic()


def _idle_writes(rig: Rig, provider: Provider) -> int:
    """What the operator writes while the provider is asked three times more and says the same; its Lease and
    the fence's proof are not the layer's."""
    time.sleep(1)
    before, asked = _writes(rig), len(provider.asked)
    while len(provider.asked) < asked + 3:
        time.sleep(0.1)
    time.sleep(1)
    return _writes(rig) - before


def _writes(rig: Rig) -> int:
    ours = ("upgradeconfigs", "configmaps")
    return sum(
        one.verb in _WRITES and one.resource.startswith(ours) for one in rig.requests(identities.OPERATOR)
    )
