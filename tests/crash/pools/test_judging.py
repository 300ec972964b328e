"""The judge of this layer's runs sees what is wrong, and nothing where all is well."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.marks import POOL_LABEL
from tests.crash.pools import facts, scenarios
from tests.crash.pools.invariants import broken
from tests.crash.pools.suite import SUITE
from tests.crash.recorder import Change, Key, State, Trace

Json = dict[str, Any]
LOST = next(one for one in scenarios.ALL if one.name == "lost")
FEWER = next(one for one in scenarios.ALL if one.name == "fewer")


def machine(name: str) -> tuple[Key, Json]:
    return Key("Machine", "", name), {"metadata": {"name": name, "uid": f"m-{name}"}}


def node(name: str, **notes: str) -> tuple[Key, Json]:
    said = notes or {"kwok.x-k8s.io/node": "fake"}
    about = {"name": name, "uid": f"n-{name}", "labels": {POOL_LABEL: "burst"}, "annotations": said}
    return Key("Node", "", name), {"metadata": about, "spec": {}}


def pool(status: str, ready: int, total: int = 2) -> tuple[Key, Json]:
    said = {"type": "Ready", "status": status, "reason": "Complete"}
    told = {"conditions": [said], "ready": {"done": ready, "total": total, "summary": f"{ready}/{total}"}}
    return Key("MachinePool", "", "burst"), {"metadata": {"name": "burst"}, "status": told}


def found(
    start: dict[Key, Json], *changes: tuple[Key, Json] | Key, scenario: scenarios.Scenario = LOST
) -> list[str]:
    made: list[Change] = []
    state: State = dict(start)
    for number, one in enumerate(changes, 1):
        if isinstance(one, Key):
            made.append(Change(number, one, state[one], gone=True))
        else:
            made.append(Change(number, *one))
            state[one[0]] = one[1]
    return broken(scenario, Trace(start, tuple(made)))


def test_where_all_is_well_nothing_is_found() -> None:
    lost = node("burst-0")
    assert found({}, machine("burst-0"), lost, lost[0], lost, pool("True", 2), pool("False", 1)) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([node("burst-0")], "Node/burst-0 was made before its machine was written down"),
        ([machine("burst-0"), node("burst-0", a="b")], "Node/burst-0 is not simulated"),
        ([machine(f"burst-{number}") for number in range(3)], "there are more than 2 machines"),
        ([pool("True", 1)], "MachinePool burst says it is complete, with 1/2 ready"),
    ],
)
def test_what_is_wrong_is_found(changes: list[tuple[Key, Json]], told: str) -> None:
    assert told in found({}, *changes)


def test_what_nobody_took_away_must_stay() -> None:
    one = machine("burst-7")
    assert found(dict([one]), one[0]) == ["Machine/burst-7 is gone, and nobody took it away"]


def test_what_nobody_asks_for_any_more_must_not_come_back() -> None:
    one, kept = node("burst-2"), machine("burst-2")
    assert found(dict([kept, one]), one[0], scenario=FEWER) == []
    assert found(dict([kept, one]), one[0], one, scenario=FEWER) == [
        "Node/burst-2 came back, and nobody asks for it"
    ]


def test_a_machine_without_its_node_is_residue() -> None:
    assert SUITE.residue(dict([machine("burst-0")])) == ["burst-0 is there by half"]
    assert SUITE.residue(dict([node("burst-0")])) == ["burst-0 is there by half"]
    assert SUITE.residue(dict([node("burst-0"), machine("burst-0")])) == []
    assert facts.ours(dict([node("burst-0")])) == ["burst-0"]
