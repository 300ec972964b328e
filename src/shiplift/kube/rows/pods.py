"""From a Pod message to its row: the store's hottest path, 50,000 times in one sync.

A message keeps the fields it does not know; dropped and written again, a specification becomes the
canonical bytes of just what we read, less the node: equal for all siblings, so each is decoded once.
"""

from __future__ import annotations

from sys import intern
from typing import Any

from shiplift.facts.meta import Labels
from shiplift.facts.pods import Container, HostPort, Pod, PodSpec, PodTerm, Spread, Toleration
from shiplift.facts.quantities import NOTHING, Resources
from shiplift.kube.rows import meta
from shiplift.kube.rows.pool import Pool
from shiplift.kube.wire import MESSAGES

_POD = MESSAGES["Pod"].FromString
_SPEC = MESSAGES["PodSpec"].FromString
_VOLUMES = MESSAGES["NamedVolumes"].FromString
_CONDITION = MESSAGES["Condition"].FromString

# The API server writes fields in the order of their numbers: the type comes first, then the status.
_READY = b"\n\x05Ready\x12\x04True"
_UNSCHEDULED = b"\n\x0cPodScheduled\x12\x05False"
_DISRUPTED = b"\n\x10DisruptionTarget\x12\x04True"
_TELLING = (_READY, _UNSCHEDULED, _DISRUPTED)


def pod(raw: bytes) -> Pod:
    message = _POD(raw)
    about, spec, status = message.metadata, message.spec, message.status
    node = spec.nodeName
    shared = _shared_spec(spec, raw)
    ready_since, unschedulable, disruption = _told(status.conditions)
    restarts, waiting, images = _containers(status.containerStatuses, ready_since >= 0)
    return Pod(
        namespace=intern(about.namespace),
        name=about.name,
        uid=about.uid,
        resource_version=int(about.resourceVersion or 0),
        generation=about.generation,
        created=meta.seconds(about.creationTimestamp),
        deleting=meta.seconds(about.deletionTimestamp),
        labels=meta.labels(tuple(about.labels)),
        annotations=meta.kept_annotations(about.annotations),
        owners=meta.owners(tuple(about.ownerReferences)),
        finalizers=tuple(about.finalizers),
        node=intern(node),
        spec=shared,
        phase=intern(status.phase),
        ready=ready_since >= 0,
        ready_since=max(ready_since, 0),
        unschedulable=unschedulable,
        disruption=disruption,
        reason=intern(status.reason),
        ip=status.podIP,
        nominated_node=intern(status.nominatedNodeName),
        started=meta.seconds(status.startTime),
        restarts=restarts,
        waiting=waiting,
        image_ids=images,
    )


def _told(conditions: Any) -> tuple[int, str, str]:
    """Since when it is ready (-1: it is not), what the scheduler says, why it is being ended."""
    ready_since, unschedulable, disruption = -1, "", ""
    for raw in conditions:
        if not raw.startswith(_TELLING):
            continue
        condition = _CONDITION(raw)
        if raw.startswith(_READY):
            ready_since = meta.seconds(condition.lastTransitionTime)
        elif raw.startswith(_DISRUPTED):
            disruption = intern(condition.reason)
        elif condition.reason == "Unschedulable":
            unschedulable = condition.message
    return ready_since, unschedulable, disruption


def _containers(statuses: Any, ready: bool) -> tuple[int, str, tuple[str, ...]]:
    """Restarts in all, why one waits, what they run. Of a ready pod none waits."""
    restarts, waiting = 0, ""
    images: list[str] = []
    for status in statuses:
        restarts += status.restartCount
        images.append(status.imageID)
        if not ready:
            waiting = intern(status.state.waiting.reason) or waiting
    return restarts, waiting, _images(tuple(images))


def _interned(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(intern, names))


_images: Pool[tuple[str, ...]] = Pool(_interned)


def _shared_spec(spec: Any, raw: bytes) -> PodSpec:
    spec.ClearField("nodeName")
    spec.DiscardUnknownFields()
    shared = pod_spec(spec.SerializeToString())
    if shared.ephemeral_claims:
        # Rare: only here do volume names matter, and they are not part of the shared bytes.
        return pod_spec_with_volumes(MESSAGES["RawPod"].FromString(raw).spec)
    return shared


def pod_spec_with_volumes(raw: bytes) -> PodSpec:
    """A specification from its full bytes, names of ephemeral volumes included."""
    message = _SPEC(raw)
    names = tuple(
        volume.name for volume in _VOLUMES(raw).volumes if volume.volumeSource.HasField("ephemeral")
    )
    return _decode_spec(message, names)


