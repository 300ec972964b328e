"""Workloads and orders that declare what depends on what, for the tests of how that is gathered."""

from benchmarks.rows import make
from shiplift.api.orders import OrderedWorkload, WorkloadOrder, WorkloadOrderSpec, WorkloadRef
from shiplift.api.workloads import WorkloadKind
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Labels
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.observe.dependencies import Declared

DEPENDS_ON = "config.kubernetes.io/depends-on"
GROUP = "kapp.k14s.io/change-group"
RULE = "kapp.k14s.io/change-rule"
WAVE = "argocd.argoproj.io/sync-wave"
TRACKING_ID = "argocd.argoproj.io/tracking-id"
INSTANCE = "app.kubernetes.io/instance"


def deployment(name, namespace="shop"):
    return WorkloadId("Deployment", namespace, name)


WEB, API, DB = deployment("web"), deployment("api"), WorkloadId("StatefulSet", "shop", "db")


def workload(identity, annotations=None, **labels):
    return Declared(identity, Labels(annotations or {}), Labels(labels.get("labels") or {}))


def ref(text, namespace=""):
    kind, name = text.split("/")
    return WorkloadRef(kind=WorkloadKind(kind), name=name, namespace=namespace)


def ordered(text, *depends_on, namespace=""):
    kind, name = text.split("/")
    return OrderedWorkload(kind=WorkloadKind(kind), name=name, namespace=namespace, depends_on=depends_on)


def order(*workloads, namespace="shop", name="main"):
    object_ = WorkloadOrder(spec=WorkloadOrderSpec(workloads=workloads))
    return make(Custom, name, namespace=namespace, object=object_)


def pairs(found):
    return {(edge.dependent, edge.dependency) for edge in found.edges}


def only_problem(found):
    (problem,) = found.problems
    return problem


def wave(identity, number, application="shop", **more):
    annotations = {} if number is None else {WAVE: number}
    return workload(
        identity, {**annotations, **more}, labels={INSTANCE: application} if application else None
    )
