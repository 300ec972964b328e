"""Everybody else: the provider, the conductor, and a user; each act begins when the one before it is over."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

from shiplift.api.marks import REFRESH_ASKED
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.errors import Conflict, NotFound
from tests.crash.policy.provider import Provider
from tests.crash.policy.scenarios import NAME, Act, Json, Scenario
from tests.crash.recorder import Key, State
from tests.crash.stage import Stage

OBJECT = Key("UpgradeConfig", "", "cluster")
OUTBOX = Key("ConfigMap", "shiplift-system", "shiplift-outbox-policy")
RECORD = Key("ConfigMap", "shiplift-system", "shiplift-policy")
NOTICES = Key("ConfigMap", "shiplift-system", "shiplift-outbox-notify")
JOURNAL = Key("ConfigMap", "shiplift-system", "shiplift-journal")
ENDED = ["started", "upgraded"]


class World:
    """One run of a scenario."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        self._stage, self._acts = stage, list(scenario.acts)
        self._provider = Provider()
        self._begun = False

    @property
    def upstreams(self) -> Mapping[str, str]:
        return {NAME: self._provider.address}

    def play(self, state: State) -> None:
        if self._acts and self._begun and self._reached(self._acts[0], state):
            self._acts.pop(0)
            self._begun = False
        if self._acts and not self._begun:
            self._begun = self._begin(self._acts[0], state)

    def over(self, state: State) -> bool:
        kept = all(end for _, end in chapters(state))
        said = letters(state) or letters(state, NOTICES) or trouble(state)
        return not self._acts and not said and kept

    def complaints(self) -> list[str]:
        told = without_repeats(self._provider.ocm.told)
        orders = [["started"], ["started", "completed"]]
        found = [value for _, value in told]
        wrong = [f"OCM was told {told}"] if found and found not in orders else []
        heard = self._events()
        return [*wrong, f"the webhook was told {heard}"] if heard not in ([], ["started"], ENDED) else wrong

    def beyond(self) -> State:
        states = self._provider.ocm.states
        return {
            Key("UpgradePolicy", "", name): {"metadata": {"name": name}, "state": state}
            for name, state in states.items()
        }

    def close(self) -> None:
        self._provider.close()

    # --- acts ---

    def _begin(self, act: Act, state: State) -> bool:
        """Whether all of it is done; a write that somebody was faster with is tried at the next look. The
        provider speaks first, but for what it says of an upgrade that has begun by then."""
        if not act.status:
            self._speak(act)
        try:
            self._write(act, state)
        except (Conflict, NotFound):
            return False
        self._speak(act)
        return True

    def _speak(self, act: Act) -> None:
        if act.says is not None:
            self._provider.document = act.says
        if act.offers is not None:
            self._offer(act.offers)

    def _offer(self, offers: tuple[tuple[str, str], ...]) -> None:
        ocm = self._provider.ocm
        for name in [one["id"] for one in ocm.policies]:
            ocm.withdraw(name)
        for name, version in offers:
            ocm.offer(name, version)

    def _write(self, act: Act, state: State) -> None:
        admin = self._stage.admin
        about = state.get(OBJECT, {}).get("metadata", {})
        if act.delete:
            admin.delete(UPGRADE_CONFIG, "cluster", uid=about["uid"])
        if act.spec:
            admin.patch(UPGRADE_CONFIG, "cluster", {"spec": act.spec}, uid=about["uid"])
        if act.wish:
            wish = {"metadata": {"annotations": {REFRESH_ASKED: act.wish}}}
            admin.patch(UPGRADE_CONFIG, "cluster", wish, uid=about["uid"])
        if act.notify:
            webhook = {"name": "chat", "url": f"{self._stage.url(NAME)}/hook"}
            admin.patch(UPGRADE_CONFIG, "cluster", {"spec": {"notify": [webhook]}}, uid=about["uid"])
        if act.status:
            self._tell(act.status)

    def _tell(self, status: Json) -> None:
        admin = self._stage.admin
        about = admin.get(UPGRADE_CONFIG, "cluster")["metadata"]
        admin.patch(
            UPGRADE_CONFIG,
            "cluster",
            {"status": status},
            uid=about["uid"],
            resource_version=about["resourceVersion"],
            subresource="status",
        )

    def _reached(self, act: Act, state: State) -> bool:
        if act.until.get("gone"):
            return OBJECT not in state
        found = state.get(OBJECT)
        if found is None:
            return False
        fields = all(field(found, path) == value for path, value in act.until.items())
        heard = not act.heard or self._events() == list(act.heard)
        return (
            heard and fields and without_repeats(self._provider.ocm.told) == list(act.told or self._heard())
        )

    def _events(self) -> list[str]:
        """Each event once, in the order in which they came."""
        return [kind for _, kind in without_repeats(self._provider.events)]

    def _heard(self) -> list[tuple[str, str]]:
        """Where an act says nothing of it, it may be anything."""
        return without_repeats(self._provider.ocm.told)


def field(found: Json, path: str) -> Any:
    """A field by its path; the keys of labels and annotations have dots of their own."""
    head, _, rest = path.partition(".")
    if head == "metadata":
        section, _, key = rest.partition(".")
        return (found["metadata"].get(section) or {}).get(key)
    value: Any = found
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def trouble(state: State) -> str:
    """What is wrong, as it is written down for where there is no UpgradeConfig."""
    text = (state.get(RECORD, {}).get("data") or {}).get("sync", "{}")
    return json.loads(text).get("trouble") or ""


def chapters(state: State) -> list[tuple[str, bool]]:
    """What the journal tells of, and whether that is over."""
    text = (state.get(JOURNAL, {}).get("data") or {}).get("journal", "")
    found = json.loads(text).get("chapters", []) if text else []
    return [(f"{one['about']} to {one['target']}", bool(one.get("end"))) for one in found]


def letters(state: State, box: Key = OUTBOX) -> list[str]:
    """What is still to be reported."""
    text = (state.get(box, {}).get("data") or {}).get("box", "")
    return [one["id"] for one in json.loads(text).get("letters", [])] if text else []


def without_repeats(told: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """At least once is often enough."""
    return [one for one, _ in itertools.groupby(list(told))]
