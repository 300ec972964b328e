"""The guide has every metric and alert of the layer, its figures, and every kind of event."""

from __future__ import annotations

import re
from typing import cast

from shiplift.api.upgrade import TurnOf
from shiplift.kube.store import Store
from shiplift.notify import milestones
from shiplift.notify.controller import PART
from shiplift.notify.face.alerts import ALERTS
from shiplift.notify.metrics import NoticeCollector
from shiplift.outside.letters import MOST
from tests.docs.clone import ROOT

GUIDE = (ROOT / "docs/notify.md").read_text()
CELLS = "\n".join(line.split("|")[1] for line in GUIDE.splitlines() if line.startswith("| "))


class Unseen:
    """The store of a process of which nothing was noted yet."""


def test_every_metric_and_alert_is_told() -> None:
    families = NoticeCollector(cast("Store", Unseen())).collect()
    metrics = {sample.name for one in families for sample in one.samples}
    assert set(re.findall("`((?:shiplift_|Shiplift)[^`]+)`", CELLS)) == metrics | {one.name for one in ALERTS}


def test_every_step_and_turn_is_told() -> None:
    [steps] = [line for line in GUIDE.splitlines() if "upgrade.step-…" in line]
    [turns] = [line for line in GUIDE.splitlines() if "upgrade.turn-…" in line]
    assert not [one for one in milestones.STEPS if f"`{one.lower()}`" not in steps]
    assert not [one for one in TurnOf if f"`{one.value.lower()}`" not in turns]


def test_how_much_room_there_is_and_which_ports_are_open_is_told() -> None:
    assert f"There is room for {MOST};" in GUIDE
    ports = " and ".join(str(port) for one in PART.reaches for port in one.ports)
    assert f"lets the operator out to ports {ports}" in GUIDE
