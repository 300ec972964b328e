"""The pods: of Deployments (8 in a ReplicaSet), of StatefulSets with claims, of DaemonSets on every node."""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import Enum

import msgspec

from benchmarks.recipe.base import Json, digest, namespace, node_name, seeded, service, suffix, uid
from benchmarks.recipe.containers import agent, application, sidecar

AGENTS = (("network-agent", 19100), ("storage-agent", 19200), ("log-agent", 19300))
CRITICAL, BATCH = "business-critical", "batch-low"
SYSTEM = "kube-system"
_PER_REPLICA_SET = 8
_PER_STATEFUL_SET = 5


class Health(Enum):
    RUNNING = "running"
    CRASHING = "crashing"
    PENDING = "pending"


class Pod(msgspec.Struct, frozen=True):
    """A pod to create, and what its kubelet will say of it."""

    number: int
    body: Json
    health: Health


def pods(count: int, nodes: int) -> Iterator[Pod]:
    """As many pods as asked for: agents on every node, a tenth stateful, the rest stateless."""
    agents = min(nodes * len(AGENTS), count // 5)
    stateful = count // 10
    for number in range(count):
        if number < agents:
            yield _agent_pod(number, nodes)
        elif number < agents + stateful:
            yield _stateful_pod(number, number - agents, nodes)
        else:
            yield _stateless_pod(number, number - agents - stateful, nodes)


def _stateless_pod(number: int, position: int, nodes: int) -> Pod:
    workload = position // _PER_REPLICA_SET
    shared, own = seeded("deployment", workload), seeded("pod", number)
    name, team = service(workload), namespace(workload)
    replica_set = f"{name}-{suffix(workload, 10)}"
    labels = _labels(name, team, "web") | {"pod-template-hash": replica_set.rpartition("-")[2]}
    spec: Json = _spec(name, team, shared) | _placement(name, workload)
    body = _body(f"{replica_set}-{suffix(number)}", team, labels, spec, workload)
    body["metadata"]["generateName"] = f"{replica_set}-"
    body["metadata"]["ownerReferences"] = [_owner("ReplicaSet", replica_set, workload)]
    return _placed(number, body, own, nodes)


def _stateful_pod(number: int, position: int, nodes: int) -> Pod:
    workload, ordinal = divmod(position, _PER_STATEFUL_SET)
    shared = seeded("statefulset", workload)
    name, team = f"{service(workload)}-db", namespace(workload * 3)
    pod_name = f"{name}-{ordinal}"
    labels = _labels(name, team, "database") | {
        "controller-revision-hash": f"{name}-{suffix(workload, 10)}",
        "statefulset.kubernetes.io/pod-name": pod_name,
        "apps.kubernetes.io/pod-index": str(ordinal),
    }
    spec: Json = _spec(name, team, shared) | {
        "subdomain": name,
        "hostname": pod_name,
        "priorityClassName": CRITICAL,
    }
    spec["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": f"data-{pod_name}"}})
    spec["containers"][0]["volumeMounts"].append({"name": "data", "mountPath": "/var/lib/data"})
    spec["affinity"] = _apart(name, "kubernetes.io/hostname")
    body = _body(pod_name, team, labels, spec, workload)
    body["metadata"]["generateName"] = f"{name}-"
    body["metadata"]["ownerReferences"] = [_owner("StatefulSet", name, workload)]
    return _placed(number, body, seeded("pod", number), nodes)


def _agent_pod(number: int, nodes: int) -> Pod:
    kind, node = divmod(number, nodes)
    name, port = AGENTS[kind]
    labels = {
        "k8s-app": name,
        "controller-revision-hash": suffix(kind, 10),
        "pod-template-generation": "4",
    }
    body = _body(f"{name}-{suffix(number)}", SYSTEM, labels, _agent_spec(name, port, node_name(node)), kind)
    body["metadata"]["generateName"] = f"{name}-"
    body["metadata"]["ownerReferences"] = [_owner("DaemonSet", name, kind)]
    body["spec"]["nodeName"] = node_name(node)
    return Pod(number, body, Health.RUNNING)


