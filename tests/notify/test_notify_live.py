"""Notices of a real operator: to a receiver that is away for a while, and to a real Alertmanager."""

from __future__ import annotations

import contextlib
import json
import socket
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from shiplift.facts.kinds import CONFIG_MAP, UPGRADE_CONFIG
from shiplift.kube.account import Account
from shiplift.kube.config import KEY as CONFIG_KEY
from shiplift.kube.config import NAME as CONFIG
from shiplift.kube.errors import Conflict, NotFound
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from shiplift.notify.controller import PART
from shiplift.notify.model import Silence
from shiplift.notify.names import KEY, OUTBOX
from shiplift.notify.silences import Alertmanager
from shiplift.operator import install
from shiplift.outside.door import Door, Reach
from tests import rights
from tests.audit import Audit
from tests.notify import alertmanager
from tests.notify.alertmanager import Server
from tests.notify.configs import Json, condition, over, running
from tests.operated import NEW, SPACE, Operated
from tests.outside.https import Asked, Reply, serving
from tests.until import until

REACH = {"notify": {"reach": {"private": ["127.0.0.0/8"], "timeout": "2s"}}}
LOCAL = Reach(private=("127.0.0.0/8",))


class Rig(Operated):
    """The cluster, the operator, and an UpgradeConfig whose conductor the test is."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, (PART,))
        text = yaml.safe_dump(REACH)
        self.client.create(CONFIG_MAP, {"metadata": {"name": CONFIG}, "data": {CONFIG_KEY: text}}, SPACE)

    def ask(self, *notify: Json) -> None:
        spec = {"desired": {"version": NEW}, "notify": list(notify)}
        self.client.create(UPGRADE_CONFIG, {"metadata": {"name": KEY}, "spec": spec})

    def tell(self, status: Json) -> None:
        until(lambda: self._told(status))

    def _told(self, status: Json) -> bool:
        about = self.client.get(UPGRADE_CONFIG, KEY)["metadata"]
        with contextlib.suppress(Conflict):
            self.client.patch(
                UPGRADE_CONFIG,
                KEY,
                {"status": status},
                uid=about["uid"],
                resource_version=about["resourceVersion"],
                subresource="status",
            )
            return True
        return False

    def letters(self) -> list[str]:
        data = self.client.get(CONFIG_MAP, OUTBOX, SPACE).get("data") or {}
        return [one["id"].rpartition("-")[2] for one in json.loads(data.get("box", "{}")).get("letters", [])]

    def clear(self) -> None:
        self.stop()
        with contextlib.suppress(NotFound):
            self.client.delete(
                UPGRADE_CONFIG, KEY, uid=self.client.get(UPGRADE_CONFIG, KEY)["metadata"]["uid"]
            )
        uid = self.client.get(CONFIG_MAP, OUTBOX, SPACE)["metadata"]["uid"]
        self.client.patch(CONFIG_MAP, OUTBOX, {"data": None}, SPACE, uid=uid)


@pytest.fixture(scope="module")
def _rig(clusters_folder: Path) -> Iterator[Rig]:
    cluster = Cluster(f"notify-{uuid.uuid4().hex[:8]}", clusters_folder)
    with rights.audited(cluster, PART, settings=Settings(components=API_ONLY, audit=True)):
        made = Rig(cluster)
        yield made
        made.close()


@pytest.fixture
def rig(_rig: Rig) -> Iterator[Rig]:
    yield _rig
    _rig.clear()


@pytest.fixture(scope="module")
def alerts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with alertmanager.running(tmp_path_factory.mktemp("alertmanager")) as server:
        yield server


def taken(asked: Asked) -> Reply:
    return Reply(202)


def types(asked: list[Asked]) -> list[str]:
    return [json.loads(one.body)["type"].rpartition(".")[2] for one in asked]


def test_a_receiver_that_is_away_for_a_while_is_told_all_of_it_in_order(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken_port:
        port = taken_port.getsockname()[1]
    rig.ask({"name": "chat", "url": f"http://127.0.0.1:{port}/hook"})
    audit = Audit(rig.cluster, Account(SPACE, install.ACCOUNT))
    rig.start()
    rig.tell(running())
    until(lambda: rig.letters() == ["started"])
    rig.tell(running(condition("NodesUpgraded", 10, holds=False)))
    until(lambda: rig.letters() == ["started", "nodesupgraded"])
    rig.stop()
    rig.start()
    rig.tell(over())
    until(lambda: rig.letters() == ["started", "nodesupgraded", "upgraded"])
    with serving(None, taken, port) as receiver:
        until(lambda: types(receiver.asked) == ["started", "step-nodesupgraded", "upgraded"], 60)
        until(lambda: rig.letters() == [])
    first = receiver.asked[0]
    assert (first.method, first.path) == ("POST", "/hook")
    assert first.headers["content-type"] == "application/cloudevents+json"
    assert json.loads(first.body)["specversion"] == "1.0"
    assert audit.forbidden() == []


def test_what_was_noted_is_told_also_when_its_object_is_gone(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken_port:
        port = taken_port.getsockname()[1]
    rig.ask({"name": "chat", "url": f"http://127.0.0.1:{port}"})
    rig.start()
    rig.tell(running())
    until(lambda: rig.letters() == ["started"])
    rig.client.delete(UPGRADE_CONFIG, KEY, uid=rig.client.get(UPGRADE_CONFIG, KEY)["metadata"]["uid"])
    with serving(None, taken, port) as receiver:
        until(lambda: types(receiver.asked) == ["started"], 60)
        until(lambda: rig.letters() == [])


def test_a_receiver_that_will_never_take_it_holds_up_nothing(rig: Rig) -> None:
    with serving(None, lambda _: Reply(410)) as gone, serving(None, taken) as there:
        rig.ask({"name": "gone", "url": gone.url}, {"name": "there", "url": there.url})
        rig.start()
        rig.tell(running())
        until(lambda: types(there.asked) == ["started"], 30)
        until(lambda: rig.letters() == [], 30)
        assert len(gone.asked) == 1


def test_alerts_are_silenced_while_it_runs_and_heard_again_after_it(rig: Rig, alerts: Server) -> None:
    rig.ask({"name": "alerts", "type": "Alertmanager", "url": alerts.url, "matchers": {"cluster": "one"}})
    rig.start()
    rig.tell(running())
    (silence,) = until(alerts.silences, 120)
    ends = datetime.fromisoformat(silence["endsAt"])
    assert ends - datetime.now(UTC) < timedelta(minutes=6)
    alerts.fire("Slow", severity="warning", cluster="one")
    alerts.fire("Elsewhere", severity="warning", cluster="two")
    alerts.fire("Dead", severity="critical", cluster="one")
    wanted = {"Slow": "suppressed", "Elsewhere": "active", "Dead": "active"}
    until(lambda: {name: alerts.heard().get(name) for name in wanted} == wanted, 120)
    rig.tell(over())
    until(lambda: not alerts.silences(), 120)
    until(lambda: alerts.heard().get("Slow") == "active", 120)


def test_a_silence_is_renewed_in_place_and_made_anew_where_somebody_ended_it(alerts: Server) -> None:
    there = Alertmanager(Door(LOCAL), Silence("alerts", alerts.url, uuid.uuid4().hex), None)
    now = datetime.now(UTC)
    there.hold(now + timedelta(minutes=2))
    (first,) = alerts.silences()
    there.hold(now + timedelta(minutes=9))
    (renewed,) = alerts.silences()
    assert renewed["id"] == first["id"]
    assert renewed["endsAt"] > first["endsAt"]
    alerts.expire(first["id"])
    assert alerts.silences() == []
    there.hold(now + timedelta(minutes=9))
    (anew,) = alerts.silences()
    assert anew["id"] != first["id"]
    there.end()
    assert alerts.silences() == []
    there.end()


def test_silences_of_others_are_left_alone(alerts: Server) -> None:
    ours, others = (Silence("alerts", alerts.url, uuid.uuid4().hex) for _ in range(2))
    for one in (ours, others):
        Alertmanager(Door(LOCAL), one, None).hold(datetime.now(UTC) + timedelta(minutes=5))
    Alertmanager(Door(LOCAL), ours, None).end()
    assert [one["comment"] for one in alerts.silences()] == [others.comment]
    Alertmanager(Door(LOCAL), others, None).end()
