"""What there is to know of pools, machines and nodes, from the objects themselves."""

from __future__ import annotations

from typing import Any

from shiplift.api.marks import POOL_LABEL
from tests.crash.facts import kind, labels
from tests.crash.recorder import Key, State

Json = dict[str, Any]


def key(text: str) -> Key:
    """Of `Node/burst-1`."""
    kind_, _, name = text.partition("/")
    return Key(kind_, "", name)


def pool(state: State, name: str) -> Json:
    return state.get(Key("MachinePool", "", name)) or {}


def status(one: Json) -> Json:
    return one.get("status") or {}


def condition(one: Json, about: str) -> Json:
    told: list[Json] = status(one).get("conditions", [])
    nothing: Json = {}
    return next((each for each in told if each["type"] == about), nothing)


def ours(state: State) -> list[str]:
    """The names of the nodes of pools."""
    return sorted(one["metadata"]["name"] for one in kind(state, "Node") if POOL_LABEL in labels(one))


def told(state: State) -> str:
    pools = {
        one["metadata"]["name"]: (condition(one, "Ready").get("reason"), status(one).get("message"))
        for one in kind(state, "MachinePool")
    }
    machines = sorted(one["metadata"]["name"] for one in kind(state, "Machine"))
    return f"{pools}, machines {machines}, nodes {ours(state)}"
