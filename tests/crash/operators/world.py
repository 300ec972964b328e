"""Everybody else: a user, an operator that vetoes, the conductor, and who publishes catalogs; each act begins
when the one before it is over."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from shiplift.facts.kinds import APP_TYPE, OPERATOR_VERSION, UPGRADE_CONFIG, Kind
from shiplift.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from shiplift.kube.manifests import kind_of
from tests.crash.operators import facts
from tests.crash.operators.scenarios import LATER, SPACE, VETO, Act, Json, Scenario
from tests.crash.recorder import Key, State
from tests.crash.stage import Stage
from tests.crash.workloads.shape import NEW
from tests.operators.bundles import GROUP, in_maps
from tests.operators.rig import CATALOGS

_SOME_TIME = "2026-11-17T10:00:00Z"


class World:
    """One run of a scenario."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        self._admin, self._scenario = stage.admin, scenario
        self._acts = list(scenario.acts)
        self._begun = False

    @property
    def upstreams(self) -> Mapping[str, str]:
        return {}

    def complaints(self) -> list[str]:
        return []

    def beyond(self) -> State:
        return {}

    def close(self) -> None:
        """It has started nothing."""

    def play(self, state: State) -> None:
        if self._acts and self._begun and self._reached(self._acts[0], state):
            self._acts.pop(0)
            self._begun = False
        if self._acts and not self._begun:
            self._begun = self._begin(self._acts[0], state)

    def over(self, state: State) -> bool:
        return not self._acts and not facts.residue(state)

    def _begin(self, act: Act, state: State) -> bool:
        """Whether all of it is done; a write that somebody was faster with is tried at the next look."""
        try:
            if act.veto:
                self._veto(act.veto, state)
            if act.offer:
                self._offer()
            if act.upgrade is not None:
                self._tell(UPGRADE_CONFIG, "cluster", "", act.upgrade)
            for number in range(act.boats):
                self._boat(number)
            if act.conduct:
                self._conduct()
            if act.spec:
                self._edit(act.spec)
            if act.delete:
                self._admin.delete(APP_TYPE, self._scenario.package, SPACE, uid=self._uid())
        except (Conflict, NotFound):
            return False
        return True

    def _uid(self) -> str:
        return self._admin.get(APP_TYPE, self._scenario.package, SPACE)["metadata"]["uid"]

    def _edit(self, spec: Json) -> None:
        self._admin.patch(APP_TYPE, self._scenario.package, {"spec": spec}, SPACE, uid=self._uid())

    def _veto(self, holds: str, state: State) -> None:
        """The one version that there is says whether it may be replaced."""
        (found,) = facts.versions(state, self._scenario.package)
        name = found["metadata"]["name"]
        live = self._admin.get(OPERATOR_VERSION, name, SPACE)
        said = [one for one in facts.status(live).get("conditions", []) if one["type"] != VETO["type"]]
        told = {**VETO, "status": holds, "lastTransitionTime": _SOME_TIME}
        self._tell(OPERATOR_VERSION, name, SPACE, {"conditions": [*said, told]})

    def _tell(self, kind: Kind, name: str, space: str, status: Json) -> None:
        about = self._admin.get(kind, name, space)["metadata"]
        dated = [{"lastTransitionTime": _SOME_TIME, **one} for one in status.get("conditions", [])]
        self._admin.patch(
            kind,
            name,
            {"status": {**status, **({"conditions": dated} if dated else {})}},
            space,
            uid=about["uid"],
            resource_version=about["resourceVersion"],
            subresource="status",
        )

    def _offer(self) -> None:
        for one in in_maps(LATER, CATALOGS, self._scenario.later):
            try:
                self._admin.create(kind_of(one), one, one["metadata"].get("namespace", ""))
            except AlreadyExists:
                continue

    def _boat(self, number: int) -> None:
        body = {"metadata": {"name": f"boat-{number}"}, "spec": {"size": number}}
        with contextlib.suppress(AlreadyExists):
            self._admin.create(Kind("Boat", "boats", GROUP, "v1"), body, SPACE)

    def _has_boats(self, count: int) -> bool:
        """All are there and can be read, as the newest version has them."""
        try:
            found = self._admin.list(Kind("Boat", "boats", GROUP, "v2"), SPACE)
            return sorted(one["spec"]["size"] for one in found) == list(range(count))
        except KubeError:
            return False

    def _conduct(self) -> None:
        spec = {"desired": {"version": NEW}, "strategy": {"workloads": {"waitForNodes": {"settle": "0s"}}}}
        with contextlib.suppress(AlreadyExists):
            self._admin.create(UPGRADE_CONFIG, {"metadata": {"name": "cluster"}, "spec": spec})

    def _conducted(self, act: Act, state: State) -> bool:
        status = facts.status(state.get(Key("UpgradeConfig", "", "cluster"), {}))
        ended = status.get("phase") == "Upgraded" and not status.get("targetVersion")
        begun = bool(status.get("targetVersion")) or ended
        return (begun or not act.target) and (ended or not act.upgraded)

    def _reached(self, act: Act, state: State) -> bool:
        package = self._scenario.package
        if act.gone:
            return not facts.app(state, package) and not facts.versions(state, package)
        about, reason = act.reason
        told = not about or facts.condition(facts.app(state, package), about).get("reason") == reason
        runs = not act.installed or facts.runs_alone(state, package, act.installed)
        others = not act.also or facts.condition(facts.app(state, act.also), "Ready").get("status") == "True"
        there = told and runs and others and self._conducted(act, state)
        return there and (not act.boats or self._has_boats(act.boats))
