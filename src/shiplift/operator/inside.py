"""The operator inside the cluster: what is applied besides account, rights and fence so that it runs there.

Two replicas on two nodes, one of which leads; a budget that lets one go at a time, and whoever is not ready
at once. The pods hold to Pod Security `restricted`: no root, no capability, nothing to write to but temporary
files of a layer that needs them. Metrics and probes are served over TLS, metrics to whom the API server lets
read them. What a layer needs of it, ports, ways out, and room, comes from the layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shiplift.api.marks import OPERATOR_LABELS
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube import rbac, reviews
from shiplift.kube.part import LayerPart, Reaches
from shiplift.operator import install
from shiplift.quorum.images.errors import ImageError
from shiplift.quorum.images.reference import Reference

Manifest = dict[str, Any]

NAME = "shiplift"
LABELS = dict(OPERATOR_LABELS)
METRICS_PORT = 8443
METRICS_PORT_NAME = "https-metrics"
REVIEWS_ROLE = "shiplift-metrics-access"
"""To ask the API server who reads metrics, and whether they may."""
READER_ROLE = "shiplift-metrics-reader"
"""Bound to nobody: for a Prometheus that may not read the metrics of the whole cluster."""
EDIT_ROLE = "shiplift-edit"
"""Part of the cluster's own role `edit`, and so of `admin`: objects of ours in namespaces."""
UPGRADE_ROLE = "shiplift-upgrade"
"""Bound to nobody: objects of ours that are about the whole cluster; nodes to read, which `view` lacks."""
USER_ID = 65532
PRIORITY = 1_000_000
"""Before what has none: where room is short, what makes room comes first."""
MOST_REPLICAS = 9
SCRATCH = "/tmp"  # noqa: S108 - a volume of the pod's own
"""Where its temporary files are, which go with the pod."""
_READS = ("get", "list", "watch")
_WRITES = ("create", "update", "patch", "delete", "deletecollection")
_DNS_PORTS = (53, 5353)
"""Of names: what enforces a NetworkPolicy may see the port of the pods that answer, 5353 on OpenShift."""


class InsideError(ValueError):
    """The operator cannot be run like that; names what is wrong."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Inside(msgspec.Struct, frozen=True, kw_only=True):
    """How it runs there."""

    image: str
    replicas: int = 2
    api_ports: tuple[int, ...] = (443, 6443)
    """Where pods reach the API server: a NetworkPolicy may see the server's own port, not the Service's."""
    egress_ports: tuple[int, ...] = ()
    """What else pods reach: a proxy, or what layers call where it is on another port than usual."""

    def checked(self) -> Inside:
        """Itself; `InsideError` where it names no image, no replica or no port."""
        try:
            Reference.read(self.image)
        except ImageError as error:
            raise InsideError(
                str(error), "--image registry.example/shiplift:0.2.0, for example, or with @sha256:…"
            ) from error
        if not 1 <= self.replicas <= MOST_REPLICAS:
            raise InsideError(
                f"{self.replicas} replicas cannot be",
                f"1 to {MOST_REPLICAS}: one of them leads, others stand by",
            )
        for ports, example in (
            (self.api_ports, "--api-port 6443"),
            (self.egress_ports, "--egress-port 3128"),
        ):
            if wrong := [port for port in ports if not 0 < port < 65536]:
                raise InsideError(f"{wrong[0]} is no port", f"{example}, for example")
        return self


def manifests(
    namespace: str, layers: Iterable[LayerPart], inside: Inside, *, templates: bool = False
) -> list[Manifest]:
    """All that `install.manifests` has, and the operator itself, in the order in which they are applied."""
    _check_own(namespace)
    return assembled(namespace, tuple(layers), inside.checked(), templates=templates)


def assembled(
    namespace: str, parts: Sequence[LayerPart], inside: Inside, *, templates: bool
) -> list[Manifest]:
    """The same, of what was checked or is not yet known: the chart's is what a user of it will say."""
    space, *rest = install.manifests(namespace, parts, templates=templates)
    return [secured(space), *rest, *access(namespace, parts), *running(namespace, parts, inside)]


