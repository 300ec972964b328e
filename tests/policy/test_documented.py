"""The guide has every setting, field of a policy, metric and alert, and none that is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

import msgspec
import pytest
from msgspec import structs

from shiplift.api.upgrade import UpgradeConfigSpec
from shiplift.kube.store import Store
from shiplift.outside.letters import MOST
from shiplift.outside.reaching import Reaching
from shiplift.policy.config import Http, Ocm, Section
from shiplift.policy.document import Document
from shiplift.policy.face.alerts import ALERTS
from shiplift.policy.tell.metrics import SyncCollector
from tests.docs.clone import ROOT


class Unseen:
    """The store of a process of which nothing was noted yet."""


GUIDE = (ROOT / "docs/policy.md").read_text()


def section(heading: str) -> str:
    return re.split(r"^##+ ", GUIDE.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def named(heading: str) -> set[str]:
    """What stands in the first cells of the table below a heading."""
    rows = [line.split("|")[1] for line in section(heading).splitlines() if line.startswith("| ")]
    return {name.partition("{")[0] for cell in rows for name in re.findall("`([^`]+)`", cell)}


def settings() -> Iterator[str]:
    parts: dict[str, type[msgspec.Struct]] = {"http": Http, "ocm": Ocm, "reach": Reaching}
    for one in structs.fields(Section):
        if part := parts.get(one.encode_name):
            yield from (f"{one.encode_name}.{each.encode_name}" for each in structs.fields(part))
        else:
            yield one.encode_name


def test_every_setting_is_in_the_table_of_settings_and_no_other() -> None:
    assert named("Settings") == set(settings())


@pytest.mark.parametrize("one", structs.fields(UpgradeConfigSpec), ids=lambda one: one.encode_name)
def test_of_each_field_it_is_said_whether_a_policy_may_have_it(one: structs.FieldInfo) -> None:
    may, _, may_not = section("Provider HTTP").partition("may be there.")
    mine = one.encode_name in {each.encode_name for each in structs.fields(Document)}
    assert f"`{one.encode_name}`" in (may if mine else may_not)


def test_every_metric_and_alert_is_told() -> None:
    metrics = {
        sample.name for one in SyncCollector(cast("Store", Unseen())).collect() for sample in one.samples
    }
    alerts = {one.name for one in ALERTS}
    told = {name for name in named("What it tells") if re.match("shiplift_|Shiplift", name)}
    assert told == metrics | alerts


def test_how_many_reports_there_is_room_for_is_told() -> None:
    assert f"There is room for {MOST};" in section("Provider OCM")
