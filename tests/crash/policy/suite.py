"""The layer `policy` under the crash harness: the provider's calls are crash points too."""

from __future__ import annotations

import json

import yaml

from shiplift.api.marks import REFRESH_ASKED, REFRESH_AT, REFRESH_DONE
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube import grants
from shiplift.kube.config import KEY, NAME
from shiplift.kube.part import LayerPart
from shiplift.local.nodes import Pool
from shiplift.operator import install
from tests.crash import normal
from tests.crash.facts import labels, notes
from tests.crash.mutants import Mutant
from tests.crash.orders import SPACE
from tests.crash.policy import mutants, scenarios
from tests.crash.policy.layer import PART
from tests.crash.policy.scenarios import FIRST, PROVIDER, REFRESHED, THIRD, Json, Scenario
from tests.crash.policy.world import JOURNAL, NOTICES, OBJECT, RECORD, World, chapters, field, letters
from tests.crash.recorder import Change, State, Trace, moments
from tests.crash.stage import Stage
from tests.crash.suite import Flat, Player, Suite
from tests.policy.held import pull_secret
from tests.policy.ocm_server import EXTERNAL

_FREE_STATUS = frozenset({"observedGeneration"})
_FREE_OF_CONDUCTOR = frozenset({"startTime", "eta", "plan", "findings", "message", "history"})
ONE_NODE = Pool(name="n", count=1, version=THIRD)
"""Without one there would be nothing to upgrade."""
_WISHES = frozenset({REFRESH_ASKED, REFRESH_DONE})


class Policy:
    """What the harness asks of it."""

    @property
    def part(self) -> LayerPart:
        return PART

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        return scenarios.ALL

    @property
    def mutants(self) -> tuple[Mutant, ...]:
        return mutants.ALL

    @property
    def watched(self) -> tuple[Kind, ...]:
        return (kinds.UPGRADE_CONFIG, kinds.CONFIG_MAP)

    def build(self, stage: Stage, scenario: Scenario) -> None:
        if scenario.conducted:
            stage.cluster.nodes.add(ONE_NODE)
            stage.cluster.nodes.wait_schedulable(ONE_NODE)
        stage.create(_given(stage, scenario))

    def playing(self, stage: Stage, scenario: Scenario) -> Player:
        return World(stage, scenario)

    def broken(self, scenario: Scenario, trace: Trace) -> list[str]:
        """A running upgrade keeps its target and its object; what was made by hand stays as it was; a wish is
        confirmed only of what the provider said when it was wished."""
        wishes = {act.wish: act.until.get(scenarios.VERSION) for act in scenario.acts if act.wish}
        found: list[str] = []
        before: Json | None = None
        for change, _ in moments(trace):
            if change.key != OBJECT:
                continue
            found += _broken(before, change, wishes, scenario)
            before = None if change.gone else change.object
        return found

    def residue(self, state: State) -> list[str]:
        return [f"report {one} is left" for one in (*letters(state), *letters(state, NOTICES))]

    def end(self, scenario: Scenario, state: State) -> Flat:
        flat: Flat = {}
        for key, thing in state.items():
            if key == OBJECT:
                flat |= dict(normal.flatten(str(key), _told(thing, scenario)))
            elif key == RECORD:
                text = (thing.get("data") or {}).get("sync", "{}")
                flat |= {f"{key}.{name}": json.loads(text).get(name) for name in ("provider", "trouble")}
            elif key == JOURNAL:
                flat[str(key)] = chapters(state)
            elif key.kind == "UpgradePolicy":
                flat[str(key)] = thing["state"]
        return flat

    def counted_as(self, change: Change) -> str:
        return str(change.key)

    def most(self, scenario: Scenario, name: str) -> int:
        return 0

    def told(self, state: State) -> str:
        found = state.get(OBJECT, {})
        return json.dumps(
            {"spec": found.get("spec"), "status": found.get("status"), "letters": letters(state)}
        )

    def is_work(self, step: str) -> bool:
        return "upgradeconfigs" in step or step.startswith("policies: PATCH")

    def alike(self, scenario: Scenario, about: str) -> str:
        return about


def _broken(before: Json | None, change: Change, wishes: dict[str, object], scenario: Scenario) -> list[str]:
    found: list[str] = []
    now: Json = {} if change.gone else change.object
    if before is not None and field(before, "status.phase") == "Upgrading":
        if change.gone:
            found.append("a running upgrade was deleted")
        elif field(now, scenarios.VERSION) != field(before, scenarios.VERSION):
            found.append("a running upgrade got another target")
    by_hand = before is not None and scenario.by_hand and not field(before, PROVIDER) and not change.gone
    if by_hand and (field(now, "spec") != field(before or {}, "spec") or field(now, PROVIDER)):
        found.append("what was made by hand was changed")
    version = field(now, scenarios.VERSION)
    done = field(now, REFRESHED) if now else None
    anew = bool(done) and done != (field(before, REFRESHED) if before else None)
    if anew and wishes.get(str(done), None if wishes else version) != version:
        found.append(f"wish {done} was confirmed of {version}")
    return found


def _told(thing: Json, scenario: Scenario) -> Json:
    status = json.loads(json.dumps(thing.get("status") or {}))
    (status.get("policy") or {}).pop("lastSyncTime", None)
    free = _FREE_STATUS | _FREE_OF_CONDUCTOR if scenario.conducted else _FREE_STATUS
    kept = normal.status(status, free)
    dated = {key: one for key, one in notes(thing).items() if key != REFRESH_AT}
    about = {"labels": labels(thing), "annotations": dated}
    if scenario.conducted:
        kept["history"] = [(one["version"], one["phase"]) for one in status.get("history", [])]
        about["annotations"] = {key: one for key, one in dated.items() if key not in _WISHES}
    return {"metadata": about, "spec": thing.get("spec"), "status": kept}


def _given(stage: Stage, scenario: Scenario) -> list[Json]:
    """Settings that lead to the provider, through its door; and the Secret for OCM, with the right to it."""
    section: Json = {"watchInterval": "1s", "reach": _reach(stage)}
    url = stage.url(scenarios.NAME)
    if scenario.ocm:
        section |= {"provider": "OCM", "ocm": {"baseUrl": url, "clusterId": EXTERNAL, "pullSecret": "pull"}}
    else:
        section |= {"provider": "HTTP", "http": {"url": f"{url}/policy"}}
    text = yaml.safe_dump({"configManager": section, "notify": {"reach": _reach(stage)}})
    about = {"namespace": SPACE}
    made = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**about, "name": NAME}, "data": {KEY: text}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**about, "name": "pull"},
            "data": {".dockerconfigjson": pull_secret()},
        },
        *grants.secret(SPACE, "pull", install.ACCOUNT, SPACE),
    ]
    return [*made, _by_hand()] if scenario.by_hand else made


def _by_hand() -> Json:
    spec = {"desired": {"version": FIRST}}
    kind = kinds.UPGRADE_CONFIG
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "cluster"}, "spec": spec}


def _reach(stage: Stage) -> Json:
    return {"private": ["127.0.0.0/8"], "authority": stage.authority(), "timeout": "2s"}


SUITE: Suite[Scenario] = Policy()
