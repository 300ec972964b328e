"""An operator process with one small real layer: it stamps every namespace that asks for it.

usage: driver.py KUBECONFIG NAMESPACE USERNAME SECONDS-BETWEEN-PROOFS LAYERS-THAT-HANG SECONDS-OF-THE-LEASE
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.client import PatchType
from shiplift.kube.credentials import load
from shiplift.kube.errors import KubeError
from shiplift.kube.fence import Names
from shiplift.kube.lease import Timing
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.watch import Watch
from shiplift.operator import logs
from shiplift.operator.account import credentials_for
from shiplift.operator.process import Operator, Settings
from tests.operator.hanging import touchers

WANTED, STAMP = "shiplift.dev/wanted", "shiplift.dev/stamped"


class Write(Step, frozen=True):
    name: str
    uid: str
    version: int

    @property
    def key(self) -> str:
        return f"stamp {self.uid}"

    def describe(self) -> str:
        return f"stamp namespace {self.name}"


class View(msgspec.Struct, frozen=True):
    row: Namespace | None


class Stamper:
    def __init__(self, context: Context) -> None:
        self._context = context

    def observe(self, key: str, outcomes: Outcomes) -> View:
        return View(self._context.store.snapshot().find(Namespace, key))

    def decide(self, view: View, now: datetime) -> Decision:
        row = view.row
        if row is None or WANTED not in row.annotations or STAMP in row.annotations:
            return Decision()
        return Decision((Write(row.name, row.uid, row.resource_version),))

    def act(self, step: Step) -> Outcome:
        assert isinstance(step, Write)
        patch = {"metadata": {"annotations": {STAMP: str(self._context.epoch)}}}
        try:
            written = self._context.client.patch(
                kinds.NAMESPACE,
                step.name,
                patch,
                type=PatchType.MERGE,
                uid=step.uid,
                resource_version=str(step.version),
            )
        except KubeError as error:
            return Outcome.failed(step, str(error))
        return Outcome.done(step, *([written.barrier] if written.barrier else []))

    def publish(self, key: str, decision: Decision) -> Iterable[Barrier]:
        return ()


def wakes(kind: Kind, old: Row | None, new: Row | None) -> Iterable[Hashable]:
    return [new.name] if new else []


RULES = ({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "patch"]},)
STAMPER = LayerPart("stamper", (Watch(kinds.NAMESPACE),), wakes, Stamper, RULES)


def main(kubeconfig: str, namespace: str, username: str, prove_every: str, hanging: str, lease: str) -> None:
    logs.configure()
    lapse = float(lease)
    timing = Timing(duration=lapse, renew_deadline=0.75 * lapse, retry=0.2, follow=0.1)
    settings = Settings(
        names=Names(namespace, username),
        listen=("127.0.0.1", 0),
        lease=timing,
        prove_every=float(prove_every),
    )
    layers = [*touchers(int(hanging)), STAMPER]
    Operator(credentials_for(settings.names, load(Path(kubeconfig))), layers, settings).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
