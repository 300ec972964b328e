"""One upgrade at one moment: what is wanted, what was begun, and what is seen of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from shiplift.api.base import Resource
from shiplift.api.marks import UPGRADE_UID, made_for
from shiplift.api.nodes import NodeRollout
from shiplift.api.upgrade import (
    HistoryEntry,
    PolicyLost,
    UpgradeConfig,
    UpgradeConfigSpec,
    UpgradeConfigStatus,
    UpgradeType,
)
from shiplift.api.values import Condition, ConditionStatus
from shiplift.engine import versions
from shiplift.engine.conditions import READY, STALLED
from shiplift.upgrade.decide import path
from shiplift.upgrade.decide.plan import Planned, plan_of
from shiplift.upgrade.model import Machine, Reason, Stage, View
from shiplift.upgrade.names import CONTROL_PLANE, WORKERS, rollout_name

LAYERS_LOOK = timedelta(minutes=5)
"""So long a layer that runs may take for its first look at an object."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What the gates and steps of one upgrade are asked about."""

    view: View
    upgrade: UpgradeConfig
    now: datetime
    target: str
    """Where it goes, in normal form: frozen once it has begun."""
    preceding: str
    """What the control plane ran before; empty where nobody knows it."""
    plan: Planned | None
    """None where there is no way to the target, or it is not known."""
    refusal: str = ""
    """Why there is none."""

    @property
    def spec(self) -> UpgradeConfigSpec:
        return self.upgrade.spec

    @property
    def status(self) -> UpgradeConfigStatus:
        return self.upgrade.status

    @property
    def external(self) -> bool:
        """Whether somebody else changes control plane and nodes."""
        return self.spec.type is UpgradeType.EXTERNAL

    @property
    def openshift(self) -> bool:
        """Whether the cluster-version operator changes control plane and nodes."""
        return self.spec.type is UpgradeType.OPENSHIFT

    @property
    def behind(self) -> tuple[Machine, ...]:
        """Nodes that take part and do not run the target; of OpenShift a kubelet says nothing about the
        release."""
        if self.openshift:
            return ()
        return tuple(one for one in self.takes_part if not runs(one, self.target))

    @property
    def begun(self) -> bool:
        """Where it goes is stored: from then on to its end."""
        return self.status.target_version is not None

    @property
    def uid(self) -> str:
        return self.upgrade.metadata.uid

    @property
    def generation(self) -> int:
        """Another one each time that something else is asked for."""
        return self.upgrade.metadata.generation

    @property
    def queued(self) -> str:
        """A version that was asked for after the start; empty where none was."""
        wanted = versions.goal(self.spec.desired.version or "")
        return wanted if self.begun and wanted != self.target else ""

    @property
    def without_policy(self) -> bool:
        """Whether the provider has no policy for it any more."""
        policy = self.status.policy
        return self.begun and policy is not None and policy.lost

    @property
    def rests(self) -> str:
        """Why nothing new is begun, in a word or two; empty where it may be. A control plane that is half
        way is finished without its policy, and rests only where somebody pauses it."""
        if self.spec.paused:
            return "paused"
        lost = self.without_policy and self.spec.on_policy_lost is PolicyLost.PAUSE
        return "policy lost" if lost else ""

    @property
    def takes_part(self) -> tuple[Machine, ...]:
        """Nodes that are upgraded."""
        return tuple(one for one in self.view.machines if not one.left_out)

    def machines(self, part: str) -> tuple[Machine, ...]:
        """Those of one part of the cluster."""
        return tuple(one for one in self.takes_part if one.control_plane is (part == CONTROL_PLANE))

    def rollout(self, part: str) -> NodeRollout | None:
        """The NodeRollout of one part of the cluster, whoever made it."""
        name = rollout_name(self.target, part)
        return next((one for one in self.view.rollouts if one.metadata.name == name), None)

    @property
    def rollouts(self) -> tuple[NodeRollout, ...]:
        """All that were made for an upgrade of this UpgradeConfig."""
        return tuple(one for one in self.view.rollouts if is_ours(one, self.uid))

    @property
    def last(self) -> HistoryEntry | None:
        """The newest upgrade, running or over."""
        return self.status.history[0] if self.status.history else None

    @property
    def current(self) -> str:
        """What the control plane runs now; empty where nobody knows it."""
        return path.lowest(self.view.api_servers)

    @property
    def through(self) -> bool:
        """Whether it was stored that every step of the running upgrade is over."""
        said = {one.type: one.status for one in self.status.conditions}
        return self.begun and said.get(Stage.CHECKED) is ConditionStatus.TRUE

    def _said(self, type_: str) -> Condition | None:
        """What is on record of a step, or of the whole."""
        return next((one for one in self.status.conditions if one.type == type_), None)

    @property
    def is_blind(self) -> bool:
        """Whether what is seen has been old for a while, as it is on record, so that somebody has to look."""
        told = self._said(STALLED)
        if told is not None and told.status is ConditionStatus.TRUE and told.reason == Reason.STALE_VIEW:
            return True
        return self._unknown_for(READY) >= LAYERS_LOOK

    def _unknown_for(self, type_: str) -> timedelta:
        """How long a condition has been unknown; nothing where it is not."""
        said = self._said(type_)
        unknown = said is not None and said.status is ConditionStatus.UNKNOWN
        return self.now - said.last_transition_time if said is not None and unknown else timedelta()

    def waited_for(self, stage: Stage) -> bool:
        """Whether a step is waited for, as it is on record."""
        said = self._said(stage)
        return said is not None and said.status is ConditionStatus.FALSE

    def was_over(self, stage: Stage) -> bool:
        """Whether a step of the running upgrade is over, as it is on record."""
        said = self._said(stage)
        return self.begun and said is not None and said.status is ConditionStatus.TRUE

    def waits_at(self, stage: Stage) -> timedelta:
        """How long a step has been waited for, as it is on record; nothing where it is over or not begun."""
        said = self._said(stage)
        if said is None or said.status is not ConditionStatus.FALSE:
            return timedelta()
        return self.now - said.last_transition_time

    def unknown_at(self, stage: Stage) -> bool:
        """Whether nobody has known for a while whether a step is over, as it is on record."""
        return self._unknown_for(stage) >= LAYERS_LOOK

    def nobody_looks_at(self, one: Resource, observed: int) -> bool:
        """Whether no operator has ever looked at an object of a layer, though it had the time."""
        made = one.metadata.creation_timestamp
        return observed == 0 and made is not None and self.now - made >= LAYERS_LOOK

    @property
    def retries(self) -> bool:
        """Whether somebody has asked to try again, and that is not done yet."""
        return self.spec.retry > self.status.retried


