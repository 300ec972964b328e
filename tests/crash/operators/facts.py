"""Plain questions about operators, answered from the objects of a trace."""

from __future__ import annotations

from typing import Any

from shiplift.operators.crds.existing import SHADOW
from shiplift.operators.handing.ownership import OWNER, OWNER_UID
from tests.crash.facts import kind, labels, notes, terminating
from tests.crash.operators.scenarios import SPACE
from tests.crash.recorder import Key, State

Json = dict[str, Any]


def app(state: State, name: str) -> Json:
    return state.get(Key("AppType", SPACE, name), {})


def status(thing: Json) -> Json:
    return thing.get("status") or {}


def condition(thing: Json, about: str) -> Json:
    said = status(thing).get("conditions") or []
    return next((one for one in said if one["type"] == about), {})


def versions(state: State, name: str) -> list[Json]:
    return [one for one in kind(state, "OperatorVersion") if one["spec"]["appType"] == name]


def runs_alone(state: State, name: str, version: str) -> bool:
    """That version runs, it is all that there is, and the AppType says so."""
    found, told = versions(state, name), app(state, name)
    alone = len(found) == 1 and not terminating(found[0]) and found[0]["spec"]["version"] == version
    ready = alone and condition(found[0], "Ready").get("status") == "True"
    seen = status(told).get("observedGeneration") == told.get("metadata", {}).get("generation")
    current = condition(told, "UpToDate").get("status") == "True"
    return ready and seen and current and status(told).get("installed") == version


def owner_uid(thing: Json) -> str:
    return notes(thing).get(OWNER_UID, "")


def owned(state: State) -> list[tuple[Key, Json]]:
    return [(key, one) for key, one in state.items() if OWNER in labels(one) or owner_uid(one)]


def alive(state: State) -> dict[str, str]:
    """The names of all versions that are there, by uid."""
    return {one["metadata"]["uid"]: one["metadata"]["name"] for one in kind(state, "OperatorVersion")}


def residue(state: State) -> list[str]:
    """What belongs to nobody, and what was left half-way."""
    known = alive(state)
    found = [
        f"{key} belongs to a version that is gone" for key, one in owned(state) if owner_uid(one) not in known
    ]
    for key, one in state.items():
        for each in one["metadata"].get("ownerReferences") or ():
            if each["kind"] == "OperatorVersion" and each["uid"] not in known:
                found.append(f"{key} refers to {each['name']}, which is gone")
    found += [f"shadow {key.name} is left" for key, one in state.items() if SHADOW in labels(one)]
    return found


def told(state: State) -> str:
    lines: list[str] = []
    for one in (*kind(state, "AppType"), *kind(state, "OperatorVersion")):
        said = [
            f"{each['type']}={each['status']} {each['reason']} ({each.get('message', '')[:160]})"
            for each in status(one).get("conditions") or ()
        ]
        gone = "going " if terminating(one) else ""
        lines.append(f"{one['kind']} {one['metadata']['name']} {gone}{'; '.join(said)}")
    lines += [
        f"Deployment {key.name} {status(one)}" for key, one in state.items() if key.kind == "Deployment"
    ]
    return "\n".join(lines)
