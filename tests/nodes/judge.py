"""What has to be true at every moment of a rollout, whoever is interrupted, and what is left at its end."""

from __future__ import annotations

from shiplift.agent import protocol
from shiplift.agent.protocol import CHANGES_ALLOWED
from shiplift.api.marks import CORDONED_BEFORE, CORDONED_BY
from shiplift.engine.budgets import max_unavailable
from shiplift.engine.step import Step
from shiplift.nodes.steps import Allow, Cordon, Release, Withdraw
from tests.nodes.world import Machine, World


class Judge:
    """Looks at every step before it is taken, and at the cluster after everything that happens."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.steps: list[str] = []
        self.cordoned: list[str] = []
        self.ordered: list[str] = []
        self.down_before: set[str] = {one.uid for one in world.nodes.values() if not one.ready}
        world.listeners.append(self.before)

    def before(self, step: Step) -> None:
        self.steps.append(type(step).__name__)
        match step:
            case Cordon():
                self.cordoned.append(step.name)
                self._within_budget(step)
            case Allow():
                self._may_order(step)
            case Release(left_by=str(name)) if name:
                pass
            case Release() | Withdraw():
                node = self._same(step.name, step.uid, step.version)
                assert node is None or not _at_work(node), f"{step.describe()}: its agent is at work"
            case _:
                pass

    def _same(self, name: str, uid: str, version: int) -> Machine | None:
        """The node, where the step is going to be taken: others are refused anyway."""
        node = self._world.nodes.get(name)
        return node if node is not None and (node.uid, node.version) == (uid, version) else None

    def _within_budget(self, step: Cordon) -> None:
        node = self._same(step.name, step.uid, step.version)
        if node is None or _is_away(node) or node.control_plane:
            return
        workers = [one for one in self._world.nodes.values() if not one.control_plane]
        away = [one.name for one in workers if _is_away(one) and one.uid != node.uid]
        assert len(away) < self._limit(), f"cordon of {node.name} while {away} are away"

    def _may_order(self, step: Allow) -> None:
        node = self._same(step.name, step.uid, step.version)
        if node is None:
            return
        assert not _at_work(node), f"{step.describe()}: its agent is at work on another order"
        if step.order.token.operation.changes_nothing:
            return
        self.ordered.append(f"{step.order.token.operation.value} {step.name}")
        if not step.order.token.operation.wants_cordon:
            return
        assert node.unschedulable, f"{step.describe()}: not cordoned"
        assert CORDONED_BY in node.annotations, f"{step.describe()}: not cordoned by us"
        there = [pod.name for pod in self._world.pods.values() if pod.node == node.name]
        dead = node.uid in self.down_before and not node.ready
        assert dead or not there, f"{step.describe()}: {there} are there"

    def _limit(self) -> int:
        """The largest of all rollouts'; tests of several have one budget."""
        workers = sum(not one.control_plane for one in self._world.nodes.values())
        specs = [one.spec.max_unavailable for one in self._world.rollouts.values()]
        return max((max_unavailable(one, workers, at_least_one=True) for one in specs), default=0)

    def look(self) -> None:
        """At any moment."""
        nodes = self._world.nodes.values()
        changed = [one.name for one in nodes if one.control_plane and _is_changed(one)]
        assert len(changed) <= 1, f"control planes {changed} at once"
        held = [one.name for one in nodes if not one.control_plane and CORDONED_BY in one.annotations]
        assert len(held) <= max(self._limit(), 0) or not self._world.rollouts, f"{held} are held at once"

    def residue(self, *names: str) -> list[str]:
        """What is left of ours, on these nodes or on all."""
        left = [
            f"{one.name} {key}"
            for one in self._world.nodes.values()
            for key in one.annotations
            if not names or one.name in names
            if key in {CORDONED_BY, CORDONED_BEFORE, CHANGES_ALLOWED} or key.endswith("/desired-version")
        ]
        left += [f"claim {one}" for one in self._world.claims]
        left += [f"job {one}" for one, job in self._world.jobs.items() if job.state.value != "Failed"]
        return left

    def records(self) -> list[str]:
        return [
            f"{record.name} {record.state.value} {record.reason}"
            for one in self._world.rollouts.values()
            for record in one.status.nodes
        ]

    def closed(self) -> list[str]:
        """Nodes that are cordoned."""
        return sorted(one.name for one in self._world.nodes.values() if one.unschedulable)


def _at_work(node: Machine) -> bool:
    known = protocol.readiness_of(node.annotations)
    return known is not None and not known.ready


def _is_away(node: Machine) -> bool:
    return not node.ready or CORDONED_BY in node.annotations


def _is_changed(node: Machine) -> bool:
    """Whether a control-plane node has a change of ours under way."""
    order = protocol.order_of(node.annotations)
    changes = order is not None and not order.token.operation.changes_nothing
    return CORDONED_BY in node.annotations or changes
