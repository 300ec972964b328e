"""What is there before the operator starts: old nodes, workloads on them, new nodes, and the migration."""

from __future__ import annotations

import contextlib

from shiplift.facts import kinds
from shiplift.kube.errors import KubeError
from tests.crash.facts import labels, terminating
from tests.crash.recorder import State
from tests.crash.stage import Stage
from tests.crash.workloads import facts
from tests.crash.workloads.scenarios import Scenario
from tests.crash.workloads.shape import OLD_POOL, ROLE
from tests.until import until


def build(stage: Stage, scenario: Scenario) -> None:
    nodes = stage.cluster.nodes
    nodes.add(OLD_POOL)
    nodes.wait_schedulable(OLD_POOL)
    stage.create_namespaces(scenario.namespaces)
    stage.create(scenario.manifests())
    until(lambda: _all_on_old(stage, scenario), 30)
    give_roles(stage, scenario, stage.recorder.live())
    nodes.add(*scenario.new)
    nodes.wait_schedulable(*scenario.new)
    stage.create([scenario.migration()])


def _all_on_old(stage: Stage, scenario: Scenario) -> bool:
    state = stage.recorder.live()
    return all(facts.all_on(state, one, OLD_POOL.name) for one in scenario.workloads)


def give_roles(stage: Stage, scenario: Scenario, state: State) -> None:
    """Label the pods that have none with their roles, as the operator of a database would."""
    for workload in (one for one in scenario.workloads if one.roles):
        for pod in facts.pods_of(state, workload):
            about = pod["metadata"]
            if ROLE not in labels(pod) and not terminating(pod):
                role = {"metadata": {"labels": {ROLE: workload.role_of(about["name"])}}}
                with contextlib.suppress(KubeError):  # it went meanwhile
                    stage.admin.patch(kinds.POD, about["name"], role, about["namespace"], uid=about["uid"])
