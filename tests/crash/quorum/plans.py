"""What goes wrong, and when: at each step of a swap the operator is killed, a pod or a container ends, a
server hangs, a server cannot reach the operator, the download is lost."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from enum import StrEnum

import msgspec

from shiplift.facts.kinds import POD
from tests.crash.quorum.process import Process
from tests.quorum.rig import NEW, Service


class When(StrEnum):
    """The first moment of a step, as the service's own status has it."""

    VALIDATE = "Validating"
    REHEARSE = "Rehearsing"
    BEGUN = "UpdatingStatefulSets"
    STAGE = "Staging"
    SWITCH = "Switching"
    RECREATE = "RecreatingPods"
    ONE_ANEW = "one pod made anew"


class Fault(StrEnum):
    """What goes wrong."""

    OPERATOR_KILLED = "operator killed"
    POD_DELETED = "pod deleted"
    CONTAINER_RESTARTED = "container restarted"
    SERVER_HUNG = "server hung for 15 s"
    CUT_OFF = "server cut off from the operator for 20 s"
    CACHE_LOST = "download cache lost"
    NOTHING = "nothing"


class Plan(msgspec.Struct, frozen=True):
    """One run."""

    when: When
    fault: Fault
    server: int = 2

    def __str__(self) -> str:
        return f"{self.fault.value} at {self.when.value} (server {self.server})"


_BOTH = (Fault.POD_DELETED, Fault.CONTAINER_RESTARTED)
_STEPS = (When.REHEARSE, When.STAGE, When.SWITCH, When.RECREATE)
ALL: tuple[Plan, ...] = (
    Plan(When.VALIDATE, Fault.NOTHING),
    *(Plan(when, Fault.OPERATOR_KILLED) for when in (When.VALIDATE, When.BEGUN, *_STEPS, When.ONE_ANEW)),
    *(Plan(when, fault) for fault in _BOTH for when in (When.STAGE, When.SWITCH, When.RECREATE)),
    Plan(When.SWITCH, Fault.POD_DELETED, server=0),
    Plan(When.SWITCH, Fault.CONTAINER_RESTARTED, server=0),
    *(Plan(when, Fault.SERVER_HUNG) for when in (When.STAGE, When.SWITCH, When.ONE_ANEW)),
    *(Plan(when, Fault.CUT_OFF) for when in (When.REHEARSE, When.STAGE)),
    Plan(When.REHEARSE, Fault.CACHE_LOST),
    Plan(When.STAGE, Fault.CACHE_LOST),
)
"""The server that passes calls on is the first that is old, mostly 0."""


def reached(service: Service, when: When) -> bool:
    """Whether that moment has come, or has gone by."""
    status = service.service().status
    if when is When.ONE_ANEW:
        return any(one.state.value == "Recreated" for one in status.members)
    return status.reason == when.value


def over(service: Service) -> bool:
    """Whether the swap is through."""
    return service.is_swapped()


def strike(plan: Plan, service: Service, operator: Process) -> None:
    _STRIKES[plan.fault](plan, service, operator)


def _kill(plan: Plan, service: Service, operator: Process) -> None:
    operator.kill()
    operator.start()


def _delete(plan: Plan, service: Service, operator: Process) -> None:
    name = f"minio-{plan.server}"
    uid = service.client.get(POD, name, service.namespace)["metadata"]["uid"]
    service.client.delete(POD, name, service.namespace, uid=uid)


def _restart(plan: Plan, service: Service, operator: Process) -> None:
    service.kubelet.restart_container(plan.server)


def _hang(plan: Plan, service: Service, operator: Process) -> None:
    service.kubelet.freeze(plan.server)
    time.sleep(15)
    service.kubelet.thaw(plan.server)


def _cut_off(plan: Plan, service: Service, operator: Process) -> None:
    service.kubelet.write_hosts(plan.server, knows_us=False)
    time.sleep(20)
    service.kubelet.write_hosts(plan.server)


def _lose_cache(plan: Plan, service: Service, operator: Process) -> None:
    shutil.rmtree(operator.cache, ignore_errors=True)


def _nothing(plan: Plan, service: Service, operator: Process) -> None:
    pass


_STRIKES: dict[Fault, Callable[[Plan, Service, Process], None]] = {
    Fault.OPERATOR_KILLED: _kill,
    Fault.POD_DELETED: _delete,
    Fault.CONTAINER_RESTARTED: _restart,
    Fault.SERVER_HUNG: _hang,
    Fault.CUT_OFF: _cut_off,
    Fault.CACHE_LOST: _lose_cache,
    Fault.NOTHING: _nothing,
}


def wrong(service: Service, lost: list[str]) -> list[str]:
    """What must not be so at the end."""
    found = [f"acknowledged and lost: {lost[:4]}"] if lost else []
    versions = set(service.versions())
    if versions != {NEW.time}:
        found.append(f"servers run {sorted(versions)}")
    if marks := service.marks():
        found.append(f"marks are left: {marks}")
    if service.live()["spec"]["updateStrategy"]["type"] != "RollingUpdate":
        found.append("the update strategy is not what it was")
    images = {pod["spec"]["containers"][0]["image"] for pod in service.pods().values()}
    if images != {service.image()}:
        found.append(f"pods are made of {sorted(images)}")
    return found
