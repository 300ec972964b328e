"""Pods that real controllers make and a real scheduler places."""

from __future__ import annotations

from typing import Any

from shiplift.facts.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    STATEFUL_SET,
)
from tests.until import until
from tests.workloads.admission.stage import (
    HELD,
    NEW,
    OLD,
    Json,
    Stage,
    requiring,
    terms,
)


def workload(name: str, replicas: int = 3, **template: Any) -> Json:
    labels = {"app": name}
    spec = {"containers": [{"name": "main", "image": "none"}], "terminationGracePeriodSeconds": 0, **template}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def pods(stage: Stage, namespace: str, app: str) -> list[Json]:
    found = stage.client.list(POD, namespace, label_selector=f"app={app}")
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def pools_of(stage: Stage, namespace: str, app: str, count: int = 3) -> set[str]:
    """The pools that the pods are on, once they are all there."""

    def nodes() -> list[str]:
        names = [one["spec"].get("nodeName", "") for one in pods(stage, namespace, app)]
        return names if len(names) == count and all(names) else []

    return {name.rsplit("-", 1)[0] for name in until(nodes)}


def test_real_pods_go_where_their_turn_says(stage: Stage, listed: str) -> None:
    for kind, name in ((DEPLOYMENT, "web"), (DEPLOYMENT, "api"), (STATEFUL_SET, "db")):
        stage.client.create(kind, workload(name), listed)
    assert pools_of(stage, listed, "web") == {OLD.name}
    assert pools_of(stage, listed, "api") == {NEW.name}
    assert pools_of(stage, listed, "db") == {OLD.name}
    stored = stage.client.get(DEPLOYMENT, "web", listed)
    assert "affinity" not in stored["spec"]["template"]["spec"]


def test_after_a_rollout_the_new_pods_are_held_too(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    made = stage.client.create(DEPLOYMENT, workload("web"), namespace).object
    before = {one["metadata"]["labels"]["pod-template-hash"] for one in _all(stage, namespace, 3)}
    change = {"spec": {"template": {"metadata": {"annotations": {"restarted": "once"}}}}}
    stage.client.patch(DEPLOYMENT, "web", change, namespace, uid=made["metadata"]["uid"])

    def replaced() -> bool:
        now = [one["metadata"]["labels"]["pod-template-hash"] for one in pods(stage, namespace, "web")]
        return len(now) == 3 and before.isdisjoint(now)

    until(replaced)
    assert pools_of(stage, namespace, "web") == {OLD.name}
    for one in pods(stage, namespace, "web"):
        assert terms(one["spec"]["affinity"]) == [{"matchExpressions": [HELD]}]


def _all(stage: Stage, namespace: str, count: int) -> list[Json]:
    return until(lambda: found if len(found := pods(stage, namespace, "web")) == count else [])


def test_a_user_s_own_zone_holds_for_real_pods_too(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Released"})
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-b"]}
    affinity = requiring({"matchExpressions": [zone]})
    stage.client.create(DEPLOYMENT, workload("web", affinity=affinity), namespace)
    pools_of(stage, namespace, "web")
    assert {one["spec"]["nodeName"] for one in pods(stage, namespace, "web")} == {"new-1"}


def test_jobs_and_daemon_sets_of_listed_names_are_free(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held", "StatefulSet.web": "Released"})
    daemons = workload("web")
    del daemons["spec"]["replicas"]
    stage.client.create(DAEMON_SET, daemons, namespace)
    assert pools_of(stage, namespace, "web", OLD.count + NEW.count) == {OLD.name, NEW.name}
    job = {"metadata": {"name": "web"}, "spec": {"template": workload("job")["spec"]["template"]}}
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    stage.client.create(JOB, job, namespace)
    (one,) = until(lambda: pods(stage, namespace, "job"))
    assert "affinity" not in one["spec"]