def _check_own(namespace: str) -> None:
    """What is secured for the operator's pods alone, and goes with them, is no namespace of the cluster's."""
    if namespace in install.CLUSTERS_OWN or namespace.startswith(install.RESERVED):
        raise InsideError(
            f"namespace {namespace} is the cluster's, and the operator wants one of its own",
            f"--namespace {install.NAMESPACE}, for example: it takes pods of Pod Security restricted alone,"
            " and is deleted with what was printed",
        )


def secured(namespace: Manifest) -> Manifest:
    """The namespace, which takes no pod that could do more than ours."""
    modes = ("enforce", "audit", "warn")
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in modes}
    return namespace | {"metadata": namespace["metadata"] | {"labels": labels}}


def access(namespace: str, parts: Sequence[LayerPart]) -> list[Manifest]:
    """Rights of others: to ask for something, to read metrics; and ours to ask who they are.

    These reviews change nothing: the fence has nothing to say about them, and a follower makes them too.
    """
    review = rbac.role(REVIEWS_ROLE, reviews.RULES)
    return [
        review,
        rbac.binding(review, install.ACCOUNT, namespace),
        _reader_role(),
        *_people_roles(parts),
    ]


def running(namespace: str, parts: Sequence[LayerPart], inside: Inside) -> list[Manifest]:
    """What runs, and what is around it."""
    return [
        _priority_class(),
        _service(namespace),
        _network_policy(namespace, parts, inside),
        _disruption_budget(namespace),
        _deployment(namespace, parts, inside),
    ]


def _reader_role() -> Manifest:
    rule = {"nonResourceURLs": [reviews.METRICS], "verbs": ["get"]}
    return rbac.role(READER_ROLE, [rule])


def _people_roles(parts: Iterable[LayerPart]) -> list[Manifest]:
    """Who may edit a namespace says what is in it; the whole cluster is for those to whom it is granted."""
    written = sorted({kind for part in parts for kind in part.written_by_people})
    near = [kind for kind in written if kind.namespaced]
    wide = [kind for kind in written if not kind.namespaced]
    edit = _written(EDIT_ROLE, near)
    for role in edit:
        role["metadata"]["labels"] = {f"{rbac.GROUP}/aggregate-to-edit": "true"}
    upgrade = _written(UPGRADE_ROLE, wide)
    for role in upgrade:
        role["rules"].append(rbac.rule(kinds.NODE.group, [kinds.NODE.plural], _READS))
    return [*edit, *upgrade]


def _written(name: str, written: list[Kind]) -> list[Manifest]:
    """A role to write these; none where there are none, for the API server takes no rule without any."""
    rule = rbac.rule(kinds.GROUP, [kind.plural for kind in written], _WRITES)
    return [rbac.role(name, [rule])] if written else []


def _priority_class() -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": NAME},
        "value": PRIORITY,
        "description": "The operator that upgrades this cluster.",
    }


def _service(namespace: str) -> Manifest:
    """Of metrics, which every pod has. On a layer's port the leader alone listens: a Service would lead half
    of those who come to pods where nobody does."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _about(namespace),
        "spec": {
            "selector": LABELS,
            "ports": [
                {
                    "name": METRICS_PORT_NAME,
                    "port": METRICS_PORT,
                    "targetPort": METRICS_PORT_NAME,
                    "protocol": "TCP",
                }
            ],
        },
    }


def _network_policy(namespace: str, parts: Sequence[LayerPart], inside: Inside) -> Manifest:
    """In: what it listens on. Out: names, the API server, what the administrator adds, what layers call."""
    own = _out_to((*inside.api_ports, *inside.egress_ports))
    outward = [_out_to_names(), own, *(_out_to(one.ports) for one in _reached(parts))]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _about(namespace),
        "spec": {
            "podSelector": {"matchLabels": LABELS},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [_tcp(port) for _, port in _listening(parts)]}],
            "egress": outward,
        },
    }


def _reached(parts: Iterable[LayerPart]) -> list[Reaches]:
    return [one for part in parts for one in part.reaches]


def _out_to_names() -> Manifest:
    return {"ports": [one for port in _DNS_PORTS for one in (_tcp(port) | {"protocol": "UDP"}, _tcp(port))]}


def _out_to(ports: Iterable[int]) -> Manifest:
    return {"ports": [_tcp(port) for port in ports]}


def _tcp(port: int) -> Manifest:
    return {"port": port, "protocol": "TCP"}


def _disruption_budget(namespace: str) -> Manifest:
    """One at a time, so that with two the other stands by, and one alone holds up no drain."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _about(namespace),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": LABELS},
        },
    }


