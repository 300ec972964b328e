"""From messages to the parts that all rows have."""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern
from typing import Any

from shiplift.facts.meta import NO_LABELS, Condition, Labels, Owner
from shiplift.facts.quantities import Resources, resources
from shiplift.facts.selectors import NodeTerm, Requirement, Selector
from shiplift.kube.pool import DigestPool, Pool
from shiplift.kube.wire import MESSAGES

_PAIR = MESSAGES["Pair"].FromString
_OWNER = MESSAGES["OwnerReference"].FromString
_SELECTOR = MESSAGES["Selector"].FromString
_TIME = MESSAGES["Time"].FromString
_SECONDS = 0x08

KEPT_ANNOTATIONS = frozenset(
    (
        "config.kubernetes.io/depends-on",
        "argocd.argoproj.io/sync-wave",
        "argocd.argoproj.io/tracking-id",
        "controller.kubernetes.io/pod-deletion-cost",
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        "karpenter.sh/do-not-disrupt",
        "kubernetes.io/config.mirror",
        "deployment.kubernetes.io/revision",
        "storageclass.kubernetes.io/is-default-class",
        "volume.kubernetes.io/selected-node",
        "meta.helm.sh/release-name",
        "kwok.x-k8s.io/node",
    )
)
KEPT_ANNOTATION_PREFIXES = ("kapp.k14s.io/change-",)
OUR_DOMAIN = "shiplift.dev/"


def keeps_annotation(key: str) -> bool:
    """Whether any layer reads that annotation; the others never enter a row."""
    ours = f".{OUR_DOMAIN}" in f".{key}"
    return ours or key in KEPT_ANNOTATIONS or key.startswith(KEPT_ANNOTATION_PREFIXES)


def _keeps(key: bytes) -> bool:
    return keeps_annotation(key.decode())


_kept = Pool(_keeps, limit=10_000)


def seconds(raw: bytes) -> int:
    """Of a Time that is kept undecoded, since a nested message is slow to reach: tag, then a varint."""
    if len(raw) > 5 and raw[0] == _SECONDS and raw[5] < 0x80 <= raw[4]:  # a date from 1978 to 2106
        low = (raw[1] & 127) | (raw[2] & 127) << 7 | (raw[3] & 127) << 14
        return low | (raw[4] & 127) << 21 | raw[5] << 28
    return _TIME(raw).seconds if raw else 0


def _pair(entry: bytes) -> tuple[str, str]:
    pair = _PAIR(entry)
    return intern(pair.key), intern(pair.value)


def _labels(entries: tuple[bytes, ...]) -> Labels:
    return Labels([_pairs[entry] for entry in entries]) if entries else NO_LABELS


def _owners(references: tuple[bytes, ...]) -> tuple[Owner, ...]:
    return tuple(
        Owner(intern(one.kind), intern(one.name), intern(one.uid), one.controller, intern(one.apiVersion))
        for one in map(_OWNER, references)
    )


_pairs = Pool(_pair, limit=50_000)
labels = DigestPool(_labels)
owners = Pool(_owners)


def kept_annotations(entries: Iterable[bytes]) -> Labels:
    """Only the annotations that some layer reads."""
    # An undecoded map entry: tag, length, key; a key of more than 127 bytes is none of ours.
    kept = [entry for entry in entries if _kept[entry[2 : 2 + entry[1]]]]
    return labels.of(*kept) if kept else NO_LABELS


def meta(message: Any) -> dict[str, Any]:
    """The fields of `Row`, from any object's metadata."""
    return {
        "namespace": intern(message.namespace),
        "name": message.name,
        "uid": message.uid,
        "resource_version": int(message.resourceVersion or 0),
        "generation": message.generation,
        "created": seconds(message.creationTimestamp),
        "deleting": seconds(message.deletionTimestamp),
        "labels": labels.of(*message.labels),
        "annotations": kept_annotations(message.annotations),
        "owners": owners[tuple(message.ownerReferences)],
        "finalizers": tuple(message.finalizers),
    }


def conditions(messages: Iterable[Any]) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            intern(one.type),
            intern(one.status),
            intern(one.reason),
            one.message,
            seconds(one.lastTransitionTime),
        )
        for one in messages
    )


def amounts(entries: Iterable[Any]) -> Resources:
    return resources({entry.key: entry.value.string for entry in entries})


def requirements(messages: Iterable[Any]) -> tuple[Requirement, ...]:
    return tuple(Requirement(one.key, one.operator, tuple(one.values)) for one in messages)


def selector_of(message: Any) -> Selector:
    pairs = Labels((intern(pair.key), intern(pair.value)) for pair in message.matchLabels)
    return Selector(pairs, requirements(message.matchExpressions))


def maybe_selector(message: Any, field: str) -> Selector | None:
    """A selector that is not there picks nothing; an empty one picks everything."""
    return selector_of(getattr(message, field)) if message.HasField(field) else None


def _selector(raw: bytes) -> Selector:
    return selector_of(_SELECTOR(raw))


selector = Pool(_selector)


def node_terms(message: Any) -> tuple[NodeTerm, ...]:
    return tuple(
        NodeTerm(requirements(term.matchExpressions), requirements(term.matchFields))
        for term in message.nodeSelectorTerms
    )


def int_or_percent(message: Any, field: str) -> int | str | None:
    """An IntOrString field, None where it is absent."""
    if not message.HasField(field):
        return None
    value = getattr(message, field)
    return value.strVal if value.type == 1 else value.intVal
