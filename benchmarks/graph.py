"""How long the dependency graph takes: 10,000 workloads, 50,000 edges, sorted out and asked who may go first.

Without cycles, with a few, and with nearly all of them in one great cycle, which is the dearest.
"""

from __future__ import annotations

import random
import statistics
import time

from benchmarks.recipe.base import Json
from shiplift.engine.graph import Edge, Graph, Progress

DESCRIPTION = "the dependency graph of 10,000 workloads and 50,000 edges"
LIMIT_MS = 200.0
_WORKLOADS, _EDGES = 10_000, 50_000
_Key = tuple[str, str, str]


def run(rounds: int) -> Json:
    shapes = {"acyclic": 0, "few_cycles": 20, "great_cycle": _EDGES}
    medians = {name: _median(backwards, rounds) for name, backwards in shapes.items()}
    print(f"{'':14}{'median, ms':>12}{'at most':>10}")
    for name, milliseconds in medians.items():
        print(f"{name:14}{milliseconds:12.0f}{LIMIT_MS:10.0f}")
    return {f"{name}_ms": milliseconds for name, milliseconds in medians.items()} | {"limit_ms": LIMIT_MS}


def _median(backwards: int, rounds: int) -> float:
    nodes, edges = _cluster(backwards)
    return statistics.median(_once(nodes, edges) for _ in range(rounds))


def _once(nodes: list[_Key], edges: list[Edge[_Key]]) -> float:
    begin = time.perf_counter()
    graph = Graph(nodes, edges)
    ready = Progress(graph).ready
    took = time.perf_counter() - begin
    if not ready and not graph.cycles:
        raise RuntimeError("nobody may go, and no cycle says why")
    return took * 1000


def _cluster(backwards: int) -> tuple[list[_Key], list[Edge[_Key]]]:
    """Edges point to earlier workloads, but for that many that may point anywhere and so close cycles."""
    chance = random.Random(7)
    nodes = [(f"team-{number % 120}", "Deployment", f"service-{number}") for number in range(_WORKLOADS)]
    edges: list[Edge[_Key]] = []
    for number in range(_EDGES):
        dependent = chance.randrange(1, _WORKLOADS)
        dependency = chance.randrange(_WORKLOADS) if number < backwards else chance.randrange(dependent)
        if dependency != dependent:
            edges.append(Edge(nodes[dependent], nodes[dependency], "WorkloadOrder"))
    return nodes, edges
