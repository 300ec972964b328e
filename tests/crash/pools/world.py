"""A user, and somebody who takes things away; each act begins when the one before it is over."""

from __future__ import annotations

from collections.abc import Mapping

from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE
from shiplift.kube.errors import Conflict, NotFound
from tests.crash.pools import facts
from tests.crash.pools.scenarios import POOL, Act, Scenario
from tests.crash.recorder import State
from tests.crash.stage import Stage

_KINDS = {"Node": NODE, "Machine": MACHINE}


class World:
    """One run of a scenario."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        self._admin = stage.admin
        self._acts = list(scenario.acts)
        self._begun = False
        self._lost: dict[str, str] = {}
        """What was taken away in this act, with its uid."""

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
            self._lost = {}
            self._begun = self._begin(self._acts[0])

    def over(self, state: State) -> bool:
        return not self._acts

    def _begin(self, act: Act) -> bool:
        """Whether all of it is done; a write that somebody was faster with is tried at the next look."""
        try:
            if act.spec:
                uid = self._admin.get(MACHINE_POOL, POOL)["metadata"]["uid"]
                self._admin.patch(MACHINE_POOL, POOL, {"spec": act.spec}, uid=uid)
            for one in act.lose:
                self._take_away(one)
        except (Conflict, NotFound):
            return False
        return True

    def _take_away(self, one: str) -> None:
        kind, _, name = one.partition("/")
        if one not in self._lost:
            self._lost[one] = self._admin.get(_KINDS[kind], name)["metadata"]["uid"]
            self._admin.delete(_KINDS[kind], name, uid=self._lost[one])

    def _reached(self, act: Act, state: State) -> bool:
        pool = facts.pool(state, POOL)
        current = facts.status(pool).get("observedGeneration") == pool["metadata"]["generation"]
        said = facts.condition(pool, "Ready").get("reason") == act.reason
        ready = facts.status(pool).get("ready", {}).get("summary") == act.ready
        return current and said and ready and all(self._is_settled(one, act, state) for one in act.lose)

    def _is_settled(self, one: str, act: Act, state: State) -> bool:
        """Another is there in its place, or none."""
        found = state.get(facts.key(one))
        if one in act.without:
            return found is None
        if found is None or found["metadata"]["uid"] == self._lost.get(one):
            return False
        return one.startswith("Node") or facts.status(found).get("phase") == "Joined"
