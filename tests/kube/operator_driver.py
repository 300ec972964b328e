"""A small operator for tests: leads, raises the fence, and then does what it is told, line by line.

    python -m tests.kube.operator_driver KUBECONFIG NAMESPACE

It answers each command on stdin with one line of JSON on stdout:
    claim            claims every step of the plan, checks that it leads, and is then ready to write
    write            sends every step without looking at the Lease again, as if stopped just after the check
    withdraw         withdraws the claims of earlier leaders
    stop             hands the Lease over and ends
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from shiplift.engine import claims
from shiplift.engine.claims import Claim, Target
from shiplift.facts.kinds import CONFIG_MAP, POD, Kind
from shiplift.kube import credentials, fence
from shiplift.kube.claims import ClaimBook
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.lease import Leader, Timing
from tests.kube import operator_identity

TIMING = Timing(duration=2, renew_deadline=1.5, retry=0.3, follow=0.1)

PLAN: dict[str, tuple[Kind, str]] = {
    "patch": (POD, "to-patch"),
    "evict": (POD, "to-evict"),
    "delete": (POD, "to-delete"),
    "apply": (CONFIG_MAP, "to-apply"),
    "apply-replaced": (CONFIG_MAP, "to-replace"),
    "apply-removed": (CONFIG_MAP, "to-remove"),
}


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


class Operator:
    def __init__(self, kubeconfig: Path, names: fence.Names) -> None:
        self.names = names
        self.credentials = credentials.load(kubeconfig)
        self.fence = fence.Fence(self.credentials, names)
        self.leader = Leader(
            self.credentials, names.namespace, names.lease, timing=TIMING, floor=self.fence.epoch
        )
        self.claims: dict[str, Claim] = {}

    def lead(self) -> None:
        self.leader.start()
        self.leader.wait_leading()
        self.epoch = self.leader.check()
        self.fence.raise_epoch(self.epoch)
        self.fence.wait_effective(self.epoch, timeout=30)
        self.client = Client(self.credentials, field_manager=fence.manager(self.epoch))
        self.book = ClaimBook(self.client, CONFIG_MAP, "state", self.names.namespace)
        say(leading=self.epoch)

    def claim(self) -> None:
        for step, (kind, name) in PLAN.items():
            meta = self.client.get(kind, name, self.names.namespace)["metadata"]
            target = Target(kind, name, meta["uid"], meta["resourceVersion"], self.names.namespace)
            self.claims[step] = Claim(step, target, self.epoch, datetime.now(UTC))
            self.book.claim(self.claims[step])
        self.leader.check(self.epoch)
        say(claimed=[claim.step for claim in self.book.open_claims()])

    def write(self) -> None:
        say(**{step: self.outcome(step, claim.target) for step, claim in self.claims.items()})

    def outcome(self, step: str, target: Target) -> str:
        try:
            self.verb(step)(target)
        except KubeError as error:
            return "refused by the fence" if fence.refused(error, self.names) else type(error).__name__
        return "accepted"

    def verb(self, step: str) -> Callable[[Target], object]:
        return {"patch": self.patch, "evict": self.evict, "delete": self.delete}.get(step, self.apply)

    def patch(self, target: Target) -> object:
        late = {"metadata": {"annotations": {"late": "yes"}}}
        return self.client.patch(target.kind, target.name, late, target.namespace, uid=target.uid)

    def evict(self, target: Target) -> object:
        return self.client.evict(target.name, target.namespace, uid=target.uid)

    def delete(self, target: Target) -> object:
        version = target.resource_version
        return self.client.delete(
            target.kind, target.name, target.namespace, uid=target.uid, resource_version=version
        )

    def apply(self, target: Target) -> object:
        metadata = {"name": target.name, "namespace": target.namespace}
        body = {"metadata": metadata, "data": {"by": f"epoch {self.epoch}"}}
        return self.client.apply(target.kind, body, uid=target.uid)

    def withdraw(self) -> None:
        earlier = claims.from_before(self.book.open_claims(), self.epoch)
        for claim in earlier:
            self.book.withdraw(claim)
        say(withdrawn=[claim.step for claim in earlier])

    def stop(self) -> None:
        self.client.close()
        self.leader.stop()
        say(stopped=True)


def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    kubeconfig, namespace = sys.argv[1:]
    operator = Operator(Path(kubeconfig), operator_identity.names(namespace))
    operator.lead()
    for line in sys.stdin:
        getattr(operator, line.strip())()


if __name__ == "__main__":
    main()
