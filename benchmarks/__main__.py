"""`python -m benchmarks NAME`: a table for people, and one JSON object as the last line for programs."""

from __future__ import annotations

import argparse
import signal
import sys

import msgspec

from benchmarks import decide, fill, graph, sync
from benchmarks.catalog import run as catalog
from benchmarks.migrate import plan
from benchmarks.migrate import run as migrate
from benchmarks.operator import run as operator
from benchmarks.policy import run as policy
from benchmarks.quorum import run as quorum
from benchmarks.recipe.base import Json
from benchmarks.rollout import run as rollout

_DESCRIPTIONS = {
    "sync": sync.DESCRIPTION,
    "migrate": migrate.DESCRIPTION,
    "rollout": rollout.DESCRIPTION,
    "operator": operator.DESCRIPTION,
    "policy": policy.DESCRIPTION,
    "quorum": quorum.DESCRIPTION,
    "decide": decide.DESCRIPTION,
    "graph": graph.DESCRIPTION,
    "catalog": catalog.DESCRIPTION,
    "fill": fill.DESCRIPTION,
}
_SHORT_PODS, _SHORT_NODES, _SHORT_ROUNDS, _SHORT_EVENTS = 5_000, 200, 3, 2_000


def main() -> None:
    options = _parser().parse_args()
    if options.list or not options.name:
        for name, description in _DESCRIPTIONS.items():
            print(f"{name:8} {description}")
        return
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # clusters and contenders end too
    print(msgspec.json.encode(_run(options)).decode())


def _run(options: argparse.Namespace) -> Json:
    short = options.short
    match options.name:
        case "graph":
            found = graph.run(options.rounds or 9)
        case "catalog":
            found = catalog.run(options.rounds or 5)
        case "decide":
            found = decide.run(decide.SHORT if short else decide.SIZE, options.rounds or 5)
        case "migrate":
            found = migrate.run(plan.SHORT if short else plan.FULL if options.full else plan.USUAL)
        case "rollout":
            found = rollout.run(rollout.chosen(options.nodes, short=short))
        case "policy":
            found = policy.run(policy.SHORT_CHANGES if short else policy.CHANGES)
        case "quorum":
            found = quorum.run(quorum.SHORT if short else quorum.USUAL)
        case _:
            found = _run_on_store(options)
    return found


def _run_on_store(options: argparse.Namespace) -> Json:
    """Those that begin with a filled etcd folder."""
    short = options.short
    pods = options.pods or (_SHORT_PODS if short else sync.FULL_PODS)
    nodes = options.nodes or (_SHORT_NODES if short else sync.FULL_NODES)
    if options.name == "fill":
        return fill.run(pods, nodes)
    if options.name == "operator":
        seconds = operator.SHORT_SECONDS if short else operator.SECONDS
        return operator.run(operator.Size(pods, nodes, options.rate or operator.RATE, seconds))
    return sync.run(
        sync.Size(
            pods=pods,
            nodes=nodes,
            rounds=options.rounds or (_SHORT_ROUNDS if short else 5),
            events=options.events or (_SHORT_EVENTS if short else 20_000),
            rate=options.rate or sync.RATE,
        )
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted(_DESCRIPTIONS), help="which benchmark to run")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and end")
    parser.add_argument("--short", action="store_true", help="a small cluster and few rounds: some minutes")
    parser.add_argument("--full", action="store_true", help="migrate: 300 nodes, 5,000 pods, 400 workloads")
    parser.add_argument("--pods", type=int, help="how many pods the cluster holds")
    parser.add_argument("--nodes", type=int, help="how many nodes; of rollout: 10, 100 or 1000")
    parser.add_argument("--rounds", type=int, help="how often each contender runs")
    parser.add_argument("--events", type=int, help="how many updates the events phase makes")
    parser.add_argument("--rate", type=int, help="at most this many updates a second")
    return parser


if __name__ == "__main__":
    main()
