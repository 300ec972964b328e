"""From a pod's specification to what is shared of it.

A message keeps the fields that it does not know. Dropped and written again, a specification becomes the
canonical bytes of just what we read: equal for siblings, so each is decoded once. Where siblings do
differ (a claim of their own, a node of their own), the parts that they share are still decoded once.
"""

from __future__ import annotations

from sys import intern
from typing import Any

from shiplift.facts.pods import Container, HostPort, PodSpec, PodTerm, Spread, Toleration
from shiplift.facts.quantities import NOTHING, Resources, resources
from shiplift.facts.selectors import NodeTerm
from shiplift.kube.pool import DigestPool, Pool
from shiplift.kube.rows import meta
from shiplift.kube.wire import MESSAGES

_SPEC = MESSAGES["PodSpec"].FromString
_PARTS = MESSAGES["SpecParts"].FromString
_NAMED_VOLUMES = MESSAGES["NamedVolumes"].FromString
_VOLUME = MESSAGES["Volume"].FromString
_CONTAINER = MESSAGES["Container"].FromString
_TOLERATION = MESSAGES["Toleration"].FromString
_AFFINITY = MESSAGES["Affinity"].FromString
_SPREAD = MESSAGES["Spread"].FromString
_AMOUNT = MESSAGES["Amount"].FromString
_REQUIREMENTS = MESSAGES["Requirements"].FromString

_SIDECAR = "Always"
_SOME_NAME = ("?",)
"""Stands for ephemeral volumes in shared bytes, which do not hold volume names."""

Bytes = tuple[bytes, ...]


def shared_spec(message: Any) -> PodSpec:
    """The shared specification of a parsed one, which loses what we do not read."""
    message.DiscardUnknownFields()
    return _specs.of(message.SerializeToString())


def named_spec(raw: bytes) -> PodSpec:
    """From full bytes, with the names of ephemeral volumes: rare, so it is not shared."""
    spec = _SPEC(raw)
    spec.ClearField("nodeName")
    spec.DiscardUnknownFields()
    volumes = _NAMED_VOLUMES(raw).volumes
    names = tuple(volume.name for volume in volumes if volume.volumeSource.HasField("ephemeral"))
    return _decode(_PARTS(spec.SerializeToString()), names)


def template_spec(raw: bytes) -> PodSpec:
    """The specification in a workload's template."""
    shared = shared_spec(_SPEC(raw))
    return named_spec(raw) if shared.ephemeral_claims else shared


def _spec(canonical: Bytes) -> PodSpec:
    parts = _PARTS(canonical[0])
    ephemeral = any(_volumes[volume] == "ephemeral" for volume in parts.volumes)
    return _decode(parts, _SOME_NAME if ephemeral else ())


_specs = DigestPool(_spec)


def _decode(parts: Any, ephemeral: tuple[str, ...]) -> PodSpec:
    containers, requests, host_ports = _running[
        tuple(parts.containers), tuple(parts.initContainers), tuple(parts.overhead), parts.resources
    ]
    node_terms, affinity, anti_affinity = _affinities[parts.affinity]
    volumes = [_volumes[volume] for volume in parts.volumes]
    # Positional, in the order of the fields: by keyword it takes many times as long.
    return PodSpec(
        containers,
        requests,
        _tolerations[tuple(parts.tolerations)],
        meta.labels.of(*parts.nodeSelector),
        node_terms,
        affinity,
        anti_affinity,
        _spreads[tuple(parts.topologySpreadConstraints)],
        parts.priority,
        intern(parts.priorityClassName),
        tuple(volume[1:] for volume in volumes if volume.startswith(_CLAIM)),
        ephemeral,
        "emptyDir" in volumes,
        "hostPath" in volumes,
        parts.hostNetwork,
        host_ports,
        parts.terminationGracePeriodSeconds if parts.HasField("terminationGracePeriodSeconds") else 30,
        tuple(gate.name for gate in parts.schedulingGates),
        intern(parts.serviceAccountName),
        intern(parts.schedulerName),
        intern(parts.restartPolicy),
        intern(parts.runtimeClassName),
    )


_CLAIM = "="


def _volume(raw: bytes) -> str:
    """The kind of a volume we care about, or the claim it uses (`=name`)."""
    source = _VOLUME(raw).volumeSource
    if source.HasField("persistentVolumeClaim"):
        return _CLAIM + source.persistentVolumeClaim.claimName
    return next((kind for kind in ("emptyDir", "hostPath", "ephemeral") if source.HasField(kind)), "")