def _placed(number: int, body: Json, own: random.Random, nodes: int) -> Pod:
    chance = own.random()
    if chance < 0.005:
        return Pod(number, body, Health.PENDING)
    body["spec"]["nodeName"] = node_name(own.randrange(nodes))
    return Pod(number, body, Health.CRASHING if chance < 0.015 else Health.RUNNING)


def _body(name: str, team: str, labels: Json, spec: Json, workload: int) -> Json:
    annotations = {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "9090",
        "checksum/config": digest("config", team, workload),
        "sidecar.mesh.example.com/status": '{"initContainers":null,"containers":["proxy"],"revision":"2-31"}',
        "kubectl.kubernetes.io/default-container": "app",
    }
    metadata = {"name": name, "namespace": team, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _labels(name: str, team: str, component: str) -> Json:
    return {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": f"{name}-production",
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/version": "1.4.2",
        "app.kubernetes.io/managed-by": "Helm",
        "team": team,
    }


def _owner(kind: str, name: str, workload: int) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": name,
        "uid": uid(kind, name, workload),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _spec(name: str, team: str, shared: random.Random) -> Json:
    version = f"1.{shared.randrange(40)}.{shared.randrange(10)}"
    return {
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": shared.choice((30, 30, 30, 60, 120)),
        "containers": [application(name, team, version, shared), sidecar()],
        "imagePullSecrets": [{"name": "registry"}],
        "securityContext": {"fsGroup": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [
            {"name": "config", "configMap": {"name": f"{name}-config"}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "proxy-data", "emptyDir": {"medium": "Memory"}},
        ],
        "tolerations": [
            {"key": "dedicated", "operator": "Equal", "value": "apps", "effect": "NoSchedule"},
        ],
    }


def _placement(name: str, workload: int) -> Json:
    """Where the pods of a Deployment may run: each workload has its own mixture."""
    wishes: Json = {}
    if workload % 3 == 0:
        wishes["topologySpreadConstraints"] = [_spread(name)]
    if workload % 4 == 0:
        wishes["affinity"] = _in_zones()
    elif workload % 7 == 0:
        wishes["affinity"] = _apart(name, "topology.kubernetes.io/zone")
    if workload % 5 == 0:
        wishes["nodeSelector"] = {"pool.example.com/name": f"pool-{workload % 6}"}
    if workload % 10 < 2:
        wishes["priorityClassName"] = CRITICAL if workload % 10 else BATCH
    return wishes


def _selector(name: str) -> Json:
    return {"matchLabels": {"app.kubernetes.io/name": name}}


def _spread(name: str) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": _selector(name),
    }


def _in_zones() -> Json:
    expressions = [
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-1a", "eu-1b"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    ]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _apart(name: str, topology_key: str) -> Json:
    term = {"labelSelector": _selector(name), "topologyKey": topology_key}
    preferred = {"weight": 50, "podAffinityTerm": term | {"topologyKey": "topology.kubernetes.io/region"}}
    return {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [term],
            "preferredDuringSchedulingIgnoredDuringExecution": [preferred],
        }
    }


def _agent_spec(name: str, port: int, node: str) -> Json:
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    conditions = ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure")
    effects = ("NoExecute", "NoExecute", "NoSchedule", "NoSchedule", "NoSchedule")
    return {
        "serviceAccountName": name,
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 10,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "containers": [agent(name, port), agent(f"{name}-exporter", port + 1)],
        "volumes": [
            {"name": "run", "hostPath": {"path": f"/run/{name}", "type": "DirectoryOrCreate"}},
            {"name": "host", "hostPath": {"path": "/", "type": ""}},
        ],
        "tolerations": [
            {"operator": "Exists", "effect": "NoSchedule"},
            *(
                {"key": f"node.kubernetes.io/{condition}", "operator": "Exists", "effect": effect}
                for condition, effect in zip(conditions, effects, strict=True)
            ),
        ],
    }
