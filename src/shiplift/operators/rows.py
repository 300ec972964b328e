"""What rows of this layer's kinds say. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from shiplift.api.marks import UPGRADE_HOLD
from shiplift.api.operators import (
    AppType,
    CrdRule,
    OperatorCatalog,
    OperatorCatalogStatus,
    OperatorVersion,
    RuleAction,
)
from shiplift.api.upgrade import UpgradeConfig
from shiplift.api.values import ConditionStatus, Status
from shiplift.facts.custom import Custom
from shiplift.operators.handing.ownership import Owner
from shiplift.operators.model import NEED_SOMEBODY, About, Reason
from shiplift.operators.names import CONTROL_PLANE, ORDER, UNTOUCHED


def app_of(row: Custom) -> AppType:
    return row.object


def is_paused(app: Custom) -> bool:
    """By its user, or by whoever conducts an upgrade of the cluster."""
    return app_of(app).spec.paused or UPGRADE_HOLD in app.annotations


def version_of(row: Custom) -> OperatorVersion:
    return row.object


def catalog_of(row: Custom) -> OperatorCatalog:
    return row.object


def catalog_status_of(row: Custom) -> OperatorCatalogStatus:
    return catalog_of(row).status


def owner_of(row: Custom) -> Owner:
    return Owner(row.namespace, row.name, row.uid)


def order_of(row: Custom) -> int:
    """Later versions of an AppType are higher; 0 where nobody says."""
    text = row.annotations.get(ORDER, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def is_untouched(row: Custom) -> bool:
    """Whether nothing of the version was ever installed."""
    return UNTOUCHED in row.annotations


def holds(row: Custom, about: str) -> bool:
    """Whether a condition of it is true, as it was last told."""
    conditions = row.object.status.conditions
    return any(one.type == about and one.status is ConditionStatus.TRUE for one in conditions)


def has_run(row: Custom) -> bool:
    """Whether it ever ran; of one that took over, an earlier release noted only that."""
    return version_of(row).status.first_run_time is not None or holds(row, About.HANDED_OVER)


def denies(row: Custom, about: str) -> str | None:
    """What a condition that is false says; None where it is not false."""
    return denied(row.object.status, about)


def turn_of(upgrade: UpgradeConfig) -> str:
    """Why nothing new is begun while the control plane is upgraded; empty where it may be. What has to come
    before it, the checks before an upgrade ask for; what needs the new version comes after it."""
    target = upgrade.status.target_version
    said = {one.type: one.status for one in upgrade.status.conditions}
    if target is None or said.get(CONTROL_PLANE) is ConditionStatus.TRUE:
        return ""
    return f"the cluster is being upgraded to {target}; this begins when its control plane is"


def stuck(row: Custom, about: str) -> tuple[Reason, str] | None:
    """Why somebody is waited for, as a condition says; None where nobody is."""
    for said in row.object.status.conditions:
        if said.type == about and said.reason in NEED_SOMEBODY:
            return Reason(said.reason), said.message
    return None


def denied(status: Status, about: str) -> str | None:
    for one in status.conditions:
        if one.type == about and one.status is ConditionStatus.FALSE:
            return one.message or one.reason
    return None


def actions_of(row: Custom | None) -> Mapping[CrdRule, RuleAction]:
    """The overrides of an AppType."""
    return {} if row is None else {one.rule: one.action for one in app_of(row).spec.crd_safety}
