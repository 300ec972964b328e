"""The guide has every reason, check, field, phase, metric and alert of an upgrade, and none that is not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import msgspec
import pytest

from shiplift.api.upgrade import UpgradeConfigSpec, UpgradePhase
from shiplift.kube.documents import read
from shiplift.kube.store import Store
from shiplift.upgrade.decide import preflight
from shiplift.upgrade.face.alerts import ALERTS
from shiplift.upgrade.model import Reason, Stage
from shiplift.upgrade.tell.metrics import UpgradeCollector
from tests.docs.clone import ROOT
from tests.upgrade.test_telling import Rows

GUIDE = (ROOT / "docs/upgrade.md").read_text()
PARTS = re.findall(r"^```yaml part\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def section(heading: str) -> str:
    return re.split(r"^##+ ", GUIDE.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def named(heading: str) -> set[str]:
    """What stands in the first cells of the table below a heading."""
    rows = [line.split("|")[1] for line in section(heading).splitlines() if line.startswith("| `")]
    return {name for cell in rows for name in re.findall("`([^`]+)`", cell)}


def test_every_reason_is_in_the_table_of_reasons_and_no_other() -> None:
    assert named("What it waits for, by reason") == {one.value for one in Reason}


def test_the_steps_are_told_in_their_order() -> None:
    told = re.findall(r"^\d\. \*\*(.*?)\.\*\*", section("What it does, in order"), re.MULTILINE)
    assert ", ".join(told).split(", ") == [one.value for one in Stage]


def test_every_check_is_in_the_table_of_checks_and_no_other() -> None:
    codes = re.findall(r'code="(\w+)"', Path(preflight.__file__).read_text())
    assert named("Preflight") == set(codes)
    assert len(codes) == len(preflight.CHECKS)


@pytest.mark.parametrize("one", msgspec.structs.fields(UpgradeConfigSpec), ids=lambda one: one.encode_name)
def test_every_field_is_in_the_table_of_settings(one: msgspec.structs.FieldInfo) -> None:
    assert one.encode_name in {name.partition(".")[0] for name in named("Settings")}


@pytest.mark.parametrize("part", PARTS)
def test_what_is_shown_of_a_spec_can_stand_in_one(part: str) -> None:
    shown = read(part.encode())
    assert isinstance(shown, dict)
    msgspec.convert({"desired": {"version": "v1.36.3"}, **shown}, UpgradeConfigSpec)


def test_every_phase_is_told() -> None:
    told = section("What it tells")
    assert not [one for one in UpgradePhase if f"`{one.value}`" not in told]


def test_every_metric_and_alert_is_told() -> None:
    told = {name.partition("{")[0] for name in named("Metrics and alerts")}
    assert told == {one.name for one in UpgradeCollector(cast("Store", Rows())).collect()}
    assert not [one.name for one in ALERTS if f"`{one.name}`" not in section("Metrics and alerts")]
