"""A workload's template, short: by it a later look tells whether the owner has changed the template since.

The later look may be that of another release, so a digest is of the fields that are named here and of no
others: a field that is added to a row changes none. It begins with `VERSION`. Whoever changes what is named
here, how it is written, or what one of these fields of a row means, raises that; a digest of another version
is never compared, but made anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from shiplift.facts.pods import PodSpec, PodTerm, Spread, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement, Selector
from shiplift.facts.workloads import Workload

VERSION = 1
_MARK = f"{VERSION}:"
_SIZE = 8

Plain = str | int | bool | None | list["Plain"]
"""What a row comes down to: all that is encoded, in the order in which it is named."""


def digest(row: Workload) -> str:
    """Another digest of this version means that somebody has changed the template."""
    told = msgspec.json.encode([_pod(row.template), _pairs(row.template_labels)])
    return _MARK + hashlib.blake2b(told, digest_size=_SIZE).hexdigest()


def is_comparable(text: str) -> bool:
    """Whether a stored digest says anything to this release."""
    return text.startswith(_MARK)


def _pod(spec: PodSpec) -> list[Plain]:
    return [
        [[one.name, one.image] for one in spec.containers],
        _resources(spec.requests),
        [_toleration(one) for one in spec.tolerations],
        _pairs(spec.node_selector),
        None if spec.node_terms is None else [_node_term(one) for one in spec.node_terms],
        [_pod_term(one) for one in spec.affinity],
        [_pod_term(one) for one in spec.anti_affinity],
        [_spread(one) for one in spec.spread],
        spec.priority,
        spec.priority_class,
        _texts(spec.claims),
        _texts(spec.ephemeral_claims),
        spec.empty_dir,
        spec.host_path,
        spec.host_network,
        [[one.port, one.protocol, one.ip] for one in spec.host_ports],
        spec.grace,
        _texts(spec.gates),
        spec.service_account,
        spec.scheduler,
        spec.restart_policy,
        spec.runtime_class,
    ]


def _resources(amounts: Resources) -> list[Plain]:
    extended: list[Plain] = [[name, amount] for name, amount in amounts.extended]
    return [amounts.cpu, amounts.memory, amounts.storage, amounts.pods, extended]


def _toleration(one: Toleration) -> list[Plain]:
    return [one.key, one.operator, one.value, one.effect, one.seconds]


def _node_term(term: NodeTerm) -> list[Plain]:
    return [[_requirement(one) for one in term.labels], [_requirement(one) for one in term.fields]]


def _pod_term(term: PodTerm) -> list[Plain]:
    return [
        _selector(term.selector),
        term.topology_key,
        _texts(term.namespaces),
        _selector(term.namespace_selector),
    ]


def _spread(one: Spread) -> list[Plain]:
    return [
        one.max_skew,
        one.topology_key,
        one.hard,
        _selector(one.selector),
        one.min_domains,
        one.honours_affinity,
        one.honours_taints,
        _texts(one.match_label_keys),
    ]


def _selector(selector: Selector | None) -> Plain:
    if selector is None:
        return None
    return [_pairs(selector.labels), [_requirement(one) for one in selector.expressions]]


def _requirement(one: Requirement) -> list[Plain]:
    return [one.key, one.operator, _texts(one.values)]


def _texts(texts: Iterable[str]) -> list[Plain]:
    return list(texts)


def _pairs(labels: Mapping[str, str]) -> list[Plain]:
    return [[key, value] for key, value in sorted(labels.items())]