def template_spec(raw: bytes) -> PodSpec:
    """The specification in a workload's template."""
    spec = _SPEC(raw)
    spec.DiscardUnknownFields()
    shared = pod_spec(spec.SerializeToString())
    return pod_spec_with_volumes(raw) if shared.ephemeral_claims else shared


def _unnamed_spec(raw: bytes) -> PodSpec:
    message = _SPEC(raw)
    ephemeral = any(volume.volumeSource.HasField("ephemeral") for volume in message.volumes)
    return _decode_spec(message, ("?",) if ephemeral else ())


pod_spec: Pool[PodSpec] = Pool(_unnamed_spec)


def _decode_spec(spec: Any, ephemeral: tuple[str, ...]) -> PodSpec:
    sources = [volume.volumeSource for volume in spec.volumes]
    affinity = spec.affinity
    return PodSpec(
        containers=tuple(Container(intern(one.name), intern(one.image)) for one in spec.containers),
        requests=requests(spec),
        tolerations=tuple(map(_toleration, spec.tolerations)),
        node_selector=Labels((intern(pair.key), intern(pair.value)) for pair in spec.nodeSelector),
        node_terms=meta.node_terms(affinity.nodeAffinity.required)
        if affinity.nodeAffinity.HasField("required")
        else None,
        affinity=tuple(map(_pod_term, affinity.podAffinity.required)),
        anti_affinity=tuple(map(_pod_term, affinity.podAntiAffinity.required)),
        spread=tuple(map(_spread, spec.topologySpreadConstraints)),
        priority=spec.priority,
        priority_class=intern(spec.priorityClassName),
        claims=tuple(
            one.persistentVolumeClaim.claimName for one in sources if one.HasField("persistentVolumeClaim")
        ),
        ephemeral_claims=ephemeral,
        empty_dir=any(one.HasField("emptyDir") for one in sources),
        host_path=any(one.HasField("hostPath") for one in sources),
        host_network=spec.hostNetwork,
        host_ports=tuple(
            HostPort(port.hostPort, intern(port.protocol), intern(port.hostIP))
            for container in spec.containers
            for port in container.ports
            if port.hostPort
        ),
        grace=spec.terminationGracePeriodSeconds if spec.HasField("terminationGracePeriodSeconds") else 30,
        gates=tuple(gate.name for gate in spec.schedulingGates),
        service_account=intern(spec.serviceAccountName),
        scheduler=intern(spec.schedulerName),
        restart_policy=intern(spec.restartPolicy),
        runtime_class=intern(spec.runtimeClassName),
    )


def requests(spec: Any) -> Resources:
    """What the scheduler reserves: the larger of start-up and running, plus the overhead."""
    running = sum((meta.amounts(one.resources.requests) for one in spec.containers), NOTHING)
    sidecars = starting = NOTHING
    for one in spec.initContainers:
        wants = meta.amounts(one.resources.requests)
        if one.restartPolicy == "Always":
            sidecars += wants
            starting |= sidecars
        else:
            starting |= sidecars + wants
    total = (running + sidecars) | starting
    total = _override(total, meta.amounts(spec.resources.requests))
    return total + meta.amounts(spec.overhead) + Resources(pods=1)


def _override(total: Resources, whole_pod: Resources) -> Resources:
    """A request for the whole pod stands instead of the sum over its containers."""
    return Resources(
        whole_pod.cpu or total.cpu,
        whole_pod.memory or total.memory,
        total.storage,
        extended=tuple(sorted((dict(total.extended) | dict(whole_pod.extended)).items())),
    )


def _toleration(message: Any) -> Toleration:
    return Toleration(
        intern(message.key),
        intern(message.operator or "Equal"),
        intern(message.value),
        intern(message.effect),
        message.tolerationSeconds if message.HasField("tolerationSeconds") else None,
    )


def _pod_term(message: Any) -> PodTerm:
    return PodTerm(
        meta.selector_of(message.labelSelector) if message.HasField("labelSelector") else None,
        intern(message.topologyKey),
        tuple(message.namespaces),
        meta.selector_of(message.namespaceSelector) if message.HasField("namespaceSelector") else None,
    )


def _spread(message: Any) -> Spread:
    return Spread(
        message.maxSkew,
        intern(message.topologyKey),
        message.whenUnsatisfiable == "DoNotSchedule",
        meta.selector_of(message.labelSelector) if message.HasField("labelSelector") else None,
        message.minDomains or 1,
        message.nodeAffinityPolicy != "Ignore",
        message.nodeTaintsPolicy == "Honor",
        tuple(message.matchLabelKeys),
    )
