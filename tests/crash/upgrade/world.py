"""Who else is there: a user, who looks, and does what is due, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shiplift.facts import kinds
from tests.crash.nodes import facts as nodes
from tests.crash.recorder import State
from tests.crash.stage import Stage
from tests.crash.upgrade import facts
from tests.crash.upgrade.scenarios import LATER, PATIENT, PLANE, UPGRADE, HalfWay, Scenario

_AT_REST = ("Failed", "Quarantined", "Skipped")


class World:
    """Everybody else, for one run."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        self._admin, self._scenario = stage.admin, scenario
        self._done = scenario.half_way is HalfWay.NOTHING
        self._paused = False
        self._acts: dict[HalfWay, Callable[[State], bool]] = {
            HalfWay.PAUSE: self._pause,
            HalfWay.ABORT: self._abort,
            HalfWay.DELETE: self._delete,
            HalfWay.ANOTHER: self._another,
            HalfWay.STRATEGY: self._change_strategy,
        }

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
        if not self._done:
            self._done = self._acts[self._scenario.half_way](state)

    def over(self, state: State) -> bool:
        """The upgrade is where it should end, and nothing of it is left."""
        status = facts.status(state)
        wanted = self._scenario.phase
        ended = not facts.upgrade(state) if not wanted else self._ended(status)
        return self._done and ended and facts.all_well(state, self._scenario) and not facts.residue(state)

    def _ended(self, status: dict[str, Any]) -> bool:
        history = status.get("history") or [{}]
        version = self._scenario.interrupted or history[0].get("version") == self._scenario.version
        return status.get("phase") == self._scenario.phase and "completeTime" in history[0] and version

    def _begun(self, state: State) -> bool:
        """Whether a worker is changed."""
        return any(nodes.version(one) != "v1.35.4" for name, one in _workers(state))

    def _pause(self, state: State) -> bool:
        if not self._paused:
            self._paused = self._begun(state) and self._edit(state, paused=True)
            return False
        flying = [one for one in facts.records(state) if one["state"] not in _AT_REST]
        held = (facts.rollout(state).get("status") or {}).get("phase") in ("Paused", "Complete")
        return held and not flying and self._edit(state, paused=False)

    def _abort(self, state: State) -> bool:
        return self._begun(state) and self._edit(state, abort=True)

    def _delete(self, state: State) -> bool:
        if not self._begun(state):
            return False
        uid = facts.upgrade(state)["metadata"]["uid"]
        self._admin.delete(kinds.UPGRADE_CONFIG, UPGRADE, uid=uid)
        return True

    def _another(self, state: State) -> bool:
        begun = bool(facts.rollout(state, PLANE))
        return begun and self._edit(state, desired={"version": LATER})

    def _change_strategy(self, state: State) -> bool:
        return self._begun(state) and self._edit(state, strategy=PATIENT)

    def _edit(self, state: State, **spec: Any) -> bool:
        uid = facts.upgrade(state)["metadata"]["uid"]
        self._admin.patch(kinds.UPGRADE_CONFIG, UPGRADE, {"spec": spec}, uid=uid)
        return True


def _workers(state: State) -> list[tuple[str, dict[str, Any]]]:
    return [
        (key.name, one)
        for key, one in state.items()
        if key.kind == "Node" and not nodes.is_control_plane(one)
    ]