def is_ours(one: Resource, uid: str) -> bool:
    """Whether it was made for the UpgradeConfig of that uid."""
    return uid in (one.metadata.labels.get(UPGRADE_UID), one.metadata.annotations.get(UPGRADE_UID))


def is_made(one: Resource) -> bool:
    """Whether it was made for an upgrade, whichever."""
    return bool(made_for(one.metadata.labels, one.metadata.annotations))


def course_of(view: View, upgrade: UpgradeConfig, now: datetime) -> Course:
    """Once begun, target and plan go by what was written down."""
    status = upgrade.status
    begun = status.target_version is not None
    target = versions.goal((begun and status.target_version) or upgrade.spec.desired.version or "")
    preceding = path.lowest(view.api_servers)
    if begun and status.history and status.history[0].preceding_version:
        preceding = status.history[0].preceding_version
    plan, refusal = None, ""
    if target and preceding:
        refusal = "" if begun else _refusal(view, target)
        later = (*view.services, *view.apps)
        way = path.path_to(target, preceding)
        plan = None if refusal else plan_of(upgrade.spec, target, way, later, preceding)
    return Course(
        view=view,
        upgrade=upgrade,
        now=now,
        target=target,
        preceding=preceding,
        plan=plan,
        refusal=refusal,
    )


def _refusal(view: View, target: str) -> str:
    try:
        path.refuse(target, view.api_servers, _taking_part(view.machines))
    except path.RefusedError as error:
        return str(error)
    return ""


def _taking_part(machines: Iterable[Machine]) -> list[Machine]:
    return [one for one in machines if not one.left_out]


def runs(machine: Machine, target: str) -> bool:
    """Whether a node runs the target version."""
    return versions.reaches(machine.kubelet, target)


PARTS = (CONTROL_PLANE, WORKERS)
