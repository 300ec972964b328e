"""What a cluster does by itself: admission, controllers, scheduler, kubelets and the disruption controller.

A tick lets each of them look once. Kubernetes' own rules as far as layers rely on them: an eviction's
pod is made again by its owner, a ReplicaSet shrinks by deletion cost, a rollout adds before it takes away.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any, cast

import msgspec

from benchmarks.rows import make
from shiplift.engine.budgets import Disruptions
from shiplift.facts.meta import Labels, Owner
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import any_term_matches
from shiplift.facts.workloads import (
    Deployment,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from tests.model.world import World

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
REVISION = "controller-revision-hash"
ROLE, PRIMARY, REPLICA = "role", "primary", "replica"
_MOST_TICKS = 200
_NOTED_SECONDS = 120
"""How long the disruption controller waits for an evicted pod to go."""


def settle(world: World) -> None:
    """Ticks until nothing changes any more."""
    for _ in range(_MOST_TICKS):
        before = world.changes
        tick(world)
        if world.changes == before:
            return
    raise AssertionError("the cluster does not come to rest by itself")


def tick(world: World) -> None:
    """Everybody looks once."""
    world.pass_time(1)
    give_roles(world)
    end_pods(world)
    world.learn()
    for scaler in world.all(HorizontalPodAutoscaler):
        _autoscale(world, scaler)
    for deployment in world.all(Deployment):
        _roll_out(world, deployment)
    for one in world.all(ReplicaSet):
        _fill(world, one)
    for one in world.all(StatefulSet):
        _fill_in_order(world, one)
    if world.pace.ready:
        _start(world)
        _schedule(world)
    else:
        _schedule(world)
        _start(world)
    _report(world)
    for budget in world.all(PodDisruptionBudget):
        _count_healthy(world, budget)


# --- pods come and go ---


def create(world: World, owner: ReplicaSet | StatefulSet, name: str, labels: Labels) -> None:
    """A new pod of an owner, as admission lets it in."""
    reference = Owner(type(owner).__name__, owner.name, owner.uid, True)
    spec = world.admit_pod(owner, owner.template)
    world.put(
        make(
            Pod,
            name,
            uid=f"{name}-{world.number()}",
            namespace=owner.namespace,
            labels=labels,
            owners=(reference,),
            spec=spec,
            phase="Pending",
            created=int(world.now.timestamp()),
        )
    )


def delete(world: World, pod: Pod) -> None:
    """End a pod; it is gone now, or with the next tick."""
    if not pod.node or not world.pace.leave:
        world.remove(pod)
    elif not pod.deleting:
        world.put(msgspec.structs.replace(pod, deleting=int(world.now.timestamp()), ready=False))


def end_pods(world: World) -> None:
    """Pods that were ended, whose node is gone, or whose owner is gone."""
    nodes = {node.name for node in world.all(Node)}
    deployments = {one.uid for one in world.all(Deployment)}
    for one in world.all(ReplicaSet):
        if one.controller is None or one.controller.uid not in deployments:
            world.remove(one)
    owners = {one.uid for one in (*world.all(ReplicaSet), *world.all(StatefulSet))}
    for pod in world.all(Pod):
        lost = pod.node and pod.node not in nodes
        if pod.deleting or lost or (pod.controller is not None and pod.controller.uid not in owners):
            world.remove(pod)


def give_roles(world: World) -> None:
    """Where pods have roles, one of them is the primary; who has none gets one a while after it was made."""
    pods = [pod for pod in world.all(Pod) if (pod.namespace, pod.labels.get("app")) in world.roles]
    primaries = {(pod.namespace, pod.labels["app"]) for pod in pods if pod.labels.get(ROLE) == PRIMARY}
    for pod in pods:
        own = (pod.namespace, pod.labels["app"])
        if ROLE not in pod.labels and not pod.deleting:
            role = REPLICA if own in primaries else PRIMARY
            primaries.add(own)
            world.put(msgspec.structs.replace(pod, labels=Labels({**pod.labels, ROLE: role})))


# --- owners ---


def _autoscale(world: World, scaler: HorizontalPodAutoscaler) -> None:
    """The load asks for `desired_replicas`; the floor and the most there may be decide the rest."""
    row = world.named(Deployment, scaler.target_name, scaler.namespace)
    if row is None or not row.replicas:
        return
    wanted = min(max(scaler.desired_replicas, scaler.min_replicas), scaler.max_replicas)
    if row.replicas != wanted:
        world.put(msgspec.structs.replace(row, replicas=wanted, generation=row.generation + 1))


def _roll_out(world: World, row: Deployment) -> None:
    """One more of the new, then one less of the old: never fewer Ready than there should be."""
    if row.paused:
        return
    sets = [one for one in world.all(ReplicaSet) if one.controller and one.controller.uid == row.uid]
    current = next((one for one in sets if one.template == row.template), None)
    if current is None:
        current = _new_set(world, row)
        sets.append(current)
    others = [one for one in sets if one.uid != current.uid and (one.replicas or one.current_replicas)]
    if not others:
        world.put(msgspec.structs.replace(current, replicas=row.replicas))
        return
    total = current.replicas + sum(one.replicas for one in others)
    if current.replicas < row.replicas and total <= row.replicas:
        world.put(msgspec.structs.replace(current, replicas=current.replicas + 1))
    elif current.replicas > row.replicas:
        world.put(msgspec.structs.replace(current, replicas=row.replicas))
    spare = sum(one.ready for one in _live(world, {one.uid for one in sets})) - row.replicas
    for old in others:
        less = min(old.replicas, max(spare, 0))
        spare -= less
        world.put(msgspec.structs.replace(old, replicas=old.replicas - less))


def _new_set(world: World, row: Deployment) -> ReplicaSet:
    digest = hashlib.blake2b(msgspec.json.encode(row.template), digest_size=4).hexdigest()
    return world.put(
        make(
            ReplicaSet,
            f"{row.name}-{digest}",
            uid=f"{row.name}-{digest}-{world.number()}",
            namespace=row.namespace,
            owners=(Owner("Deployment", row.name, row.uid, True),),
            selector=row.selector,
            template=row.template,
            template_labels=row.template_labels,
        )
    )


def _live(world: World, owners: set[str]) -> list[Pod]:
    return [
        pod for pod in world.all(Pod) if not pod.deleting and pod.controller and pod.controller.uid in owners
    ]


def _fill(world: World, row: ReplicaSet) -> None:
    pods = _live(world, {row.uid})
    for _ in range(row.replicas - len(pods)):
        create(world, row, f"{row.name}-{world.number()}", row.template_labels)
    crowd = Counter(pod.node for pod in pods)
    pods.sort(key=lambda pod: (bool(pod.node), pod.ready, _cost(pod), -crowd[pod.node], -pod.created))
    for pod in pods[: max(len(pods) - row.replicas, 0)]:
        delete(world, pod)


def _cost(pod: Pod) -> int:
    return int(pod.annotations.get(DELETION_COST, "0"))


def _fill_in_order(world: World, row: StatefulSet) -> None:
    """One by one from the lowest, a name again only when its pod is gone; updates from the highest."""
    revision = hashlib.blake2b(msgspec.json.encode(row.template), digest_size=4).hexdigest()
    there = {
        pod.name: pod
        for pod in world.all(Pod)
        if pod.controller is not None and pod.controller.uid == row.uid
    }
    names = [f"{row.name}-{ordinal}" for ordinal in range(row.replicas)]
    for name in names:
        pod = there.get(name)
        if pod is None:
            labels = Labels({**row.template_labels, REVISION: revision})
            create(world, row, name, labels)
        if pod is None or not pod.ready:
            break
    else:
        if row.strategy != "OnDelete":
            _update_next(world, there, names, revision)
    for name in sorted(there.keys() - set(names), reverse=True):
        delete(world, there[name])
    done = all(there[name].labels.get(REVISION) == revision for name in names if name in there)
    current = revision if done or not row.current_revision else row.current_revision
    world.put(msgspec.structs.replace(row, update_revision=revision, current_revision=current))


def _update_next(world: World, there: dict[str, Pod], names: list[str], revision: str) -> None:
    old = [name for name in reversed(names) if there[name].labels.get(REVISION) != revision]
    if old:
        delete(world, there[old[0]])


def _report(world: World) -> None:
    """The status of owners."""
    for one in world.all(ReplicaSet):
        pods = _live(world, {one.uid})
        world.put(
            msgspec.structs.replace(one, current_replicas=len(pods), observed_generation=one.generation)
        )
    for type_ in (Deployment, StatefulSet):
        for row in world.all(type_):
            world.put(msgspec.structs.replace(row, observed_generation=row.generation))


# --- places ---


def _schedule(world: World) -> None:
    crowd = Counter(pod.node for pod in world.all(Pod))
    for pod in world.all(Pod):
        if pod.node or pod.deleting:
            continue
        node = _best(world, pod, crowd)
        if node is None:
            text = f"0/{len(world.all(Node))} nodes are available"
            world.put(msgspec.structs.replace(pod, unschedulable=text))
        else:
            crowd[node.name] += 1
            world.put(msgspec.structs.replace(pod, node=node.name, unschedulable=""))


def _best(world: World, pod: Pod, crowd: Counter[str]) -> Node | None:
    fitting = [node for node in world.all(Node) if _fits(node, pod, crowd)]
    return min(
        fitting,
        key=lambda node: (_repels(node, pod, "PreferNoSchedule"), crowd[node.name], node.name),
        default=None,
    )


def _fits(node: Node, pod: Pod, crowd: Counter[str]) -> bool:
    if node.unschedulable or not node.ready or crowd[node.name] >= node.allocatable.pods:
        return False
    matches = any_term_matches(pod.spec.node_terms, node.labels, node.name)
    return matches and not _repels(node, pod, "NoSchedule")


def _repels(node: Node, pod: Pod, effect: str) -> bool:
    return any(
        taint.effect == effect and not any(one.tolerates(taint) for one in pod.spec.tolerations)
        for taint in node.taints
    )


def _start(world: World) -> None:
    since = int(world.now.timestamp())
    for pod in world.all(Pod):
        if pod.node and not pod.ready and not pod.deleting and not pod.waiting:
            world.put(msgspec.structs.replace(pod, phase="Running", ready=True, ready_since=since))


# --- budgets ---


def _count_healthy(world: World, row: PodDisruptionBudget) -> None:
    picked = world.covered(row)
    expected = len(picked) if isinstance(row.min_available, int) else _scale(world, picked)
    limits = Disruptions(row.min_available, row.max_unavailable)
    expected = expected if limits.limited else 0
    noted = _keep_notes(world, row, picked)
    healthy = sum(pod.ready and pod.name not in noted for pod in picked)
    desired = limits.desired_healthy(expected)
    world.put(
        msgspec.structs.replace(
            row,
            observed_generation=row.generation,
            expected_pods=expected,
            current_healthy=healthy,
            desired_healthy=desired,
            disruptions_allowed=limits.allowed(expected, healthy),
            disrupted_pods=tuple(sorted(noted)),
        )
    )


def _keep_notes(world: World, row: PodDisruptionBudget, picked: list[Pod]) -> set[str]:
    """Names of evicted pods that are not seen to go; a pod that is back under its name is taken for it."""
    there = {pod.name for pod in picked if not pod.deleting}
    for uid, name in list(world.noted):
        late = world.now.timestamp() >= world.noted[uid, name] + _NOTED_SECONDS
        if uid == row.uid and (name not in there or late):
            del world.noted[uid, name]
    return {name for uid, name in world.noted if uid == row.uid}


def _scale(world: World, pods: list[Pod]) -> int:
    """The replicas that the owners of these pods ask for."""
    owners: dict[str, int] = {}
    for pod in pods:
        controller = pod.controller
        if controller is None:
            continue
        one = world.get(ReplicaSet, controller.uid) or world.get(StatefulSet, controller.uid)
        if isinstance(one, ReplicaSet) and one.controller is not None:
            one = world.get(Deployment, one.controller.uid)
        if one is not None:
            owners[one.uid] = cast("Any", one).replicas
    return sum(owners.values())
