"""The judge of this layer's runs sees what is wrong, and nothing where all is well."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.operators.crds.existing import SHADOW
from shiplift.operators.handing.ownership import OWNER, OWNER_UID
from tests.crash.operators import facts, scenarios
from tests.crash.operators.invariants import broken
from tests.crash.operators.scenarios import SPACE, Scenario
from tests.crash.recorder import Change, Key, State, Trace

Json = dict[str, Any]
UPGRADE = next(one for one in scenarios.ALL if one.name == "upgrade")
HAND_OVER = next(one for one in scenarios.ALL if one.name == "hand-over")


def version(number: str, *said: Json, **meta: Any) -> tuple[Key, Json]:
    name = f"boats.v{number}"
    thing = {
        "kind": "OperatorVersion",
        "metadata": {"name": name, "uid": f"uid-{number}", **meta},
        "spec": {"appType": "boats", "version": number},
        "status": {"conditions": list(said)},
    }
    return Key("OperatorVersion", SPACE, name), thing


def thing(
    kind: str, name: str, owner: str = "", *references: tuple[str, bool], space: str = SPACE
) -> tuple[Key, Json]:
    marks = {"labels": {OWNER: owner}, "annotations": {OWNER_UID: f"uid-{owner}"}} if owner else {}
    listed = [
        {"kind": "OperatorVersion", "name": one, "uid": f"uid-{one}", "controller": controls}
        for one, controls in references
    ]
    about = {"name": name, "namespace": space, "uid": f"uid-{name}", "ownerReferences": listed, **marks}
    return Key(kind, space, name), {"kind": kind, "metadata": about}


def trace(start: dict[Key, Json], *changes: tuple[Key, Json] | Key) -> Trace:
    made: list[Change] = []
    state: State = dict(start)
    for number, one in enumerate(changes, 1):
        if isinstance(one, Key):
            made.append(Change(number, one, state[one], gone=True))
        else:
            made.append(Change(number, *one))
            state[one[0]] = one[1]
    return Trace(start, tuple(made))


def found(scenario: Scenario, start: dict[Key, Json], *changes: tuple[Key, Json] | Key) -> list[str]:
    return broken(scenario, trace(start, *changes))


OLD, NEW = dict([version("1.0.0")]), dict([version("1.1.0")])


def test_a_hand_over_as_it_should_be_is_fine() -> None:
    steps = [
        thing("ConfigMap", "settings", "1.0.0", ("1.0.0", True)),
        thing("ConfigMap", "settings", "1.0.0", ("1.0.0", False), ("1.1.0", True)),
        thing("ConfigMap", "settings", "1.1.0", ("1.1.0", True)),
    ]
    assert found(UPGRADE, OLD | NEW, *steps, *OLD) == []


def test_two_controllers_are_seen() -> None:
    both = thing("ConfigMap", "settings", "1.0.0", ("1.0.0", True), ("1.1.0", True))
    assert found(UPGRADE, OLD | NEW, both) == ["ConfigMap harbour/settings has two controllers"]


def test_a_moment_without_an_owner_is_seen() -> None:
    assert "has no owner" in found(UPGRADE, OLD, thing("ConfigMap", "settings", "1.0.0"))[0]


def test_an_owner_in_another_namespace_is_seen() -> None:
    far = thing("ConfigMap", "settings", "", ("1.0.0", True), space="elsewhere")
    assert "another namespace" in found(UPGRADE, OLD, far)[0]


def test_a_version_that_goes_before_what_it_owns_is_seen() -> None:
    owned = thing("ConfigMap", "other", "1.0.0", ("1.0.0", True))
    assert "went while ConfigMap harbour/other belonged to it" in found(UPGRADE, OLD | dict([owned]), *OLD)[0]


def test_what_must_stay_and_goes_is_seen() -> None:
    for kind, name, space in (
        ("CustomResourceDefinition", "boats.harbour.example", ""),
        ("ConfigMap", "settings", SPACE),
        ("Deployment", "boats", SPACE),
    ):
        key, one = thing(kind, name, space=space)
        assert found(UPGRADE, {key: one}, key), f"{kind} {name}"


def test_two_operators_at_once_are_seen() -> None:
    runs = [thing("Deployment", name) for name in ("boats", "fleet")]
    for _, one in runs:
        one["status"] = {"replicas": 1}
    assert "run at once" in found(HAND_OVER, {}, *runs)[0]
    assert found(UPGRADE, {}, *runs) == []


def test_a_version_that_was_vetoed_or_out_of_turn_is_seen() -> None:
    veto = {"type": "Upgradeable", "status": "False", "reason": "Busy"}
    assert "must not be replaced" in found(UPGRADE, dict([version("1.0.0", veto)]), *NEW.items())[0]
    upgrade = {
        "kind": "UpgradeConfig",
        "metadata": {"name": "cluster"},
        "status": {"targetVersion": "v1.36.3"},
    }
    running = {Key("UpgradeConfig", "", "cluster"): upgrade}
    assert "while the control plane" in found(UPGRADE, OLD | running, *NEW.items())[0]


def test_three_versions_at_once_are_seen() -> None:
    assert "more than two" in found(UPGRADE, OLD | NEW, version("1.2.0"))[0]


def test_residue_is_what_belongs_to_nobody() -> None:
    key, one = thing("ConfigMap", "settings", "1.0.0", ("1.0.0", True))
    assert facts.residue({key: one} | OLD) == []
    assert len(facts.residue({key: one})) == 2
    shadow = {"metadata": {"name": "s.shadow", "labels": {SHADOW: "term-1"}}}
    assert facts.residue({Key("CustomResourceDefinition", "", "s.shadow"): shadow})


def test_every_scenario_can_be_told_apart_and_written_down() -> None:
    names = [one.name for one in scenarios.ALL]
    assert len(names) == len(set(names))
    assert all(msgspec.json.encode(one) for one in scenarios.ALL)
