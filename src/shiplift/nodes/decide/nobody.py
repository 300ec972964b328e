"""A rollout that matches no node: what it asks for, and some of what there is instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiplift.api.nodes import NodeRolloutSpec
from shiplift.api.values import LabelSelector
from shiplift.nodes.model import Member

_SOME = 5


def told(spec: NodeRolloutSpec, name: str, members: Iterable[Member]) -> str:
    """In words; nodes that have opted out are not among them."""
    found = list(members)
    asked = " and ".join(_asked_for(spec))
    if not found or not asked:
        return f"NodeRollout {name} has no node: none is there"
    return "; ".join([f"no node matches {asked} of NodeRollout {name}", *_there_is(spec, found)])


def _asked_for(spec: NodeRolloutSpec) -> Iterator[str]:
    if words := ", ".join(_selector(spec.node_selector)):
        yield f"nodeSelector {words}"
    if spec.pools:
        yield f"pools {', '.join(spec.pools)}"


def _selector(selector: LabelSelector) -> Iterator[str]:
    yield from (f"{key}={value}" for key, value in sorted(selector.match_labels.items()))
    for one in selector.match_expressions:
        yield " ".join(filter(None, (one.key, one.operator.value, ",".join(one.values))))


def _there_is(spec: NodeRolloutSpec, members: list[Member]) -> Iterator[str]:
    for key in sorted(spec.node_selector.match_labels)[:1]:
        values = {f"{key}={one.row.labels[key]}" for one in members if key in one.row.labels}
        yield f"nodes have {_some(values)}" if values else f"no node has label {key}"
    if spec.pools:
        pools = {one.pool for one in members if one.pool}
        yield f"nodes are in pools {_some(pools)}" if pools else "no node is in a pool"


def _some(names: set[str]) -> str:
    more = f" and {len(names) - _SOME:,} more" if len(names) > _SOME else ""
    return ", ".join(sorted(names)[:_SOME]) + more