def _deployment(namespace: str, parts: Sequence[LayerPart], inside: Inside) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _about(namespace),
        "spec": {
            "replicas": inside.replicas,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": LABELS},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": LABELS}, "spec": _pod(namespace, parts, inside)},
        },
    }


def _pod(namespace: str, parts: Sequence[LayerPart], inside: Inside) -> Manifest:
    return {
        "serviceAccountName": install.ACCOUNT,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "priorityClassName": NAME,
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "affinity": {"podAntiAffinity": _apart()},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(namespace, parts, inside.image)],
        "volumes": scratch_volumes(parts),
    }


def scratch_volumes(parts: Iterable[LayerPart]) -> list[Manifest]:
    """For the layer that writes files; without it, nothing can be written at all."""
    return [{"name": name, "emptyDir": {"sizeLimit": size}} for name, size in _scratches(parts)]


def scratch_mounts(parts: Iterable[LayerPart]) -> list[Manifest]:
    """Where a program looks for a place for its temporary files."""
    return [{"name": name, "mountPath": SCRATCH} for name, _ in _scratches(parts)]


def _scratches(parts: Iterable[LayerPart]) -> list[tuple[str, str]]:
    """At most one: whoever adds a second layer that writes has to let them share it."""
    return [("scratch", part.scratch) for part in parts if part.scratch][:1]


def _apart() -> Manifest:
    """On two nodes, in two zones where there are; a cluster of one node still has both."""

    def by(topology: str, weight: int) -> Manifest:
        term = {"topologyKey": topology, "labelSelector": {"matchLabels": LABELS}}
        return {"weight": weight, "podAffinityTerm": term}

    terms = [by("kubernetes.io/hostname", 100), by("topology.kubernetes.io/zone", 50)]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def _container(namespace: str, parts: Sequence[LayerPart], image: str) -> Manifest:
    return {
        "name": "operator",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(namespace, [part.name for part in parts]),
        "ports": [
            {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in _listening(parts)
        ],
        "startupProbe": _probe("/healthz", period=2, failures=30),
        "livenessProbe": _probe("/healthz", period=20, failures=3),
        "readinessProbe": _probe("/readyz", period=5, failures=2),
        "resources": {
            "requests": {"cpu": "100m", "memory": "192Mi"},
            "limits": {"memory": "768Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": scratch_mounts(parts),
    }


def arguments(namespace: str, layers: Iterable[str]) -> list[str]:
    """Of the command in the image, which is `shiplift`."""
    listen = ("--listen", f":{METRICS_PORT}", "--tls")
    return ["operator", "--namespace", namespace, "--layers", ",".join(layers), *listen]


def _probe(path: str, *, period: int, failures: int) -> Manifest:
    """As long as a loaded machine needs for an answer; the kubelet asks for no certificate that it knows."""
    return {
        "httpGet": {"path": path, "port": METRICS_PORT_NAME, "scheme": "HTTPS"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _listening(parts: Iterable[LayerPart]) -> list[tuple[str, int]]:
    own = (METRICS_PORT_NAME, METRICS_PORT)
    return [own, *((one.name, one.port) for part in parts for one in part.listens)]


def _about(namespace: str) -> Manifest:
    return rbac.about(NAME, namespace) | {"labels": LABELS}
