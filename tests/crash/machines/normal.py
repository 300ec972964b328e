"""The end without what is free to differ: ids of clusters and machines, times, how often somebody asked."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.crash.machines import facts
from tests.crash.machines.scenarios import Scenario
from tests.crash.normal import flatten
from tests.crash.recorder import State
from tests.crash.suite import Flat

Json = dict[str, Any]
_ASKED = "admit-"
_RESTART = "restart"
_LONGEST = timedelta(minutes=16)


def end(scenario: Scenario, state: State) -> Flat:
    machines = facts.of_kind(state, facts.MACHINE)
    nodes = {one["metadata"]["name"]: one for one in facts.of_kind(state, facts.NODE)}
    clusters = {one["mark"].get("cluster", "") for one in machines}
    found: Flat = {"clusters": len(clusters), "nodes": sorted(nodes)}
    for one in machines:
        name = one["metadata"]["name"]
        found |= dict(flatten(f"machine {name}", _machine(one)))
        found |= dict(flatten(f"node {name}", _node(nodes.get(name), one)))
    return found


def _machine(one: Json) -> Json:
    mark = {key: value for key, value in one["mark"].items() if key != "cluster"}
    return {
        "mark": mark,
        "packages": one["packages"],
        "kubeadm": one["kubeadm"],
        "etcd": one["etcd"],
        "journal": _journal(one["journal"]),
    }


def _journal(entries: list[Json]) -> Json:
    """The last of each purpose; a machine that restarts may or may not write down that it did."""
    found: Json = {}
    for one in sorted(entries, key=lambda one: int(one["id"].rpartition("-")[2])):
        purpose = one["id"].rpartition("-")[0]
        if purpose.startswith(_ASKED):
            continue
        ended = {} if purpose == _RESTART else {"code": one["code"], "files": one["files"]}
        found[purpose] = {"begun": one["begun"], **ended}
    return found


def _node(node: Json | None, machine: Json) -> Json:
    if node is None:
        return {}
    ready = [one["status"] for one in node["status"].get("conditions", []) if one["type"] == "Ready"]
    own = node["status"]["nodeInfo"]["machineID"] == machine["metadata"]["uid"]
    return {"ready": ready, "own": own, "labels": node["metadata"].get("labels")}


def residue(state: State) -> list[str]:
    """What must not be there at any end: secrets, what is half written, tokens that last."""
    found: list[str] = []
    for one in facts.of_kind(state, facts.MACHINE):
        name = one["metadata"]["name"]
        found += [f"a token or a key is left on machine {name}: {path}" for path in one["secrets"]]
        found += [f"half written on machine {name}: {path}" for path in one["unfinished"]]
    found += ["a token or a key was said" for _ in facts.of_kind(state, facts.SAID)]
    return found + [
        f"token {one['metadata']['name']} lasts" for one in facts.of_kind(state, facts.SECRET) if _lasts(one)
    ]


def _lasts(secret: Json) -> bool:
    """Longer than it takes to join."""
    ends = base64.b64decode(secret["data"]["expiration"]).decode()
    return datetime.fromisoformat(ends) > datetime.now(UTC) + _LONGEST
