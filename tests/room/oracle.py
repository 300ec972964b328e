"""Where a pod may go, worked out the slow way: every node against every pod, with nothing remembered."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import HostPort, Pod, PodTerm, Spread
from shiplift.facts.selectors import NodeTerm, Selector

OURS = ("shiplift.dev/target-version", "shiplift.dev/off-target")


class Resident(msgspec.Struct):
    """A pod on a node, real or promised."""

    pod: Pod
    node: str
    takes_room: bool = True
    is_seen: bool = True
    """Whether affinity and spread see it."""
    ending: bool = False


class Oracle:
    def __init__(
        self, nodes: Iterable[Node], pods: Iterable[Pod], spaces: dict[str, Labels], targets: set[str]
    ) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.spaces = spaces
        self.targets = targets
        self.residents = [
            Resident(pod, pod.node or pod.nominated_node, is_seen=bool(pod.node), ending=bool(pod.deleting))
            for pod in pods
            if pod.phase not in ("Succeeded", "Failed") and (pod.node or pod.nominated_node)
        ]

    def places(self, pod: Pod, *, leaving: bool) -> set[str]:
        own = self._own(pod, leaving)
        return {
            name for name in self.targets if name in self.nodes and self._fits(pod, self.nodes[name], own)
        }

    def promise(self, pod: Pod, name: str, *, leaving: bool) -> None:
        own = self._own(pod, leaving)
        if own is not None:
            own.is_seen = False
            if own.node == name and not self._has_room(pod, self.nodes[name], None):
                own.takes_room = False
        self.residents.append(Resident(pod, name))

    def _own(self, pod: Pod, leaving: bool) -> Resident | None:
        return next((one for one in self.residents if leaving and one.pod is pod), None)

    def _fits(self, pod: Pod, node: Node, own: Resident | None) -> bool:
        return (
            node.ready
            and (
                not node.unschedulable
                or tolerates(pod, Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"))
            )
            and tolerates_all(pod, node)
            and asks_for(pod, node)
            and self._has_room(pod, node, own)
            and self._is_apart(pod, node, own)
            and self._is_together(pod, node, own)
            and all(self._is_even(pod, node, spread, own) for spread in pod.spec.spread if spread.hard)
        )

    def _has_room(self, pod: Pod, node: Node, own: Resident | None) -> bool:
        others = [
            one.pod for one in self.residents if one.node == node.name and one.takes_room and one is not own
        ]
        if len(others) + 1 > node.allocatable.pods:
            return False
        for name in {"cpu", *(name for name, _ in pod.spec.requests.extended)}:
            wanted = amount(pod.spec.requests, name)
            used = sum(amount(other.spec.requests, name) for other in others)
            if wanted > 0 and wanted + used > amount(node.allocatable, name):
                return False
        return not any(
            same_port(mine, theirs)
            for mine in pod.spec.host_ports
            for other in others
            for theirs in other.spec.host_ports
        )

    def _seen(self, own: Resident | None) -> list[Resident]:
        return [one for one in self.residents if one.is_seen and one is not own and one.node in self.nodes]

    def _same_domain(self, one: str, other: Node, key: str) -> bool:
        value = self.nodes[one].labels.get(key)
        return value is not None and value == other.labels.get(key)

    def _is_apart(self, pod: Pod, node: Node, own: Resident | None) -> bool:
        for other in self._seen(own):
            for term in pod.spec.anti_affinity:
                if self._about(term, pod, other.pod) and self._same_domain(
                    other.node, node, term.topology_key
                ):
                    return False
            for term in other.pod.spec.anti_affinity:
                if self._about(term, other.pod, pod) and self._same_domain(
                    other.node, node, term.topology_key
                ):
                    return False
        return True

    def _is_together(self, pod: Pod, node: Node, own: Resident | None) -> bool:
        terms = pod.spec.affinity
        if any(term.topology_key not in node.labels for term in terms):
            return False
        wanted = [one for one in self._seen(own) if all(self._about(term, pod, one.pod) for term in terms)]
        if all(any(self._same_domain(one.node, node, term.topology_key) for one in wanted) for term in terms):
            return True
        counted = any(term.topology_key in self.nodes[one.node].labels for one in wanted for term in terms)
        return not counted and all(self._about(term, pod, pod) for term in terms)

    def _is_even(self, pod: Pod, node: Node, spread: Spread, own: Resident | None) -> bool:
        if spread.topology_key not in node.labels:
            return False
        keys = [one.topology_key for one in pod.spec.spread if one.hard]
        counts: dict[str, int] = {}
        for one in self.nodes.values():
            if all(key in one.labels for key in keys) and self._counts(pod, one, spread):
                here = [it for it in self._seen(own) if it.node == one.name and not it.ending]
                value = one.labels[spread.topology_key]
                counts[value] = counts.get(value, 0) + sum(spreads(pod, spread, it.pod) for it in here)
        least = min(counts.values()) if len(counts) >= spread.min_domains else 0
        itself = picks(spread.selector, pod.labels)
        return counts.get(node.labels[spread.topology_key], 0) + itself - least <= spread.max_skew

    def _counts(self, pod: Pod, node: Node, spread: Spread) -> bool:
        if spread.honours_affinity and not (node.name in self.targets and asks_for(pod, node)):
            return False
        return not spread.honours_taints or tolerates_all(pod, node)

    def _about(self, term: PodTerm, owner: Pod, other: Pod) -> bool:
        if not term.namespaces and term.namespace_selector is None:
            covers = owner.namespace == other.namespace
        else:
            covers = other.namespace in term.namespaces or picks(
                term.namespace_selector, self.spaces.get(other.namespace, NO_LABELS)
            )
        return covers and picks(term.selector, other.labels)


def picks(selector: Selector | None, labels: Labels) -> bool:
    return selector is not None and selector.matches(labels)


def spreads(pod: Pod, spread: Spread, other: Pod) -> bool:
    selector = spread.selector
    keys = [key for key in spread.match_label_keys if key in pod.labels]
    if selector is None or not (selector.labels or selector.expressions or keys):
        return False
    return (
        other.namespace == pod.namespace
        and selector.matches(other.labels)
        and all(other.labels.get(key) == pod.labels[key] for key in keys)
    )


def amount(resources: object, name: str) -> int:
    return resources.cpu if name == "cpu" else dict(resources.extended).get(name, 0)


def same_port(one: HostPort, other: HostPort) -> bool:
    addresses = {one.ip or "0.0.0.0", other.ip or "0.0.0.0"}
    return (one.port, one.protocol) == (other.port, other.protocol) and (
        len(addresses) == 1 or "0.0.0.0" in addresses
    )


def tolerates(pod: Pod, taint: Taint) -> bool:
    return any(one.tolerates(taint) for one in pod.spec.tolerations)


def tolerates_all(pod: Pod, node: Node) -> bool:
    hard = [
        one for one in node.taints if one.effect != "PreferNoSchedule" and one.key != "shiplift.dev/upgrade"
    ]
    return all(tolerates(pod, taint) for taint in hard)


def asks_for(pod: Pod, node: Node) -> bool:
    if any(node.labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    return pod.spec.node_terms is None or any(holds(term, node) for term in pod.spec.node_terms)


def holds(term: NodeTerm, node: Node) -> bool:
    """With our own requirements taken as met."""
    if not term.labels and not term.fields:
        return False
    return all(one.key in OURS or one.matches(node.labels) for one in term.labels) and all(
        one.matches({"metadata.name": node.name}) for one in term.fields
    )
