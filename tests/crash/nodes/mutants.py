"""Bugs of the layer `nodes`, of the drain and of the agent, and the plans that are likeliest to catch each.

At least one for each rule: N1 agent, N2 controller, N3 drain, N4 cordons, N5 budgets, canary, breaker and
abort, N6 path, N7 failed nodes, N9 trust.
"""

from __future__ import annotations

from tests.crash.mutants import Mutant
from tests.crash.nodes.scenarios import ANSWER
from tests.crash.plans import Clean, Crash, CrashPoint, Spot

_CLEAN = Clean()
_CLAIMED = tuple(("rollout", Crash(Spot(ANSWER, "n-0", number), CrashPoint.AFTER_REPLY)) for number in (4, 2))
"""The second and the fourth time that an agent writes are claims: of the order to prepare, and to change."""

ALL: tuple[Mutant, ...] = (
    Mutant(
        "claim lost with the record (N1)",
        "an agent that was killed after its claim gives the order up",
        "agent/decide.py",
        "    if order is None or str(order.token) != token:\n        return None\n    # whether",
        "    if order is None or str(order.token):\n        return None\n    # whether",
        _CLAIMED,
    ),
    Mutant(
        "answered orders are done again (N1)",
        "an agent claims an order that it is through with",
        "agent/decide.py",
        "if order is None or readiness == Readiness(True, str(order.token)):",
        "if order is None:",
        (("rollout", _CLEAN),),
    ),
    Mutant(
        "any token is ours (N1)",
        "a claim of another order counts as one of this order",
        "nodes/decide/case.py",
        "return readiness is not None and readiness.token == self.token\n",
        "return readiness is not None\n",
        (("fails", _CLEAN),),
    ),
    Mutant(
        "control plane unclaimed (N2)",
        "a control-plane node is changed and nobody has written down that it is",
        "nodes/decide/guards.py",
        "    if not case.member.control_plane:\n        return None\n    claim",
        "    if case.member:\n        return None\n    claim",
        (("control-plane", _CLEAN),),
    ),
    Mutant(
        "order left on the node (N2)",
        "a node that is given back keeps its order",
        "nodes/act/nodes.py",
        "= {**self._without_desired(step), CHANGES_ALLOWED: None}\n        annotations |=",
        "= self._without_desired(step)\n        annotations |=",
        (("rollout", _CLEAN),),
    ),
    Mutant(
        "order before the drain is over (N3)",
        "a node is changed with pods on it",
        "nodes/decide/draining.py",
        "    return drain.over or (dead",
        "    return drain is not None or (dead",
        (("rollout", _CLEAN),),
    ),
    Mutant(
        "force by default (N3)",
        "pods are deleted that only a budget keeps, though nobody asked for it",
        "nodes/decide/draining.py",
        "if late and on_blocked is OnBlockedDrain.FORCE and waits is None:",
        "if drain.blocked:",
        (("blocked", _CLEAN),),
    ),
    Mutant(
        "pods of held workloads are evicted (N3)",
        "a rollout evicts what a migration holds, or is about to move",
        "nodes/observe/holding.py",
        "        turns = self.turns.get(pod.namespace)",
        "        turns = self.turns.get(pod.name)",
        (("beside-workloads", _CLEAN),),
    ),
    Mutant(
        "any cordon is taken off (N4)",
        "a node that somebody had cordoned is uncordoned",
        "nodes/decide/case.py",
        "return self.release(uncordon=self.our_cordon)",
        "return self.release(uncordon=True)",
        (("rollout", _CLEAN),),
    ),
    Mutant(
        "cordon without our name (N4)",
        "nobody knows whose cordon it is, and it stays",
        "nodes/act/nodes.py",
        "return _patch({CORDONED_BY: step.rollout, CORDONED_BEFORE: _told(step)}, unschedulable=True)",
        "return _patch({}, unschedulable=True)",
        (("blocked", _CLEAN),),
    ),
    Mutant(
        "one more than allowed (N5)",
        "more workers are away than maxUnavailable",
        "nodes/decide/budget.py",
        "    limit = budgets",
        "    limit = 1 + budgets",
        (("rollout", _CLEAN),),
    ),
    Mutant(
        "canary is not waited for (N5)",
        "the others are begun before the canary node is known to be well",
        "nodes/decide/canary.py",
        "    if canary is None:\n        return True",
        "    if canary is None or since is None:\n        return True",
        (("canary", _CLEAN),),
    ),
    Mutant(
        "breaker one too late (N5)",
        "the rollout goes on after maxFailures",
        "nodes/decide/gates.py",
        "course.failures >= course.spec.max_failures",
        "course.failures > course.spec.max_failures",
        (("fails", _CLEAN),),
    ),
    Mutant(
        "abort does not wait (N5)",
        "a node is given back while its agent is at work",
        "nodes/decide/ending.py",
        "    if goes_on or case.at_work or at_work(case.member):\n        return None",
        "    if goes_on and not case.at_work:\n        return None",
        (("abort", _CLEAN),),
    ),
    Mutant(
        "aborted and not let go (N5)",
        "a rollout that was aborted keeps our finalizer",
        "nodes/decide/decision.py",
        "    if FINALIZER in about.finalizers:\n",
        "    if FINALIZER in about.finalizers and deleted:\n",
        (("abort", _CLEAN),),
    ),
    Mutant(
        "kubelets first (N6)",
        "kubelets become newer than the API server that they talk with",
        "nodes/decide/path.py",
        "legs = (*_walked(steps, running), *_kubelets(target))",
        "legs = (*_kubelets(target), *_walked(steps, running))",
        (("control-plane", _CLEAN),),
    ),
    Mutant(
        "not put back (N7)",
        "a node whose change has failed takes pods as it is",
        "nodes/decide/failing.py",
        "    return Passed(_back(case, reason, message).record)",
        "    return left_alone(case, reason, message)",
        (("fails", _CLEAN),),
    ),
    Mutant(
        "agents are believed (N9)",
        "a node counts as changed because its credentials say so",
        "nodes/decide/verifying.py",
        "    _packages,\n    _kubelet,\n    _api_server,",
        "    _packages,\n    _api_server,",
        (("thief", _CLEAN),),
    ),
)
