"""Metrics say what the statuses of services say, in numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from shiplift.api.base import ObjectMeta
from shiplift.api.quorum import (
    Member,
    MemberState,
    QuorumService,
    QuorumServiceSpec,
    QuorumServiceStatus,
    QuorumStep,
)
from shiplift.api.values import Condition, ConditionStatus
from shiplift.kube.store import Store
from shiplift.quorum.face.alerts import ALERTS
from shiplift.quorum.tell.metrics import QuorumCollector

AT = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
SPEC = QuorumServiceSpec(stateful_sets=("minio",), image="quay.io/minio/minio:new", credentials_secret="root")


class Row:
    def __init__(self, service: QuorumService) -> None:
        self.object = service


class Rows:
    """A store with these services."""

    def __init__(self, *found: QuorumService) -> None:
        self._found = found

    def snapshot(self, *_: Any) -> Rows:
        return self

    def customs(self, _kind: Any) -> list[Row]:
        return [Row(one) for one in self._found]


def service(name: str, status: QuorumServiceStatus | None = None) -> QuorumService:
    about = ObjectMeta(name=name, namespace="store", uid=name)
    return QuorumService(metadata=about, spec=SPEC, status=status or QuorumServiceStatus())


def measured(*found: QuorumService) -> dict[str, float]:
    families = QuorumCollector(cast("Store", Rows(*found))).collect()
    return {
        " ".join((sample.name.removeprefix("shiplift_quorum_"), *sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def half_way() -> QuorumServiceStatus:
    stalled = Condition(
        type="Stalled", status=ConditionStatus.TRUE, reason="StepFailed", last_transition_time=AT
    )
    return QuorumServiceStatus(
        step=QuorumStep.SWITCH,
        conditions=(stalled,),
        switch_time=AT,
        members=(
            Member(pod="minio-0", state=MemberState.OLD, version="2025-04-22T22:12:26Z"),
            Member(pod="minio-1", state=MemberState.NEW, version="2025-09-07T16:13:09Z"),
            Member(pod="minio-2", state=MemberState.NEW, version="2025-09-07T16:13:09Z"),
            Member(pod="minio-3", state=MemberState.UNKNOWN),
        ),
    )


def test_metrics_are_read_from_the_status_of_each_service() -> None:
    found = measured(service("busy", half_way()), service("new"))
    assert found["members store busy New"] == 2
    assert found["members store busy Old"] == found["members store busy Unknown"] == 1
    assert found["step store busy Switch"] == 1
    assert found["step store busy Stage"] == 0
    assert found["stalled store busy"] == found["mixed store busy"] == 1
    assert found["switch_timestamp_seconds store busy"] == AT.timestamp()
    assert found["step store new Idle"] == 1
    assert found["stalled store new"] == found["mixed store new"] == found["members store new New"] == 0


def test_servers_of_one_version_are_not_mixed_whoever_is_silent() -> None:
    status = half_way()
    same = QuorumServiceStatus(members=status.members[1:])
    assert measured(service("store", same))["mixed store store"] == 0


def test_alerts_ask_for_metrics_that_there_are() -> None:
    names = {f"shiplift_quorum_{key.split()[0]}" for key in measured(service("one"))}
    for alert in ALERTS:
        assert any(name in alert.expression for name in names), alert.name