_volumes = Pool(_volume)


def _run(
    key: tuple[Bytes, Bytes, Bytes, bytes],
) -> tuple[tuple[Container, ...], Resources, tuple[HostPort, ...]]:
    """Containers, what the scheduler reserves for them, and the ports that they take on the node."""
    main, initial, overhead, whole_pod = key
    containers = [_CONTAINER(raw) for raw in main]
    first = [_CONTAINER(raw) for raw in initial]
    staying = [*containers, *(one for one in first if one.restartPolicy == _SIDECAR)]
    wants = scheduled_requests(containers, first)
    wants = _override(wants, _wanted(_REQUIREMENTS(whole_pod)))
    ports = tuple(
        HostPort(port.hostPort, intern(port.protocol), intern(port.hostIP))
        for container in staying
        for port in container.ports
        if port.hostPort
    )
    named = tuple(Container(intern(one.name), intern(one.image)) for one in containers)
    return named, wants + meta.amounts(map(_AMOUNT, overhead)) + Resources(pods=1), ports


_running = Pool(_run)


def _wanted(requirements: Any) -> Resources:
    """In a template a limit without a request stands for both, as it will in the pod."""
    if not requirements.limits:
        return meta.amounts(requirements.requests)
    given = {one.key: one.value.string for one in (*requirements.limits, *requirements.requests)}
    return resources(given)


def scheduled_requests(containers: list[Any], initial: list[Any]) -> Resources:
    """The larger of starting and running, sidecars counted in both."""
    running = sum((_wanted(one.resources) for one in containers), NOTHING)
    sidecars = starting = NOTHING
    for one in initial:
        wants = _wanted(one.resources)
        if one.restartPolicy == _SIDECAR:
            sidecars += wants
            starting |= sidecars
        else:
            starting |= sidecars + wants
    return (running + sidecars) | starting


def _override(total: Resources, whole_pod: Resources) -> Resources:
    """A request for the whole pod stands instead of the sum over its containers."""
    return Resources(
        whole_pod.cpu or total.cpu,
        whole_pod.memory or total.memory,
        total.storage,
        extended=tuple(sorted((dict(total.extended) | dict(whole_pod.extended)).items())),
    )


def _toleration_list(raws: Bytes) -> tuple[Toleration, ...]:
    return tuple(_toleration(_TOLERATION(raw)) for raw in raws)


_tolerations = Pool(_toleration_list)


def _toleration(message: Any) -> Toleration:
    return Toleration(
        intern(message.key),
        intern(message.operator or "Equal"),
        intern(message.value),
        intern(message.effect),
        message.tolerationSeconds if message.HasField("tolerationSeconds") else None,
    )


Affinities = tuple[tuple[NodeTerm, ...] | None, tuple[PodTerm, ...], tuple[PodTerm, ...]]


def _affinity(raw: bytes) -> Affinities:
    """Required terms only: for nodes, with pods, against pods."""
    affinity = _AFFINITY(raw)
    nodes = affinity.nodeAffinity
    return (
        meta.node_terms(nodes.required) if nodes.HasField("required") else None,
        tuple(map(_pod_term, affinity.podAffinity.required)),
        tuple(map(_pod_term, affinity.podAntiAffinity.required)),
    )


_affinities = Pool(_affinity)


def _pod_term(message: Any) -> PodTerm:
    return PodTerm(
        meta.maybe_selector(message, "labelSelector"),
        intern(message.topologyKey),
        tuple(message.namespaces),
        meta.maybe_selector(message, "namespaceSelector"),
    )


def _spread_list(raws: Bytes) -> tuple[Spread, ...]:
    return tuple(_spread(_SPREAD(raw)) for raw in raws)


_spreads = Pool(_spread_list)


def _spread(message: Any) -> Spread:
    return Spread(
        message.maxSkew,
        intern(message.topologyKey),
        message.whenUnsatisfiable == "DoNotSchedule",
        meta.maybe_selector(message, "labelSelector"),
        message.minDomains or 1,
        message.nodeAffinityPolicy != "Ignore",
        message.nodeTaintsPolicy == "Honor",
        tuple(message.matchLabelKeys),
    )
